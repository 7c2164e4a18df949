"""Run: two peers go through a corpus side by side, up to the first difference.

A batch of about 1 MB is held at a time.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from merganser.corpus import Corpus, Source, TableDocuments, resolve
from merganser.corpus.read_options import ReadKeywords, ReadOptions
from merganser.corpus.split_settings import Separator, SplitSettings
from merganser.engines.arguments import check_names
from merganser.engines.local import ProgressCallback
from merganser.errors import CorpusError
from merganser.tokens.documents import Reached, hand_over
from merganser.verification.parting import Difference, part
from merganser.verification.peers import Peer, asked, peer

if TYPE_CHECKING:
    from typing_extensions import Unpack


@dataclass(frozen=True)
class Verification:
    """What `verify` found; true if there is no difference.

    documents, tokens, bytes: what was found to be the same. Tokens are those of the first tokenizer.
    """

    documents: int
    tokens: int
    bytes: int
    difference: Difference | None = None

    @property
    def same(self) -> bool:
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
    """Compares the ids that two tokenizers give to the documents of a corpus, up to the first difference.

    a, b: whatever `merganser.load` opens: tokenizers, paths, live objects of tiktoken, tokenizers and
        transformers. A live object is asked through its own `encode`.
    on: see `merganser.corpus` for what a corpus can be.
    separator: what stands between the documents of a file; "<|endoftext|>" if not given, None for none.

    Special tokens in the text are text, unless one of the two is Hugging Face's: then its special tokens are
    special to both. Nothing is put before or behind a document. Bytes that are not UTF-8 are read as U+FFFD.

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
    run = Run(peer(a), peer(b))
    between = SplitSettings().replaced_by(None, None, separator).separator
    try:
        hand_over(corpus, between, run.compare, progress and _reported(corpus, run, progress))
    except Parted:
        pass
    else:
        if not run.documents:
            raise CorpusError("there is no text to verify on; check the path, the glob and the separator")
    corpus.skips.skipped.warn()
    return Verification(run.documents, run.tokens, run.bytes, run.difference)


def _reported(corpus: Corpus, run: "Run", progress: ProgressCallback) -> Reached:
    """Reports how far the corpus was verified, in bytes as they are stored; in bytes of text if unknown."""
    files, tables = corpus.size, corpus.documents
    if files is None or (tables is not None and not (isinstance(tables, TableDocuments) and tables.size)):
        return lambda _: progress("verify", run.bytes, 0)
    if not isinstance(tables, TableDocuments):
        return lambda done: progress("verify", done or 0, files)
    table_progress, total = tables.progress, files + tables.size

    def reached(done: int | None) -> None:
        progress("verify", files + (table_progress.bytes_read or 0) if done is None else done, total)

    return reached


class Parted(Exception):
    """The first difference was found."""


class Run:
    """Two peers, and how far they were found to be the same; `Parted` is raised where they are not."""

    def __init__(self, a: Peer, b: Peer) -> None:
        self._sides = (a, b)
        self._allowed = {name for side in self._sides if side.always_special for name in side.specials}
        self.documents = self.tokens = self.bytes = 0
        self.difference: Difference | None = None

    def compare(self, texts: list[str]) -> None:
        a, b = (asked(side, texts, self._allowed, self.documents) for side in self._sides)
        for text, of_a, of_b in zip(texts, a, b, strict=True):
            if of_a != of_b:
                self.difference = part(text, self.documents, self._sides, (of_a, of_b))
                raise Parted
            self.documents += 1
            self.tokens += len(of_a)
            self.bytes += len(text.encode())
