"""Step 9, lazy index compaction: a list of mostly stale entries is rewritten.

What changes: for each pair we count how often it was removed from a type (`touched`). A list that is long and
has had many removals, so that few entries can be live, is reduced to the types that still contain the pair,
each once.
Why it helps: it saves memory, and wasted visits when the pair is merged later.
Cost: a compaction walks all types of the list. It may save nothing: the pair may never be merged.
When it does not help: for few merges, or for rare pairs, whose lists are short; below the thresholds nothing
happens.
"""

import re
from collections import Counter, defaultdict
from itertools import pairwise

from merganser.learn.ladder.settings import LadderSettings, Merges, Source
from merganser.learn.ladder.words import PATTERN, lines

COMPACTION_SIZE_THRESHOLD = 2048  # shorter lists are not worth compacting
COMPACTION_MIN_TOUCHED_FOR_WASTE = 512  # with fewer, hardly any entry can be stale
COMPACTION_LIVE_RATIO_THRESHOLD = 0.25  # lists with a larger live share are left alone


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

    touched: defaultdict[int, int] = defaultdict(int)
    compactions = dropped = 0
    tokens = [bytes([byte]) for byte in range(256)]
    merges: Merges = []
    visited = stale = changed = 0
    while len(merges) < settings.merges and counts:
        most = max(counts.values())
        best = min(pair for pair, count in counts.items() if count == most)
        left, right, new = best >> 32, best & 0xFFFF_FFFF, len(tokens)
        removed: set[int] = set()
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
            elif wasteful(len(index[pair]), touched[pair]):
                before = len(index[pair])
                index[pair] = [n for n in dict.fromkeys(index[pair]) if holds(n, pair)]
                compactions += 1
                dropped += before - len(index[pair])
                touched[pair] = 0
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
    )
    return merges
