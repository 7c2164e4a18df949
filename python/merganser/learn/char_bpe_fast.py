"""The character-level tokenizer, optimized: six techniques, each of which can be switched off.

The ids are always the same as those of `char_bpe.CharBPE`. `merganser learn speed` measures the effect of
each technique, and docs/learn/char-bpe.md explains it. For a word of n characters and M merges:

| technique   | instead of                                   | does                                          |
|-------------|----------------------------------------------|-----------------------------------------------|
| `ranks`     | trying each merge on the word, O(M × n)      | looks up the rank of each pair of the word    |
| `best_pair` | going through all M merges in order          | merges the pair of lowest rank, up to n times |
| `regex`     | splitting character by character             | uses a regular expression, compiled once      |
| `unknown`   | looking up `<unk>` for every unknown symbol  | stores its id                                 |
| `local`     | looking up attributes in every iteration     | binds them to local names before the loop     |
| `cache`     | encoding a word each time it occurs          | `lru_cache`: O(1) for a word seen before      |

The cache holds 100,000 words and evicts the least recently used ones. It loses if hardly any word occurs
twice: then it uses memory and saves nothing. If it is full and the hit rate is below 90%, double its size.

The trainer is the plain one with a heap, which finds the most frequent pair without looking at all of them.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from heapq import heapify, heappop, heappush
from typing import Any

from merganser.learn import char_bpe
from merganser.learn.char_bpe import END, UNKNOWN, CharBPE, Merge, Pair, merged, pairs

#: The maximum number of words in the cache.
CACHE_SIZE = 100_000
#: A full cache with a lower hit rate is too small.
GOOD_HIT_RATE = 0.9

#: Splits like `char_bpe.split`.
WORD = re.compile(r"\w+|[^\w\s]")


@dataclass(frozen=True)
class Techniques:
    """The techniques to use."""

    ranks: bool = True
    best_pair: bool = True
    regex: bool = True
    unknown: bool = True
    local: bool = True
    cache: bool = True


@dataclass(frozen=True)
class Hits:
    """Cache statistics: hits, misses, cached words, and the maximum number of words."""

    hits: int
    misses: int
    words: int
    room: int

    @property
    def rate(self) -> float:
        return self.hits / max(self.hits + self.misses, 1)

    @property
    def advice(self) -> str:
        """Say whether the cache is large enough.

        >>> Hits(hits=50, misses=50, words=40, room=40).advice
        'too small: double it to 80 words'
        """
        if self.rate >= GOOD_HIT_RATE:
            return "large enough"
        if self.words < self.room:
            return "not full: all misses are new words, so a larger cache would not help"
        return f"too small: double it to {2 * self.room:,} words"


class FastCharBPE(CharBPE):
    """Return the same ids as `CharBPE`, faster.

    >>> tokenizer = FastCharBPE("elostw", [("l", "o"), ("lo", "w"), ("low", "</w>")])
    >>> tokenizer.encode("low lowest low low")
    [10, 9, 2, 5, 6, 1, 10, 10]
    >>> tokenizer.hits
    Hits(hits=2, misses=2, words=2, room=100000)
    >>> tokenizer.tokenize_word.cache_info()
    CacheInfo(hits=2, misses=2, maxsize=100000, currsize=2)
    """

    #: Return the ids of a word. With the technique `cache`, this is an `lru_cache`, which has `cache_info()`.
    tokenize_word: Any

    def __init__(
        self,
        characters: Iterable[str],
        merges: Iterable[Pair],
        techniques: Techniques | None = None,
        cache_size: int = CACHE_SIZE,
        *,
        skip_unknown: bool = False,
    ) -> None:
        super().__init__(characters, merges, skip_unknown=skip_unknown)
        self.techniques = techniques or Techniques()
        self._ranks = {pair: rank for rank, pair in reversed(list(enumerate(self.merges)))}
        self._unknown = self.vocabulary[UNKNOWN]
        self.tokenize_word = self._ids_of_word
        if self.techniques.cache:
            self.tokenize_word = lru_cache(maxsize=cache_size)(self._ids_of_word)

    @property
    def hits(self) -> Hits:
        """Cache statistics since the tokenizer was created. Requires the technique `cache`."""
        info = self.tokenize_word.cache_info()
        return Hits(info.hits, info.misses, info.currsize, info.maxsize)

    def encode(self, text: str) -> list[int]:
        words = WORD.findall(text) if self.techniques.regex else char_bpe.split(text)
        ids: list[int] = []
        if self.techniques.local:
            extend, ids_of = ids.extend, self.tokenize_word
            for word in words:
                extend(ids_of(word))
        else:
            for word in words:
                ids.extend(self.tokenize_word(word))
        return ids

    def encode_word(self, word: str) -> list[int]:
        return list(self.tokenize_word(word))

    def _ids_of_word(self, word: str) -> tuple[int, ...]:
        symbols = [*word, END]
        if self.techniques.best_pair:
            symbols = self._by_best_pair(symbols)
        elif self.techniques.ranks:
            symbols = self._by_rank(symbols)
        else:
            symbols = self._in_order(symbols)
        if self.skip_unknown:
            symbols = [symbol for symbol in symbols if symbol in self.vocabulary]
        if self.techniques.unknown:
            get, unknown = self.vocabulary.get, self._unknown
            return tuple([get(symbol, unknown) for symbol in symbols])
        known = self.vocabulary
        return tuple([known[symbol] if symbol in known else known[UNKNOWN] for symbol in symbols])

    def _in_order(self, symbols: list[str]) -> list[str]:
        """Try every merge, like the plain tokenizer."""
        for pair in self.merges:
            symbols = merged(symbols, pair)
        return symbols

    def _by_rank(self, symbols: list[str]) -> list[str]:
        """Go through all merges, but apply only those whose pair is in the word."""
        present = {self._ranks.get(pair) for pair in pairs(symbols)}
        for rank, pair in enumerate(self.merges):
            if rank in present:
                symbols = merged(symbols, pair)
                present = {self._ranks.get(pair) for pair in pairs(symbols)}
        return symbols

    def _by_best_pair(self, symbols: list[str]) -> list[str]:
        """Merge the pair of lowest rank until none is left: the same order, without merges that do not apply.

        Ranks only increase, since the plain tokenizer does not retry an earlier merge. One could apply again:
        with the merges `ab c`, `abc d`, `b c`, `a bc`, the word `abcd` gets `abc` only after the turn of
        `abc d`.
        """
        rank_of = self._ranks.get if self.techniques.ranks else self._search_rank
        none = len(self.merges)
        last = -1
        while True:
            ranks = [rank_of(pair, none) for pair in pairs(symbols)]
            last = min([rank for rank in ranks if rank > last], default=none)
            if last == none:
                return symbols
            symbols = merged(symbols, self.merges[last])

    def _search_rank(self, pair: Pair, none: int) -> int:
        """Return the rank of a pair by linear search."""
        return self.merges.index(pair) if pair in self.merges else none


def learn(words: Iterable[str]) -> Iterator[Merge]:
    """Yield the merges of `char_bpe.learn`, faster: the most frequent pair is on top of a heap.

    Whenever the count of a pair changes, an entry with the new count is pushed; an entry whose count no
    longer matches is outdated and dropped.
    """
    types = Counter(words)
    frequencies = list(types.values())
    sequences = [[*word, END] for word in types]
    symbols = sum(len(sequence) * n for sequence, n in zip(sequences, frequencies, strict=True))

    counts: Counter[Pair] = Counter()
    holders: defaultdict[Pair, set[int]] = defaultdict(set)
    for nth, sequence in enumerate(sequences):
        for pair in pairs(sequence):
            counts[pair] += frequencies[nth]
            holders[pair].add(nth)

    heap = [(-n, pair) for pair, n in counts.items()]
    heapify(heap)
    while heap:
        count, best = heappop(heap)
        if -count != counts.get(best):
            continue
        changed: set[Pair] = set()
        for nth in holders.pop(best):
            before, frequency = sequences[nth], frequencies[nth]
            after = sequences[nth] = merged(before, best)
            for pair in pairs(after):
                counts[pair] += frequency
                holders[pair].add(nth)
            for pair in pairs(before):
                counts[pair] -= frequency
            changed.update(pairs(before), pairs(after))
            symbols -= frequency * (len(before) - len(after))
        for pair in changed:
            if n := counts[pair]:
                heappush(heap, (-n, pair))
            else:
                del counts[pair]
        yield Merge(best, symbols)
