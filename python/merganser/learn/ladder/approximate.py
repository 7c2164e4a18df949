"""Beside the ladder: the approximate re-sort. Fast, and sometimes wrong; we do not use it.

What changes from step 8: the most frequent tenth of all pairs is cached. A merge is chosen from the cache
alone; pairs that a merge updates are checked again (a new pair enters the cache if it is frequent enough),
all others keep their state. All pairs are sorted again only when half of the cache is used up.
Why it helps: `max` looks at a tenth of the pairs.
Cost: correctness. Between two sorts, cached pairs may become rarer than a pair that is not cached; the choice
is then wrong, and so may be every later one. The tests contain a small corpus on which that happens; the docs
show what it saves.
When it does not help: since step 10, never. A heap is exact and faster.

One comparison would fix it: counts of existing pairs only fall, so a choice is right while its count is above
that of the first pair that is not cached. Then it is a slower heap.
"""

import re
from collections import Counter, defaultdict
from itertools import pairwise

from merganser.learn.ladder.settings import LadderSettings, Merges, Source
from merganser.learn.ladder.words import PATTERN, lines

CACHED_PART = 0.1


def pack_pair(a: int, b: int) -> int:
    return a << 32 | b


def count_types(source: Source, settings: LadderSettings) -> Counter[bytes]:
    find_words = re.compile(PATTERN.encode()).finditer
    types: Counter[bytes] = Counter()
    for line in lines(source, settings):
        types.update(match[0] for match in find_words(line))
    return types


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
    cache: set[int] = set()
    full_size = lowest = sorts = 0
    while len(merges) < settings.merges and counts:
        if len(cache) <= full_size // 2:
            sorts += 1
            by_count = sorted(counts, key=lambda pair: (-counts[pair], pair))
            full_size = max(int(len(by_count) * CACHED_PART), 1)
            cache = set(by_count[:full_size])
            lowest = counts[by_count[full_size - 1]]
        best = min(cache, key=lambda pair: (-counts[pair], pair))
        left, right, new = best >> 32, best & 0xFFFF_FFFF, len(tokens)
        updated: set[int] = {best}
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
                cache.discard(pair)
            elif counts[pair] >= lowest:
                cache.add(pair)
        tokens.append(tokens[left] + tokens[right])
        merges.append((tokens[left], tokens[right]))
    settings.log(types=len(types), merges=len(merges), sorts=sorts, pairs=len(counts), cached=len(cache))
    return merges
