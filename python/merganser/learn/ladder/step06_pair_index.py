"""Step 6, pair-to-type index: each pair lists the types that contain it.

What changes: next to the counts, each pair has the set of its types. A merge visits only these.
Why it helps: the work of a merge depends on what it changes, not on the size of the corpus.
Cost: memory, for the sets, on top of the tables of step 5; this step has the highest peak.
When it does not help: for few merges, since the first ones visit nearly every type anyway.
"""

import re
from collections import Counter, defaultdict
from itertools import pairwise

from merganser.learn.ladder.settings import LadderSettings, Merges, Source
from merganser.learn.ladder.words import PATTERN, as_bytes, lines, visible

Pair = tuple[str, str]


def count_types(source: Source, settings: LadderSettings) -> Counter[str]:
    find_words = re.compile(PATTERN).finditer
    types: Counter[str] = Counter()
    for line in lines(source, settings):
        types.update(match[0] for match in find_words(line.decode()))
    return types


def merge(tokens: list[str], pair: Pair) -> list[str]:
    """Merge the pair, from left to right.

    >>> merge(["a", "a", "a"], ("a", "a"))
    ['aa', 'a']
    """
    left, right = pair
    merged, at = [], 0
    while at < len(tokens):
        if tokens[at] == left and at + 1 < len(tokens) and tokens[at + 1] == right:
            merged.append(left + right)
            at += 2
        else:
            merged.append(tokens[at])
            at += 1
    return merged


def train(source: Source, settings: LadderSettings) -> Merges:
    counted = count_types(source, settings)
    types = [list(visible(word.encode())) for word in counted]
    frequencies = list(counted.values())
    pairs_of = [Counter(pairwise(tokens)) for tokens in types]
    counts: Counter[Pair] = Counter()
    index: defaultdict[Pair, set[int]] = defaultdict(set)
    for n, pairs in enumerate(pairs_of):
        for pair, times in pairs.items():
            counts[pair] += times * frequencies[n]
            index[pair].add(n)

    ids = {visible(bytes([byte])): byte for byte in range(256)}
    merges: list[Pair] = []
    touched = 0
    while len(merges) < settings.merges and counts:
        most = max(counts.values())
        tied = [pair for pair, count in counts.items() if count == most]
        best = min(tied, key=lambda pair: (ids[pair[0]], ids[pair[1]]))
        visited = index.pop(best)
        touched += len(visited)
        for n in visited:
            for pair, times in pairs_of[n].items():
                counts[pair] -= times * frequencies[n]
                index[pair].discard(n)
                if not counts[pair]:
                    del counts[pair], index[pair]
            types[n] = merge(types[n], best)
            pairs_of[n] = Counter(pairwise(types[n]))
            for pair, times in pairs_of[n].items():
                counts[pair] += times * frequencies[n]
                index[pair].add(n)
        ids["".join(best)] = len(ids)
        merges.append(best)
    settings.log(types=len(types), merges=len(merges), types_visited=touched)
    return [(as_bytes(left), as_bytes(right)) for left, right in merges]
