"""Step 10, heap selection: the most frequent pair lies on top of a heap.

What changes: pairs lie in a heap by count. One whose count changes is pushed again, and its older entries
are left where they are: an entry is believed only if its count is still the pair's (lazy invalidation).
Where old entries are more than `REBUILD_FACTOR` times the live pairs, the heap is made anew (rebuild
guard).
Why it helps: before, each merge looked at every pair. With a large vocabulary that was most of the time.
Cost: memory for the heap, and a push for each change of a count.
When it does not help: while there are few pairs: `max` over a thousand of them takes microseconds.
"""

import re
from collections import Counter, defaultdict
from heapq import heapify, heappop, heappush
from itertools import pairwise

from merganser.learn.ladder.settings import Merges, Settings, Source
from merganser.learn.ladder.words import PATTERN, lines

COMPACTION_SIZE_THRESHOLD = 2048  # shorter lists are not worth it
COMPACTION_MIN_TOUCHED_FOR_WASTE = 512  # before that, hardly anything can be stale
COMPACTION_LIVE_RATIO_THRESHOLD = 0.25  # a list with more live entries than this stays as it is
REBUILD_FACTOR = 4


def pack_pair(a: int, b: int) -> int:
    """Two ids as one integer; smaller pairs are smaller integers, as the tie rule wants it."""
    return a << 32 | b


def count_types(source: Source, settings: Settings) -> Counter[bytes]:
    find_words = re.compile(PATTERN.encode()).finditer
    types: Counter[bytes] = Counter()
    for line in lines(source, settings):
        types.update(match[0] for match in find_words(line))
    return types


def wasteful(size: int, touched: int) -> bool:
    """Each time a pair is taken out of a type, at most one entry becomes stale."""
    return (
        size >= COMPACTION_SIZE_THRESHOLD
        and touched >= COMPACTION_MIN_TOUCHED_FOR_WASTE
        and size - touched < COMPACTION_LIVE_RATIO_THRESHOLD * size
    )


def train(source: Source, settings: Settings) -> Merges:
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
        taken_out: set[int] = set()
        put_in: set[int] = set()
        for n in index.pop(best):
            visited += 1
            merged: list[int] = []
            old, at, was_hit = types[n], 0, False
            while at < len(old):
                hit = old[at] == left and at + 1 < len(old) and old[at + 1] == right
                token = new if hit else old[at]
                if merged and (hit or was_hit):
                    # The cut before this token lies beside a merge: another pair meets there now.
                    changed += 1
                    gone, born = pack_pair(old[at - 1], old[at]), pack_pair(merged[-1], token)
                    counts[born] += frequencies[n]
                    index[born].append(n)
                    put_in.add(born)
                    counts[gone] -= frequencies[n]
                    touched[gone] += 1
                    taken_out.add(gone)
                merged.append(token)
                at, was_hit = at + (2 if hit else 1), hit
            if len(merged) == len(old):
                stale += 1
            else:
                types[n] = merged
        counts[best] = 0
        for pair in taken_out | {best}:
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
        for pair in put_in:
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
