"""Step 7, memory-lean representations: bytes, integers and lists instead of strings, tuples and sets.

What changes: types are bytes, matched in bytes; a token is its id; a pair is one integer (`pack_pair`). No
type stores a table of its pairs: they are read off the type. The index of a pair is an append-only list, so
it may list a type that no longer contains the pair (a stale entry), or list one twice; visits skip these.
Why it helps: memory. A tuple of two strings takes 56 bytes, an integer 32; a set entry 32 and more, a list
entry 8. It also saves time, since appending to a list is faster than adding to a set, and nothing is removed.
Cost: wasted visits to stale entries.
When it does not help: if many merges change the same few types, stale entries pile up (see step 9).
"""

import re
from collections import Counter, defaultdict
from itertools import pairwise

from merganser.learn.ladder.settings import LadderSettings, Merges, Source
from merganser.learn.ladder.words import PATTERN, lines


def pack_pair(a: int, b: int) -> int:
    """Pack two ids into one integer that sorts like the pair, as the tie rule requires."""
    return a << 32 | b


def count_types(source: Source, settings: LadderSettings) -> Counter[bytes]:
    find_words = re.compile(PATTERN.encode()).finditer
    types: Counter[bytes] = Counter()
    for line in lines(source, settings):
        types.update(match[0] for match in find_words(line))
    return types


def merge(ids: list[int], left: int, right: int, new: int) -> list[int]:
    """Merge the pair, from left to right.

    >>> merge([97, 97, 97], 97, 97, 256)
    [256, 97]
    """
    merged, at = [], 0
    while at < len(ids):
        if ids[at] == left and at + 1 < len(ids) and ids[at + 1] == right:
            merged.append(new)
            at += 2
        else:
            merged.append(ids[at])
            at += 1
    return merged


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

    tokens = [bytes([byte]) for byte in range(256)]
    merges: Merges = []
    visited = stale = 0
    while len(merges) < settings.merges and counts:
        most = max(counts.values())
        best = min(pair for pair, count in counts.items() if count == most)
        left, right, new = best >> 32, best & 0xFFFF_FFFF, len(tokens)
        for n in index.pop(best):
            visited += 1
            old = types[n]
            merged = merge(old, left, right, new)
            if len(merged) == len(old):
                stale += 1
                continue
            types[n] = merged
            # Add before subtracting: the count of a pair in both must not drop to zero in between.
            for a, b in pairwise(merged):
                counts[pack_pair(a, b)] += frequencies[n]
                if new in (a, b):
                    index[pack_pair(a, b)].append(n)
            for a, b in pairwise(old):
                pair = pack_pair(a, b)
                counts[pair] -= frequencies[n]
                if not counts[pair]:
                    del counts[pair]
                    index.pop(pair, None)
        tokens.append(tokens[left] + tokens[right])
        merges.append((tokens[left], tokens[right]))
    settings.log(types=len(types), merges=len(merges), types_visited=visited, stale_visits=stale)
    return merges
