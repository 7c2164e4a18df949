"""Compare two tokenizers on a corpus, up to the first difference, in batches of about 1 MB."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from merganser.corpus import Corpus, Source, TableDocuments, resolve
from merganser.corpus.documents import Reached, hand_over
from merganser.corpus.read_options import ReadKeywords, ReadOptions
from merganser.corpus.split_settings import Separator, SplitSettings
from merganser.engines.arguments import check_names
from merganser.engines.local import ProgressCallback
from merganser.errors import CorpusError
from merganser.verification.differences import Difference, explain
from merganser.verification.peers import Peer, as_peer, encode_with

if TYPE_CHECKING:
    from typing_extensions import Unpack


@dataclass(frozen=True)
class Verification:
    """The result of `verify`; true if there is no difference.

    Attributes
    ----------
    documents, tokens, bytes
        The numbers of documents, tokens and bytes that agree.
    difference
        The first difference, or None.
    """

    documents: int
    tokens: int
    bytes: int
    difference: Difference | None = None

    @property
    def same(self) -> bool:
        """Whether all documents have the same ids."""
        return self.difference is None

    def __bool__(self) -> bool:
        return self.same


def verify(
    a: Any,
    b: Any,
    *,
    on: Source,
    separator: Separator = ...,
    progress: ProgressCallback | None = None,
    buffer_size: int = 8192,
    **reading: "Unpack[ReadKeywords]",
) -> Verification:
    """Compare the ids that two tokenizers produce for a corpus, up to the first difference.

    Special tokens in the text are ordinary text, unless one of the two is a Hugging Face tokenizer: then its
    special tokens are special to both. No tokens are added around a document. Bytes that are not UTF-8 are
    read as U+FFFD.

    Parameters
    ----------
    a, b
        Anything that `merganser.load` accepts: tokenizers, paths, live objects of tiktoken, tokenizers and
        transformers. A live object encodes with its own `encode`.
    on
        The corpus; see `merganser.corpus` for what it can be.
    separator
        The text between the documents of a file; "<|endoftext|>" by default, None for none.
    progress
        Called with the stage ("verify"), the amount done and the total.
    buffer_size
        The number of documents of an iterable that are buffered.
    **reading
        How files are read; see `merganser.ReadOptions`.

    Returns
    -------
    Verification
        How much text agrees, and the first difference.

    Raises
    ------
    CorpusError
        If the corpus cannot be read or contains no text.
    EncodeError
        If one of the tokenizers fails on a document.
    TokenizerError
        If `a` or `b` is not a tokenizer.

    Examples
    --------
    >>> import merganser
    >>> tokenizer = merganser.train(["low lower lowest"] * 9, 260)
    >>> merganser.verify(tokenizer, tokenizer.to_tiktoken(), on=["lowest low", "slow"]).same
    True
    >>> found = merganser.verify(tokenizer, tokenizer.truncated(259), on=["slow", "lowest lower"])
    >>> found.difference.pretoken, found.difference.a.merge, found.difference.b.merge
    (' lower', (b' low', b'e'), None)
    """
    check_names(verify, reading)
    corpus = resolve(on, buffer_size, ReadOptions(**reading))
    run = PairComparison(as_peer(a), as_peer(b))
    between = SplitSettings().replaced_by(None, None, separator).separator
    try:
        hand_over(corpus, between, run.compare, progress and _reported(corpus, run, progress))
    except DifferenceFound:
        pass
    else:
        if not run.documents:
            raise CorpusError("the corpus contains no text; check the path, the glob and the separator")
    corpus.skips.skipped.warn()
    return Verification(run.documents, run.tokens, run.bytes, run.difference)


def _reported(corpus: Corpus, run: "PairComparison", progress: ProgressCallback) -> Reached:
    """Return a callback that reports progress in stored bytes, or in bytes of text if the size is unknown."""
    files, tables = corpus.size, corpus.documents
    if files is None or (tables is not None and not (isinstance(tables, TableDocuments) and tables.size)):
        return lambda _: progress("verify", run.bytes, 0)
    if not isinstance(tables, TableDocuments):
        return lambda done: progress("verify", done or 0, files)
    table_progress, total = tables.progress, files + tables.size

    def reached(done: int | None) -> None:
        progress("verify", files + (table_progress.bytes_read or 0) if done is None else done, total)

    return reached


class DifferenceFound(Exception):
    """Raised at the first difference."""


class PairComparison:
    """Two peers and the amount of text on which they agree; raises `DifferenceFound` where they differ."""

    def __init__(self, a: Peer, b: Peer) -> None:
        self._sides = (a, b)
        self._allowed = {name for side in self._sides if side.always_special for name in side.specials}
        self.documents = self.tokens = self.bytes = 0
        self.difference: Difference | None = None

    def compare(self, texts: list[str]) -> None:
        a, b = (encode_with(side, texts, self._allowed, self.documents) for side in self._sides)
        for text, of_a, of_b in zip(texts, a, b, strict=True):
            if of_a != of_b:
                self.difference = explain(text, self.documents, self._sides, (of_a, of_b))
                raise DifferenceFound
            self.documents += 1
            self.tokens += len(of_a)
            self.bytes += len(text.encode())
