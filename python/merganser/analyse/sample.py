"""Sample: a text to measure on, as the pre-tokens that it is made of and how often each occurs.

The core counts it, once for its words and once for each pattern that asks for it, on all cores: 100 MB of
mixed text take about 2 s each on two. It then stays in memory as its unique pre-tokens, which
is little, except where nearly every pre-token is different.
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

#: What a word is, wherever a figure counts words.
WORD_RULE = "a word is a run of characters that are not white space"
#: What a sentence is, wherever a figure counts sentences.
SENTENCE_RULE = (
    "a sentence ends with a word that ends in . ! ? or … (closing quotes and brackets may follow), and with "
    "every run of 。！？｡؟۔।॥; a text without any is one sentence"
)

_WORDS = "whitespace"
# Python takes four separators of information for white space, Unicode and the core do not.
_INK = re.compile(r"[^\s]|[\x1c-\x1f]")
_ENDS = re.compile(r"[.!?…]+[\"'”’»)\]*_]*\Z|[。！？｡؟۔।॥]+")


@dataclass(frozen=True)
class Pretokens:
    """The unique pre-tokens of a text under one pattern, and how often each occurs."""

    texts: list[str]
    times: NDArray[np.int64]
    #: Bytes that are not UTF-8: each is a pre-token of its own.
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
        """The sum over all occurrences, of what is known of each unique pre-token."""
        return int(np.fromiter(sizes, dtype=np.int64, count=len(self.texts)) @ self.times)


@dataclass(frozen=True)
class Sample:
    """A text and its size, by several units.

    >>> sample = Sample.of(["Stop! Who goes there?", "naïve"])
    >>> sample.bytes, sample.characters, sample.words, sample.sentences, sample.documents
    (27, 26, 5, 2, 2)
    """

    name: str
    bytes: int
    characters: int
    #: By WORD_RULE.
    words: int
    #: By SENTENCE_RULE.
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
        """Reads a corpus; see `merganser.corpus` for what that can be. It is read again for every pattern,
        so it must be there still.

        Special tokens in it are ordinary text, and separators of documents are no part of it.
        """
        if is_read_once(source):
            raise SettingsError(
                f"{name} can be read only once, and a sample is read for its words and for each pattern; "
                "pass a file, or a list of documents"
            )
        engine = engine or Local()
        counts = count(source, pattern=_WORDS, special_tokens=(), engine=engine, progress=progress, **reading)
        pretokens = Pretokens.of(counts)
        words = pretokens.total(int(bool(_INK.search(text))) for text in pretokens.texts)
        if not words:
            raise CorpusError(
                f"{name} holds no words to measure on; check the path, the glob and the separator"
            )
        stray = sum(pretokens.stray.values())
        return cls(
            name,
            bytes=pretokens.total(len(text.encode()) for text in pretokens.texts) + stray,
            characters=pretokens.total(map(len, pretokens.texts)) + stray,
            words=words,
            sentences=pretokens.total(len(_ENDS.findall(text)) for text in pretokens.texts) or 1,
            documents=counts.documents,
            _source=source,
            _engine=engine,
            _reading=reading,
        )

    def counts(self, pattern: str) -> Counts:
        """Its pre-tokens under a pattern, counted when first asked for."""
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
