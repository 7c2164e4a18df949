"""Step 13, adaptive compaction: built on step 11; the threshold follows the payoff of past compactions.

What changes: a list is compacted when it has enough touched entries for each entry that may be live
(`ratio`). Each compaction appends the share of entries that it dropped to `shrink_history`; if that was small
recently, the ratio rises, and if it was large, the ratio falls. A list that was just compacted is left alone
for some merges (cool-down).
Why it helps: fixed thresholds fit one corpus; this one adapts.
Cost: a few more numbers per list.
When it does not help: if step 9 finds nothing to compact, neither does this. See its page for the figures.
"""

import re
from array import array
from collections import Counter, defaultdict, deque
from heapq import heapify, heappop, heappush
from itertools import pairwise

from merganser.learn.ladder.settings import LadderSettings, Merges, Source
from merganser.learn.ladder.words import PATTERN, lines

COMPACTION_MIN_SIZE = 1024  # shorter lists are not worth compacting
COMPACTION_COOL_DOWN = 64  # merges for which a list is left alone
PAYOFF_WINDOW = 32  # compactions to average over
PAYOFF_LOW, PAYOFF_HIGH = 0.8, 0.97  # dropped share below and above which the ratio changes
RATIO_START, RATIO_MIN, RATIO_MAX = 3.0, 1.0, 32.0  # touched entries per live one
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


class Compaction:
    """Decide when to compact a list, from the payoff of past compactions."""

    def __init__(self) -> None:
        self.ratio = RATIO_START
        self.shrink_history: deque[float] = deque(maxlen=PAYOFF_WINDOW)
        self.resting_until: dict[int, int] = {}
        self.done = self.dropped = 0

    def is_due(self, pair: int, size: int, touched: int, merge: int) -> bool:
        if size < COMPACTION_MIN_SIZE or self.resting_until.get(pair, 0) > merge:
            return False
        live = max(size - touched, 1)
        return touched > self.ratio * live

    def note(self, pair: int, before: int, after: int, merge: int) -> None:
        self.done += 1
        self.dropped += before - after
        self.resting_until[pair] = merge + COMPACTION_COOL_DOWN
        self.shrink_history.append(1 - after / before)
        payoff = sum(self.shrink_history) / len(self.shrink_history)
        if payoff < PAYOFF_LOW:
            self.ratio = min(self.ratio * 1.5, RATIO_MAX)
        elif payoff > PAYOFF_HIGH:
            self.ratio = max(self.ratio / 1.5, RATIO_MIN)


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
    compaction = Compaction()
    outdated = rebuilds = 0
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
            if compaction.is_due(pair, len(index[pair]), touched[pair], len(merges)):
                before = len(index[pair])
                index[pair] = array("I", [n for n in dict.fromkeys(index[pair]) if holds(n, pair)])
                compaction.note(pair, before, len(index[pair]), len(merges))
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
        compactions=compaction.done,
        entries_dropped=compaction.dropped,
        final_ratio=round(compaction.ratio, 2),
        heap_outdated=outdated,
        heap_rebuilds=rebuilds,
    )
    return merges
