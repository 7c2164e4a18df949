"""Two halves of a corpus with different documents: one to warm up on, one to measure on.

Long documents are cut at line ends, because some libraries encode only whole documents in parallel. Every
library gets the same texts.
"""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from merganser.corpus import Source, resolve
from merganser.corpus.documents import hand_over
from merganser.corpus.read_options import ReadKeywords, ReadOptions
from merganser.corpus.split_settings import SplitSettings
from merganser.errors import CorpusError

if TYPE_CHECKING:
    from typing_extensions import Unpack

#: The most characters of a text.
LONGEST = 1 << 16
#: The names of the files from which a process reads the two halves.
WARM_UP, MEASURED = "warm_up.json", "measured.json"


@dataclass(frozen=True)
class Texts:
    """The texts of a benchmark."""

    warm_up: list[str]
    measured: list[str]

    @property
    def bytes(self) -> int:
        """The size of the measured half."""
        return sum(len(text.encode()) for text in self.measured)


class _Enough(Exception):
    """Enough text was read."""


def read_texts(source: Source, max_bytes: float, **reading: "Unpack[ReadKeywords]") -> Texts:
    """Read about `max_bytes` from the start of a corpus.

    Raises
    ------
    CorpusError
        If the corpus cannot be read, or contains less than two characters.

    Examples
    --------
    >>> read_texts(["one", "two", "three"], 1e6)
    Texts(warm_up=['one', 'three'], measured=['two'])
    """
    texts: list[str] = []
    size = 0

    def take(documents: list[str]) -> None:
        nonlocal size
        for document in documents:
            for text in _parts(document):
                texts.append(text)
                size += len(text.encode())
                if size >= max_bytes:
                    raise _Enough

    corpus = resolve(source, 8192, ReadOptions(**reading))
    with suppress(_Enough):
        hand_over(corpus, SplitSettings().replaced_by(None, None, ...).separator, take)
    corpus.skips.skipped.warn()
    if len(texts) == 1:
        middle = len(texts[0]) // 2
        texts = [texts[0][:middle], texts[0][middle:]]
    if not all(texts[:2]) or len(texts) < 2:
        raise CorpusError("the corpus contains too little text to measure on; pass more")
    return Texts(texts[::2], texts[1::2])


def _parts(document: str) -> Iterator[str]:
    start = 0
    while len(document) - start > LONGEST:
        end = document.rfind("\n", start, start + LONGEST) + 1 or start + LONGEST
        yield document[start:end]
        start = end
    if start < len(document):
        yield document[start:]
