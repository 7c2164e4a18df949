import re
from array import array
from collections import Counter, defaultdict
from heapq import heapify, heappop, heappush, heapreplace
from itertools import repeat

from merganser.learn.ladder.settings import Merges, Settings, Source
from merganser.learn.ladder.words import PATTERN, lines

END = 0xFFFF_FFFF  # stands between words; no token has this id


def pack_pair(a: int, b: int) -> int:
    """Two ids as one integer; smaller pairs are smaller integers, as the tie rule wants it."""
    return a << 32 | b


def count_types(source: Source, settings: Settings) -> Counter[bytes]:
    find_words = re.compile(PATTERN.encode()).finditer
    types: Counter[bytes] = Counter()
    for line in lines(source, settings):
        types.update(match[0] for match in find_words(line))
    return types


def train(source: Source, settings: Settings) -> Merges:
    import time
    t0 = time.perf_counter()
    counted = count_types(source, settings)
    t1 = time.perf_counter()
    slots, weights = array("I", [END]), array("Q", [0])
    while counted:
        word, frequency = counted.popitem()
        slots.extend(word)
        slots.append(END)
        weights.extend(repeat(frequency, len(word) + 1))
    cuts: defaultdict[int, array[int]] = defaultdict(lambda: array("I"))
    a = END
    for cut, b in enumerate(slots):
        if a != END != b:
            cuts[a << 32 | b].append(cut)
        a = b
    weight = weights.__getitem__
    counts = {pair: sum(map(weight, places)) for pair, places in cuts.items()}
    heap = [(-count, pair) for pair, count in counts.items()]
    heapify(heap)
    t2 = time.perf_counter()
    lengths = [1] * 256
    tokens = [bytes([byte]) for byte in range(256)]
    merges: Merges = []
    visited = stale = corrected = born = 0
    while len(merges) < settings.merges and heap:
        count, best = heap[0]
        now = counts.get(best, 0)
        if now != -count:
            corrected += 1
            if now: heapreplace(heap, (-now, best))
            else: heappop(heap)
            continue
        heappop(heap)
        left, right, new = best >> 32, best & 0xFFFF_FFFF, len(tokens)
        visited += len(cuts[best])
        places = [cut for cut in cuts.pop(best) if slots[cut] == right and slots[cut - 1] == left]
        to_left, to_right = len(tokens[left]), len(tokens[right])
        if left == right:
            apart, last = [], -to_left
            for cut in places:
                if cut != last + to_left:
                    apart.append(cut)
                    last = cut
            places = apart
        stale -= len(places)
        to_end = to_right - 1
        for cut in places:
            slots[cut - to_left] = slots[cut] = slots[cut + to_end] = new
        del counts[best]
        before = defaultdict(list)
        behind = defaultdict(list)
        to_before = to_left + 1
        for cut in places:
            before[slots[cut - to_before]].append(cut - to_left)
            behind[slots[cut + to_right]].append(cut + to_right)
        before.pop(END, None)
        behind.pop(END, None)
        behind.pop(new, None)
        for neighbour, group in before.items():
            total = sum(map(weight, group))
            gone, made = pack_pair(right if neighbour == new else neighbour, left), pack_pair(neighbour, new)
            counts[made] = total
            cuts[made] = array("I", group)
            heappush(heap, (-total, made))
            if gone in counts:
                counts[gone] -= total
                if not counts[gone]:
                    del counts[gone], cuts[gone]
        for neighbour, group in behind.items():
            total = sum(map(weight, group))
            gone, made = pack_pair(right, neighbour), pack_pair(new, neighbour)
            counts[made] = total
            cuts[made] = array("I", group)
            heappush(heap, (-total, made))
            if gone in counts:
                counts[gone] -= total
                if not counts[gone]:
                    del counts[gone], cuts[gone]
        born += len(before) + len(behind)
        tokens.append(tokens[left] + tokens[right])
        merges.append((tokens[left], tokens[right]))
    t3 = time.perf_counter()
    settings.log(slots=len(slots), merges=len(merges), visited=visited, live=-stale, corrected=corrected, born=born, count=t1-t0, init=t2-t1, merge=t3-t2, pairs=len(counts))
    return merges
