"""Step 10, heap selection: the most frequent pair is on top of a heap.

What changes: pairs are in a heap, ordered by count. A pair whose count changes is pushed again, and its older
entries stay: an entry is valid only if its count still matches (lazy invalidation). If outdated entries
exceed `REBUILD_FACTOR` times the live pairs, the heap is rebuilt (rebuild guard).
Why it helps: before, each merge looked at every pair. With a large vocabulary that took most of the time.
Cost: memory for the heap, and a push for each changed count.
When it does not help: while there are few pairs: `max` over a thousand of them takes microseconds.
"""

import re
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
    types = [list(word) for word in counted]
    frequencies = list(counted.values())
    del counted
    counts: defaultdict[int, int] = defaultdict(int)
    index: defaultdict[int, list[int]] = defaultdict(list)
    for n, ids in enumerate(types):
        for a, b in pairwise(ids):
            counts[pack_pair(a, b)] += frequencies[n]
            index[pack_pair(a, b)].append(n)

    def holds(n: int, pair: int) -> bool:
        return pair in map(pack_pair, types[n], types[n][1:])

    heap = [(-count, pair) for pair, count in counts.items()]
    heapify(heap)
    touched: defaultdict[int, int] = defaultdict(int)
    compactions = dropped = outdated = rebuilds = 0
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
            merged: list[int] = []
            old, at, was_hit = types[n], 0, False
            while at < len(old):
                hit = old[at] == left and at + 1 < len(old) and old[at + 1] == right
                token = new if hit else old[at]
                if merged and (hit or was_hit):
                    # This token is next to a merge, so the pair to its left has changed.
                    changed += 1
                    old_pair, new_pair = pack_pair(old[at - 1], old[at]), pack_pair(merged[-1], token)
                    counts[new_pair] += frequencies[n]
                    index[new_pair].append(n)
                    added.add(new_pair)
                    counts[old_pair] -= frequencies[n]
                    touched[old_pair] += 1
                    removed.add(old_pair)
                merged.append(token)
                at, was_hit = at + (2 if hit else 1), hit
            if len(merged) == len(old):
                stale += 1
            else:
                types[n] = merged
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
                index[pair] = [n for n in dict.fromkeys(index[pair]) if holds(n, pair)]
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
        heap_outdated=outdated,
        heap_rebuilds=rebuilds,
    )
    return merges
