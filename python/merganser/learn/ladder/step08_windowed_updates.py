"""Step 8, windowed local updates: a merge changes only the pairs next to it.

What changes: while a type is merged, only the pairs next to a merge are subtracted and added. Step 7
subtracted and added all pairs of the type. Types are lists of ids, because a window needs the ids at an
offset, which the packed bytes of step 7 do not give.
Why it helps: a merge inside a word changes the two pairs next to it, however long the word is.
Cost: care. `a b a b` puts two new tokens side by side, and `a a a` has overlaps; each pair must be counted
once. A list takes more memory than bytes: 56 bytes, and 8 per id.
When it does not help: for short types, which most are; they are still walked from end to end to find the
pair.
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
                    # This token is next to a merge, so the pair to its left has changed.
                    changed += 1
                    old_pair, new_pair = pack_pair(old[at - 1], old[at]), pack_pair(merged[-1], token)
                    counts[new_pair] += frequencies[n]
                    index[new_pair].append(n)
                    counts[old_pair] -= frequencies[n]
                    if not counts[old_pair]:
                        del counts[old_pair], index[old_pair]
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
