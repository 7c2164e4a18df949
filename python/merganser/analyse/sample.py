"""A sample of text to measure on, stored as its unique pre-tokens and their counts.

The core counts the text on all cores, once for its words and once for each pattern: 100 MB of mixed text take
about 2 s each on two cores. Only the unique pre-tokens stay in memory, which is little unless nearly every
pre-token is unique.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from merganser import _core
from merganser.corpus import Source, is_read_once
from merganser.corpus.read_options import ReadKeywords
from merganser.counts import Counts
from merganser.engines.local import Local, ProgressCallback
from merganser.errors import CorpusError, CountsError, SettingsError
from merganser.training import count

if TYPE_CHECKING:
    from typing_extensions import Unpack

#: The definition of a word in all measures.
WORD_RULE = "a word is a run of characters that are not white space"
#: The definition of a sentence in all measures.
SENTENCE_RULE = (
    "a sentence ends with a word that ends in . ! ? or … (closing quotes and brackets may follow), and with "
    "every run of 。！？｡؟۔।॥; a text without any is one sentence"
)

_WORDS = "whitespace"
# Python treats four information separators as whitespace; Unicode and the core do not.
_NOT_SPACE = re.compile(r"[^\s]|[\x1c-\x1f]")
_SENTENCE_END = re.compile(r"[.!?…]+[\"'”’»)\]*_]*\Z|[。！？｡؟۔।॥]+")


@dataclass(frozen=True)
class Pretokens:
    """The unique pre-tokens of a text under one pattern, and how often each occurs."""

    texts: list[str]
    times: NDArray[np.int64]
    #: Bytes that are not UTF-8, each of which is a pre-token.
    stray: dict[bytes, int]

    @classmethod
    def of(cls, counts: Counts) -> "Pretokens":
        texts: list[str] = []
        times: list[int] = []
        stray: dict[bytes, int] = {}
        for pretoken, seen in check_size(counts).to_dict().items():
            try:
                texts.append(pretoken.decode())
            except UnicodeDecodeError:
                stray[pretoken] = seen
            else:
                times.append(seen)
        return cls(texts, np.array(times, dtype=np.int64), stray)

    def total(self, sizes: "Iterator[int]") -> int:
        """Return the sum over all occurrences, given the size of each unique pre-token."""
        return int(np.fromiter(sizes, dtype=np.int64, count=len(self.texts)) @ self.times)


@dataclass(frozen=True)
class Sample:
    """A text and its size in several units.

    Attributes
    ----------
    name
        The name of the text in reports.
    bytes, characters, documents
        The size of the text.
    words
        The number of words by `WORD_RULE`.
    sentences
        The number of sentences by `SENTENCE_RULE`.

    Examples
    --------
    >>> sample = Sample.of(["Stop! Who goes there?", "naïve"])
    >>> sample.bytes, sample.characters, sample.words, sample.sentences, sample.documents
    (27, 26, 5, 2, 2)
    """

    name: str
    bytes: int
    characters: int
    words: int
    sentences: int
    documents: int
    _source: Source = field(repr=False, compare=False)
    _engine: Local = field(repr=False, compare=False)
    _reading: "ReadKeywords" = field(repr=False, compare=False)
    _counts: dict[str, Counts] = field(default_factory=dict, repr=False, compare=False)

    @classmethod
    def of(
        cls,
        source: Source,
        *,
        name: str = "text",
        engine: Local | None = None,
        progress: ProgressCallback | None = None,
        **reading: "Unpack[ReadKeywords]",
    ) -> "Sample":
        """Read a corpus.

        It is read again for every pattern, so it must remain available. Special tokens in it are ordinary
        text, and document separators are not part of it.

        Parameters
        ----------
        source
            The corpus; see `merganser.corpus` for what it can be.
        name
            The name of the text in errors and reports.
        engine
            Where to count; all local threads by default.
        progress
            Called with the stage ("count"), the amount done and the total.
        **reading
            How files are read; see `merganser.ReadOptions`.

        Raises
        ------
        CorpusError
            If the corpus cannot be read or contains no words.
        SettingsError
            If the corpus can be read only once.
        """
        if is_read_once(source):
            raise SettingsError(
                f"{name} can be read only once, but a sample is read once for its words and once per "
                "pattern; pass a file or a list of documents"
            )
        engine = engine or Local()
        counts = count(source, pattern=_WORDS, special_tokens=(), engine=engine, progress=progress, **reading)
        pretokens = Pretokens.of(counts)
        words = pretokens.total(int(bool(_NOT_SPACE.search(text))) for text in pretokens.texts)
        if not words:
            raise CorpusError(f"{name} contains no words; check the path, the glob and the separator")
        stray = sum(pretokens.stray.values())
        return cls(
            name,
            bytes=pretokens.total(len(text.encode()) for text in pretokens.texts) + stray,
            characters=pretokens.total(map(len, pretokens.texts)) + stray,
            words=words,
            sentences=pretokens.total(len(_SENTENCE_END.findall(text)) for text in pretokens.texts) or 1,
            documents=counts.documents,
            _source=source,
            _engine=engine,
            _reading=reading,
        )

    def counts(self, pattern: str) -> Counts:
        """Return the counts of the pre-tokens under a pattern, counted on first use."""
        if pattern not in self._counts:
            counts = count(
                self._source, pattern=pattern, special_tokens=(), engine=self._engine, **self._reading
            )
            self._counts[pattern] = check_size(counts)
        return self._counts[pattern]


def check_size(counts: Counts) -> Counts:
    """Return counts of a text whose figures fit in 64 bits; raise a `CountsError` for a larger one."""
    size, _ = _core.token_totals([], counts._native)
    if size >= 1 << 63:
        raise CountsError(f"a text of {size:,} bytes cannot be measured: 64 bits do not hold its figures")
    return counts
