"""Verification: that two tokenizers give the same ids, document by document.

Each is asked through its own encoder (`merganser.peers`), so that the other library itself is what is put to
the test. It costs what encoding costs with the slower of the two, which is the other library; a batch of
about 1 MB is held at a time. At the first difference it stops and says why (`merganser.parting`).

Documents are compared as ordinary text: a special token in them is text to both. A Hugging Face tokenizer
cannot do that. With one of them, its special tokens are special for both sides.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from merganser.adversarial import texts_for
from merganser.corpus import Source, resolve
from merganser.counts import Counts, count
from merganser.counts_file import CountsFile
from merganser.documents import hand_over
from merganser.engines.local import ProgressCallback
from merganser.errors import CorpusError, ExportError, MerganserError
from merganser.parting import Difference, Segmentation, part
from merganser.peers import Peer, asked, peer
from merganser.reading import Reading, ReadingOptions
from merganser.settings import Separator, Settings
from merganser.tokenizer import Tokenizer

if TYPE_CHECKING:
    from typing_extensions import Unpack

__all__ = ["Difference", "Segmentation", "Verification", "verify", "verify_export"]

#: An export is verified on so many of the most frequent pieces of the training, and on so many tokens.
MOST = 20_000


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
    **reading: "Unpack[ReadingOptions]",
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
    >>> found.difference.piece, found.difference.a.merge, found.difference.b.merge
    (' lower', (b' low', b'e'), None)
    """
    corpus = resolve(on, buffer_size, Reading(**reading))
    total = 0
    if not corpus.stdin and not corpus.streams and corpus.documents is None:
        total = sum(file.stat().st_size for file in corpus.files if file.exists())
    run = _Run(peer(a), peer(b), progress, total)
    between = Settings().replaced_by(None, None, separator).separator
    try:
        hand_over(corpus, between, run.compare)
    except _Parted:
        pass
    else:
        if not run.documents:
            raise CorpusError("there is no text to verify on; check the path, the glob and the separator")
    corpus.skips.skipped.warn()
    return Verification(run.documents, run.tokens, run.bytes, run.difference)


class _Parted(Exception):
    """The first difference was found."""


class _Run:
    def __init__(self, a: Peer, b: Peer, progress: ProgressCallback | None = None, total: int = 0) -> None:
        self._sides = (a, b)
        self._allowed = {name for side in self._sides if side.always_special for name in side.specials}
        self._progress = progress
        self._total = total
        self.documents = self.tokens = self.bytes = 0
        self.difference: Difference | None = None

    def compare(self, texts: list[str]) -> None:
        a, b = (asked(side, texts, self._allowed, self.documents) for side in self._sides)
        for text, of_a, of_b in zip(texts, a, b, strict=True):
            if of_a != of_b:
                self.difference = part(text, self.documents, self._sides, (of_a, of_b))
                raise _Parted
            self.documents += 1
            self.tokens += len(of_a)
            self.bytes += len(text.encode())
        if self._progress:
            self._progress("verify", self.bytes, max(self._total, self.bytes) if self._total else 0)


# ── exports ───────────────────────────────────────────────────────────────────

#: Where the pieces of the training may come from.
Pieces = Counts | CountsFile | Source


def verify_export(tokenizer: Tokenizer, others: Mapping[str, Any], on: "Pieces | None" = None) -> None:
    """Refuses an export with an `ExportError` if anybody who reads it would give other ids.

    others: what reads the export, by the names they have in the error: live objects where their library is
        installed, our own reading of the files otherwise.
    on: the training: counts of it, or the corpus itself, which is then counted.

    The texts are the adversarial set, the special tokens in all positions, at most 20,000 of the tokens,
    evenly spread, and the 20,000 most frequent pieces of the training.
    """
    texts = [*texts_for(tokenizer, MOST), *_pieces(tokenizer, on)]
    for name, other in others.items():
        run = _Run(peer(tokenizer), peer(other))
        try:
            for start in range(0, len(texts), 4096):
                run.compare(texts[start : start + 4096])
        except _Parted:
            assert run.difference
            raise ExportError(
                f"{name} would not give the same ids: {describe(run.difference)}; nothing was written"
            ) from None
        except MerganserError as error:
            raise ExportError(f"{name} cannot encode what we do: {error}; nothing was written") from error


def _pieces(tokenizer: Tokenizer, on: "Pieces | None") -> Iterable[str]:
    if on is None:
        return
    if not isinstance(on, Counts | CountsFile):
        pattern = tokenizer.pattern_name or tokenizer.pattern
        on = count(on, pattern=pattern, special_tokens=tokenizer.special_tokens)
    for piece, _ in on.most_common(MOST) if isinstance(on, Counts) else on.top(MOST):
        try:
            yield piece.decode()
        except UnicodeDecodeError:  # a byte that is not UTF-8: not to be had from text
            continue


def describe(difference: Difference) -> str:
    """A difference in one line."""
    a, b = difference.a, difference.b
    piece = difference.piece if len(difference.piece) < 80 else f"{difference.piece[:80]}…"
    if difference.reason == "split":
        return f"{piece!r} is split as {_few(a.pieces)}, and as {_few(b.pieces)}"
    return f"{piece!r} becomes {_few(a.tokens)} {_few(a.ids)}, and {_few(b.tokens)} {_few(b.ids)}"


def _few(parts: tuple[Any, ...]) -> str:
    return f"[{', '.join(map(repr, parts[:8]))}{', …' if len(parts) > 8 else ''}]"
