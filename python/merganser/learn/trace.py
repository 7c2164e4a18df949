"""Every merge of a small text, step by step."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from merganser.learn.ladder.step02_type_frequency import count_pairs, merge, split_words
from merganser.learn.ladder.words import visible

Pair = tuple[str, str]


@dataclass(frozen=True)
class Change:
    """A word that the merge changes, and its count."""

    frequency: int
    before: list[str]
    after: list[str]


@dataclass(frozen=True)
class Stage:
    """One merge: all pairs by descending count, with ties resolved; the first is the chosen one."""

    number: int
    pairs: list[tuple[Pair, int]]
    changes: list[Change]

    @property
    def chosen(self) -> Pair:
        return self.pairs[0][0]

    @property
    def count(self) -> int:
        return self.pairs[0][1]

    @property
    def tied(self) -> int:
        """The number of other pairs with the same count."""
        return sum(count == self.count for _, count in self.pairs) - 1


def trace(text: str, merges: int | None = None) -> Iterator[Stage]:
    """Yield every merge of a training on `text`, at most `merges`.

    >>> for stage in trace("low lower lowest", merges=3):
    ...     print(*stage.chosen, stage.count, "tied with", stage.tied)
    l o 3 tied with 1
    lo w 3 tied with 0
    Ġ low 2 tied with 1
    """
    counted = Counter(split_words(text))
    types = [list(visible(word.encode())) for word in counted]
    frequencies = list(counted.values())
    ids = {visible(bytes([byte])): byte for byte in range(256)}
    number = 0
    while (merges is None or number < merges) and (counts := count_pairs(types, frequencies)):
        number += 1
        # Ties go to the smallest ids, as in every step of the ladder and in the core.
        pairs = sorted(counts.items(), key=lambda item: (-item[1], ids[item[0][0]], ids[item[0][1]]))
        best = pairs[0][0]
        merged = [merge(tokens, best) for tokens in types]
        changes = [
            Change(frequency, before, after)
            for frequency, before, after in zip(frequencies, types, merged, strict=True)
            if before != after
        ]
        types = merged
        ids["".join(best)] = len(ids)
        yield Stage(number, pairs, changes)
