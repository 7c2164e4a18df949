"""Step 12, batched delta application: the changes of a type are added up first, and applied once.

What changes: while a type is merged, its changes go into a small table (`deltas`); when the type is done, the
net change of each pair is applied to the counts, the index and the heap's sets in one pass. A type that holds
a pair three times then updates its count once, and gets one index entry instead of three.
Why it should help: fewer updates of the large tables.
Cost: one more table to fill, read and clear for every type that is visited.
When it does not help: if types hold a changed pair once, which most do: the number of updates stays the same,
and the small table is extra work. Built on step 11; step 13 starts from step 11 again.
"""

import re
from array import array
from collections import Counter, defaultdict
from heapq import heapify, heappop, heappush
from itertools import pairwise

from merganser.learn.ladder.settings import LadderSettings, Merges, Source
from merganser.learn.ladder.words import PATTERN, lines

COMPACTION_SIZE_THRESHOLD = 2048  # shorter lists are not worth compacting
COMPACTION_MIN_TOUCHED_FOR_WASTE = 512  # with fewer, hardly any entry can be stale
COMPACTION_LIVE_RATIO_THRESHOLD = 0.25  # lists with a larger live share are left alone
REBUILD_FACTOR = 4


def pack_pair(a: int, b: int) -> int:
    """Pack two ids into one integer that sorts like the pair, as the tie rule requires."""
    return a << 32 | b


def count_types(source: Source, settings: LadderSettings) -> Counter[bytes]:
    find_words = re.compile(PATTERN.encode()).finditer
    types: Counter[bytes] = Counter()
    for line in lines(source, settings):
        types.update(match[0] for match in find_words(line))
    return types


def wasteful(size: int, touched: int) -> bool:
    """Whether most entries may be stale: each removal of a pair makes at most one entry stale."""
    return (
        size >= COMPACTION_SIZE_THRESHOLD
        and touched >= COMPACTION_MIN_TOUCHED_FOR_WASTE
        and size - touched < COMPACTION_LIVE_RATIO_THRESHOLD * size
    )


def train(source: Source, settings: LadderSettings) -> Merges:
    counted = count_types(source, settings)
    types = [array("I", list(word)) for word in counted]
    frequencies = list(counted.values())
    del counted
    counts: defaultdict[int, int] = defaultdict(int)
    index: defaultdict[int, array[int]] = defaultdict(lambda: array("I"))
    for n, ids in enumerate(types):
        for a, b in pairwise(ids):
            counts[pack_pair(a, b)] += frequencies[n]
            index[pack_pair(a, b)].append(n)

    def holds(n: int, pair: int) -> bool:
        return pair in map(pack_pair, types[n], types[n][1:])

    heap = [(-count, pair) for pair, count in counts.items()]
    heapify(heap)
    touched: defaultdict[int, int] = defaultdict(int)
    deltas: defaultdict[int, int] = defaultdict(int)
    compactions = dropped = applied = outdated = rebuilds = 0
    tokens = [bytes([byte]) for byte in range(256)]
    merges: Merges = []
    visited = stale = changed = 0
    while len(merges) < settings.merges and counts:
        count, best = heappop(heap)
        if counts.get(best) != -count:
            outdated += 1
            continue
        left, right, new = best >> 32, best & 0xFFFF_FFFF, len(tokens)
        removed: set[int] = set()
        added: set[int] = set()
        for n in index.pop(best):
            visited += 1
            old, merged, at, was_hit = types[n], array("I"), 0, False
            while at < len(old):
                hit = old[at] == left and at + 1 < len(old) and old[at + 1] == right
                token = new if hit else old[at]
                if merged and (hit or was_hit):
                    # This token is next to a merge, so the pair to its left has changed.
                    changed += 1
                    deltas[pack_pair(merged[-1], token)] += 1
                    deltas[pack_pair(old[at - 1], old[at])] -= 1
                merged.append(token)
                at, was_hit = at + (2 if hit else 1), hit
            if len(merged) == len(old):
                stale += 1
                continue
            types[n] = merged
            applied += len(deltas)
            for pair, delta in deltas.items():
                counts[pair] += delta * frequencies[n]
                if delta > 0:
                    index[pair].append(n)
                    added.add(pair)
                else:
                    touched[pair] -= delta
                    removed.add(pair)
            deltas.clear()
        counts[best] = 0
        for pair in removed | {best}:
            if not counts[pair]:
                del counts[pair]
                index.pop(pair, None)
                touched.pop(pair, None)
                continue
            heappush(heap, (-counts[pair], pair))
            if wasteful(len(index[pair]), touched[pair]):
                before = len(index[pair])
                index[pair] = array("I", [n for n in dict.fromkeys(index[pair]) if holds(n, pair)])
                compactions += 1
                dropped += before - len(index[pair])
                touched[pair] = 0
        for pair in added:
            heappush(heap, (-counts[pair], pair))
        if len(heap) > REBUILD_FACTOR * len(counts) + 1000:
            heap = [(-count, pair) for pair, count in counts.items()]
            heapify(heap)
            rebuilds += 1
        tokens.append(tokens[left] + tokens[right])
        merges.append((tokens[left], tokens[right]))
    settings.log(
        types=len(types),
        merges=len(merges),
        types_visited=visited,
        stale_visits=stale,
        pairs_changed=changed,
        compactions=compactions,
        entries_dropped=dropped,
        deltas_applied=applied,
        heap_outdated=outdated,
        heap_rebuilds=rebuilds,
    )
    return merges
