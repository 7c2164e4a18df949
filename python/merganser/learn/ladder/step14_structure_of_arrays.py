"""Step 14, structure of arrays: all types in one array, and an index that says where, not only in which type.

What changes: there are no types any more, only slots, one for each byte of each different word, with `END`
between words. A token of several bytes has its id in its first and its last slot, so that both neighbours
of a pair are one look-up away and nothing is ever moved. A pair is indexed by its cuts: the slots at which
its right token begins.
- A cut is live if the two ids are still there. Slots only ever get higher ids, so a stale cut cannot look
  live.
- A new pair always holds the new token, so its cuts are complete when it is born: one array of exactly
  their number.
- Neighbours are gathered first, so that counts and heap are touched once for each different neighbour, not
  each cut.
- Counts of pairs that exist only fall. One entry in the heap is enough: it is corrected when it comes to
  the top.
Why it helps: no type is walked through to find a pair. What is done for each cut is a look-up in an array
or a step of a comprehension; what is slow in Python (objects, tables, calls) is done once for each pair.
Memory is three numbers for each byte of the different words; 13 has an object for each type, and an entry
for each time that it was visited.
Cost: an invariant to understand; weights are repeated for each slot; cuts of pairs that are never merged
are kept.
When it does not help: on texts so small, or vocabularies so small, that reading and counting words is all
there is.

The Rust core goes further from here: words sorted by count need no weights in memory; pairs below a floor
have no cuts and no place in the heap until the floor falls to them; cuts are fetched ahead of their use;
and large merges are shared out over threads. See docs/how-bpe-works.md, and crates/core/src/train.
"""

import re
from array import array
from collections import Counter, defaultdict
from heapq import heapify, heappop, heappush, heapreplace
from itertools import repeat

from merganser.learn.ladder.settings import Merges, Settings, Source
from merganser.learn.ladder.words import PATTERN, lines

END = 0xFFFF_FFFF  # no token has this id


def pack_pair(a: int, b: int) -> int:
    """Two ids as one integer; smaller pairs are smaller integers, as the tie rule wants it."""
    return a << 32 | b


def heap_entry(count: int, pair: int) -> int:
    """The most frequent pair is the smallest integer; of equally frequent ones the smallest pair."""
    return (-count << 64) + pair


def count_types(source: Source, settings: Settings) -> Counter[bytes]:
    find_words = re.compile(PATTERN.encode()).finditer
    types: Counter[bytes] = Counter()
    for line in lines(source, settings):
        types.update(match[0] for match in find_words(line))
    return types


def lay_out(types: Counter[bytes]) -> "tuple[array[int], array[int]]":
    """The slots, and beside each how often its word occurs."""
    small = max(types.values(), default=0) < 1 << 32
    slots, weights = array("I", [END]), array("I" if small else "Q", [0])
    for word, frequency in types.items():
        slots.extend(word)
        slots.append(END)
        weights.extend(repeat(frequency, len(word) + 1))
    return slots, weights


def apart(cuts: list[int], length: int) -> list[int]:
    """In a a a the two cuts of (a, a) share a token: the left one is taken.

    >>> apart([1, 2, 3], length=1)
    [1, 3]
    """
    taken: list[int] = []
    for cut in cuts:
        if not taken or cut != taken[-1] + length:
            taken.append(cut)
    return taken


def train(source: Source, settings: Settings) -> Merges:
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
            cuts = apart(cuts, to_left)
        for cut in cuts:  # the cut itself is marked too, or it would look live to others
            slots[cut - to_left] = slots[cut] = slots[cut + to_right - 1] = new

        # The neighbours, now that all is merged: in a b a b the neighbour is the new token.
        before: defaultdict[int, list[int]] = defaultdict(list)
        behind: defaultdict[int, list[int]] = defaultdict(list)
        for cut in cuts:
            before[slots[cut - to_left - 1]].append(cut - to_left)
            behind[slots[cut + to_right]].append(cut + to_right)
        before.pop(END, None)
        behind.pop(END, None)
        behind.pop(new, None)  # that cut is among those before the other one
        changes = [(pack_pair(right if b == new else b, left), pack_pair(b, new), before[b]) for b in before]
        changes += [(pack_pair(right, b), pack_pair(new, b), behind[b]) for b in behind]
        for gone, made, group in changes:
            count = sum(map(weight_at, group))
            counts[made] = count
            cuts_of[made] = array("I", group)
            heappush(heap, heap_entry(count, made))
            if gone != best:
                counts[gone] -= count
                if not counts[gone]:
                    del counts[gone], cuts_of[gone]

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
