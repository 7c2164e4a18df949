"""Beside the ladder: the approximate re-sort. Fast, and sometimes wrong; we do not use it.

What changes from step 8: a sorted list of the most frequent pairs is cached, as many as a tenth of all pairs.
After each merge only the pairs that it updated are sorted again, merged with the cached list, and the list is
cut to its top K, a tenth of all pairs. The next merge is the first of the list.
Why it helps: a round looks at a tenth of the pairs, and sorts only those that changed.
Cost: correctness. Merges use up the list, and a pair that was below the top tenth returns only if a merge
updates it. As soon as such a pair is more frequent than the first of the list, the choice is wrong, and so
may be every later one. The tests contain a small corpus on which that happens; the docs show what it saves.
When it does not help: since step 10, never. A heap is exact and faster.

One comparison would fix it: counts of existing pairs only fall, so a choice is right while its count is above
that of the first pair that was cut off. Then it is a slower heap.
"""

import re
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from itertools import pairwise

from merganser.learn.ladder.settings import LadderSettings, Merges, Source
from merganser.learn.ladder.words import PATTERN, lines

CACHED_PART = 0.1

#: Negative count and pair: the smallest entry is the most frequent pair, ties by the smallest pair.
Entry = tuple[int, int]


def pack_pair(a: int, b: int) -> int:
    return a << 32 | b


def count_types(source: Source, settings: LadderSettings) -> Counter[bytes]:
    find_words = re.compile(PATTERN.encode()).finditer
    types: Counter[bytes] = Counter()
    for line in lines(source, settings):
        types.update(match[0] for match in find_words(line))
    return types


def sort_pairs(pairs: Iterable[int], counts: Mapping[int, int]) -> list[Entry]:
    return sorted((-counts[pair], pair) for pair in pairs)


def resort(cached: list[Entry], updated: set[int], counts: Mapping[int, int]) -> list[Entry]:
    """Sort the updated pairs, merge them with the cached ones, and return the top K.

    >>> resort([(-9, 1), (-8, 2), (-7, 3)], updated={2, 4}, counts=dict.fromkeys(range(1, 31), 5))
    [(-9, 1), (-7, 3), (-5, 2)]
    """
    kept = [entry for entry in cached if entry[1] not in updated]
    kept += sort_pairs((pair for pair in updated if pair in counts), counts)
    kept.sort()  # two sorted runs: Python's sort merges them in linear time
    return kept[: max(int(len(counts) * CACHED_PART), 1)]


def train(source: Source, settings: LadderSettings) -> Merges:
    counted = count_types(source, settings)
    types = [list(word) for word in counted]
    frequencies = list(counted.values())
    counts: defaultdict[int, int] = defaultdict(int)
    index: defaultdict[int, list[int]] = defaultdict(list)
    for n, ids in enumerate(types):
        for a, b in pairwise(ids):
            counts[pack_pair(a, b)] += frequencies[n]
            index[pack_pair(a, b)].append(n)

    tokens = [bytes([byte]) for byte in range(256)]
    merges: Merges = []
    cached: list[Entry] = []
    updated: set[int] = set()
    full_sorts, seconds = 0, 0.0
    while len(merges) < settings.merges and counts:
        start = time.process_time()
        cached = resort(cached, updated, counts)
        if not cached:
            full_sorts += 1
            cached = resort(sort_pairs(counts, counts), set(), counts)
        seconds += time.process_time() - start
        best = cached[0][1]
        left, right, new = best >> 32, best & 0xFFFF_FFFF, len(tokens)
        updated = {best}
        for n in index.pop(best):
            merged: list[int] = []
            old, at, was_hit = types[n], 0, False
            while at < len(old):
                hit = old[at] == left and at + 1 < len(old) and old[at + 1] == right
                token = new if hit else old[at]
                if merged and (hit or was_hit):
                    old_pair, new_pair = pack_pair(old[at - 1], old[at]), pack_pair(merged[-1], token)
                    counts[new_pair] += frequencies[n]
                    index[new_pair].append(n)
                    counts[old_pair] -= frequencies[n]
                    updated |= {old_pair, new_pair}
                merged.append(token)
                at, was_hit = at + (2 if hit else 1), hit
            types[n] = merged
        counts[best] = 0
        for pair in updated:
            if not counts[pair]:
                del counts[pair]
                index.pop(pair, None)
        tokens.append(tokens[left] + tokens[right])
        merges.append((tokens[left], tokens[right]))
    settings.log(
        types=len(types),
        merges=len(merges),
        full_sorts=full_sorts,
        sort_seconds=round(seconds, 2),
        pairs=len(counts),
        cached=len(cached),
    )
    return merges
