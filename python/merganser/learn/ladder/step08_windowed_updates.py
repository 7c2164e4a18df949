"""Step 8, windowed local updates: a merge changes the pairs beside it, and no others.

What changes: while a type is merged, only pairs that touch a merged place are taken out and put in. Step 7
took out and put in all pairs of the type.
Why it helps: a merge in the middle of a word changes two pairs beside itself, however long the word is.
Cost: care. `a b a b` makes two new tokens side by side, and `a a a` has overlaps; the window must count
each once.
When it does not help: for short types, and most are; they are still walked from end to end to find the
pair.
"""

import re
from collections import Counter, defaultdict
from itertools import pairwise

from merganser.learn.ladder.settings import Merges, Settings, Source
from merganser.learn.ladder.words import PATTERN, lines


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
    visited = stale = changed = 0
    while len(merges) < settings.merges and counts:
        most = max(counts.values())
        best = min(pair for pair, count in counts.items() if count == most)
        left, right, new = best >> 32, best & 0xFFFF_FFFF, len(tokens)
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
                    counts[gone] -= frequencies[n]
                    if not counts[gone]:
                        del counts[gone], index[gone]
                merged.append(token)
                at, was_hit = at + (2 if hit else 1), hit
            if len(merged) == len(old):
                stale += 1
            else:
                types[n] = merged
        counts.pop(best)
        tokens.append(tokens[left] + tokens[right])
        merges.append((tokens[left], tokens[right]))
    settings.log(
        types=len(types), merges=len(merges), types_visited=visited, stale_visits=stale, pairs_changed=changed
    )
    return merges
