"""Step 14, structure of arrays: all types in one array, and an index of positions instead of types.

What changes: there are no types any more, only slots, one for each byte of each unique word, with `END`
between words. A token of several bytes stores its id in its first and last slot, so that both neighbors of a
pair are one lookup away and nothing is ever moved. A pair is indexed by its cuts: the slots at which its
right token starts.
- A cut is live if the two ids are still in place. Slots only ever get higher ids, so a stale cut cannot look
  live.
- A new pair always contains the new token, so its cuts are complete when it is created: one array of exactly
  their number.
- Neighbors are collected first, so that counts and heap are updated once per unique neighbor, not once per
  cut.
- Counts of existing pairs only fall. One heap entry per pair is enough: it is corrected when it reaches the
  top.
Why it helps: no type is walked to find a pair. The work per cut is an array lookup or a step of a
comprehension; what is slow in Python (objects, tables, calls) happens once per pair. Memory is three numbers
for each byte of the unique words; step 13 has an object for each type, and an entry for each visit.
Cost: an invariant to understand; weights are repeated for each slot; cuts of pairs that are never merged are
stored.
When it does not help: on a text or vocabulary so small that reading and counting words takes all the time.

The Rust core goes further from here: words sorted by count need no weights in memory; pairs below a floor
have no cuts and no heap entry until the floor falls to them; cuts are prefetched; and large merges are
distributed over threads. See docs/how-bpe-works.md, and crates/core/src/train.
"""

import re
from array import array
from collections import Counter, defaultdict
from heapq import heapify, heappop, heappush, heapreplace
from itertools import repeat

from merganser.learn.ladder.settings import LadderSettings, Merges, Source
from merganser.learn.ladder.words import PATTERN, lines

END = 0xFFFF_FFFF  # no token has this id


def pack_pair(a: int, b: int) -> int:
    """Pack two ids into one integer that sorts like the pair, as the tie rule requires."""
    return a << 32 | b


def heap_entry(count: int, pair: int) -> int:
    """Pack a heap entry: the smallest integer is the most frequent pair, ties by the smallest pair."""
    return (-count << 64) + pair


def count_types(source: Source, settings: LadderSettings) -> Counter[bytes]:
    find_words = re.compile(PATTERN.encode()).finditer
    types: Counter[bytes] = Counter()
    for line in lines(source, settings):
        types.update(match[0] for match in find_words(line))
    return types


def lay_out(types: Counter[bytes]) -> "tuple[array[int], array[int]]":
    """Return the slots, and for each slot the count of its word."""
    small = max(types.values(), default=0) < 1 << 32
    slots, weights = array("I", [END]), array("I" if small else "Q", [0])
    for word, frequency in types.items():
        slots.extend(word)
        slots.append(END)
        weights.extend(repeat(frequency, len(word) + 1))
    return slots, weights


def without_overlaps(cuts: list[int], length: int) -> list[int]:
    """Drop overlapping cuts: in a a a the two cuts of (a, a) share a token, and the left one is kept.

    >>> without_overlaps([1, 2, 3], length=1)
    [1, 3]
    """
    kept: list[int] = []
    for cut in cuts:
        if not kept or cut != kept[-1] + length:
            kept.append(cut)
    return kept


def train(source: Source, settings: LadderSettings) -> Merges:
    slots, weights = lay_out(count_types(source, settings))
    weight_at = weights.__getitem__
    cuts_of: defaultdict[int, array[int]] = defaultdict(lambda: array("I"))
    a = END
    for cut, b in enumerate(slots):
        if END not in (a, b):
            cuts_of[a << 32 | b].append(cut)
        a = b
    counts = {pair: sum(map(weight_at, cuts)) for pair, cuts in cuts_of.items()}
    heap = [heap_entry(count, pair) for pair, count in counts.items()]
    heapify(heap)

    tokens = [bytes([byte]) for byte in range(256)]
    merges: Merges = []
    visited = live = born = corrected = 0
    while len(merges) < settings.merges and counts:
        best = heap[0] & 0xFFFF_FFFF_FFFF_FFFF
        count = counts.get(best, 0)
        if heap[0] != heap_entry(count, best):
            corrected += 1
            if count:
                heapreplace(heap, heap_entry(count, best))
            else:
                heappop(heap)
            continue
        heappop(heap)
        del counts[best]
        left, right, new = best >> 32, best & 0xFFFF_FFFF, len(tokens)
        to_left, to_right = len(tokens[left]), len(tokens[right])

        old_cuts = cuts_of.pop(best)
        cuts = [cut for cut in old_cuts if slots[cut] == right and slots[cut - 1] == left]
        if left == right:
            cuts = without_overlaps(cuts, to_left)
        for cut in cuts:  # mark the cut itself too, or it would look live to other pairs
            slots[cut - to_left] = slots[cut] = slots[cut + to_right - 1] = new

        # Collect neighbors after all merges: in a b a b the neighbor is the new token.
        before: defaultdict[int, list[int]] = defaultdict(list)
        after: defaultdict[int, list[int]] = defaultdict(list)
        for cut in cuts:
            before[slots[cut - to_left - 1]].append(cut - to_left)
            after[slots[cut + to_right]].append(cut + to_right)
        before.pop(END, None)
        after.pop(END, None)
        after.pop(new, None)  # that cut is already in `before`
        changes = [(pack_pair(right if b == new else b, left), pack_pair(b, new), before[b]) for b in before]
        changes += [(pack_pair(right, b), pack_pair(new, b), after[b]) for b in after]
        for old_pair, new_pair, group in changes:
            count = sum(map(weight_at, group))
            counts[new_pair] = count
            cuts_of[new_pair] = array("I", group)
            heappush(heap, heap_entry(count, new_pair))
            if old_pair != best:
                counts[old_pair] -= count
                if not counts[old_pair]:
                    del counts[old_pair], cuts_of[old_pair]

        tokens.append(tokens[left] + tokens[right])
        merges.append((tokens[left], tokens[right]))
        visited, live, born = visited + len(old_cuts), live + len(cuts), born + len(changes)
    settings.log(
        slots=len(slots),
        merges=len(merges),
        cuts_visited=visited,
        stale_visits=visited - live,
        pairs_born=born,
        heap_corrected=corrected,
    )
    return merges
