"""Step 7, memory-lean representations: bytes, integers and lists instead of strings, tuples and sets.

What changes: a type is one `bytes` value, a token is its id, and a pair is one integer (`pack_pair`). No type
stores a table of its pairs: they are read off the type. The index of a pair is an append-only list, so it may
list a type that no longer contains the pair (a stale entry), or list one twice; visits skip these.
How bytes hold large ids: each id is written as UTF-8 writes a code point. Ids below 128 take one byte,
below 2,048 two, below 65,536 three, then four. No character is found inside another, so `bytes.replace` of a
pair by its new token is a merge, from left to right, in C.
Why it helps: memory. A type of n ASCII letters takes 33 + n bytes, a list of its ids 56 + 8n. A tuple of two
strings takes 56 bytes, an integer 32; a set entry 32 and more, a list entry 8. It also saves time, since
appending to a list is faster than adding to a set, and nothing is removed.
Cost: a type must be decoded to read its pairs. Bytes from 128 on take two bytes each, and a merge of two
letters into an id from 2,048 on makes the type one byte longer. Visits to stale entries are wasted.
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


def pack_ids(*ids: int) -> bytes:
    """Write ids as UTF-8 writes code points; surrogates are ids like any other.

    >>> pack_ids(104, 105, 256)
    b'hi\\xc4\\x80'
    """
    return "".join(map(chr, ids)).encode("utf-8", "surrogatepass")


def unpack_ids(packed: bytes) -> list[int]:
    """
    >>> unpack_ids(b"hi\\xc4\\x80")
    [104, 105, 256]
    """
    return list(map(ord, packed.decode("utf-8", "surrogatepass")))


def count_types(source: Source, settings: LadderSettings) -> Counter[bytes]:
    find_words = re.compile(PATTERN.encode()).finditer
    types: Counter[bytes] = Counter()
    for line in lines(source, settings):
        types.update(match[0] for match in find_words(line))
    return types


def train(source: Source, settings: LadderSettings) -> Merges:
    counted = count_types(source, settings)
    types = [pack_ids(*word) for word in counted]
    frequencies = list(counted.values())
    del counted
    counts: defaultdict[int, int] = defaultdict(int)
    index: defaultdict[int, list[int]] = defaultdict(list)
    for n, packed in enumerate(types):
        for a, b in pairwise(unpack_ids(packed)):
            counts[pack_pair(a, b)] += frequencies[n]
            index[pack_pair(a, b)].append(n)

    tokens = [bytes([byte]) for byte in range(256)]
    merges: Merges = []
    visited = stale = 0
    while len(merges) < settings.merges and counts:
        most = max(counts.values())
        best = min(pair for pair, count in counts.items() if count == most)
        left, right, new = best >> 32, best & 0xFFFF_FFFF, len(tokens)
        two, one = pack_ids(left, right), pack_ids(new)
        for n in index.pop(best):
            visited += 1
            old = types[n]
            merged = old.replace(two, one)
            if merged == old:
                stale += 1
                continue
            types[n] = merged
            # Add before subtracting: the count of a pair in both must not drop to zero in between.
            for a, b in pairwise(unpack_ids(merged)):
                counts[pack_pair(a, b)] += frequencies[n]
                if new in (a, b):
                    index[pack_pair(a, b)].append(n)
            for a, b in pairwise(unpack_ids(old)):
                pair = pack_pair(a, b)
                counts[pair] -= frequencies[n]
                if not counts[pair]:
                    del counts[pair]
                    index.pop(pair, None)
        tokens.append(tokens[left] + tokens[right])
        merges.append((tokens[left], tokens[right]))
    settings.log(types=len(types), merges=len(merges), types_visited=visited, stale_visits=stale)
    return merges
