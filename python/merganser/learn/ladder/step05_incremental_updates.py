"""Step 5, incremental pair updates: pair counts are kept, and a merge updates only what it changes.

What changes: each type stores the counts of its pairs. A type without the merged pair is skipped; a type
with it subtracts its pairs from the total, merges, and adds its new pairs.
Why it helps: most merges change few types, so hardly anything is recounted.
Cost: memory, for one table of pairs per type. Every merge still checks every type.
When it does not help: for the first merges, which change nearly every type.
"""

import re
from collections import Counter
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
    for pairs, frequency in zip(pairs_of, frequencies, strict=True):
        for pair, times in pairs.items():
            counts[pair] += times * frequency

    ids = {visible(bytes([byte])): byte for byte in range(256)}
    merges: list[Pair] = []
    touched = 0
    while len(merges) < settings.merges and counts:
        most = max(counts.values())
        tied = [pair for pair, count in counts.items() if count == most]
        best = min(tied, key=lambda pair: (ids[pair[0]], ids[pair[1]]))
        for n, pairs in enumerate(pairs_of):
            if best not in pairs:
                continue
            touched += 1
            for pair, times in pairs.items():
                counts[pair] -= times * frequencies[n]
                if not counts[pair]:
                    del counts[pair]
            types[n] = merge(types[n], best)
            pairs_of[n] = Counter(pairwise(types[n]))
            for pair, times in pairs_of[n].items():
                counts[pair] += times * frequencies[n]
        ids["".join(best)] = len(ids)
        merges.append(best)
    settings.log(
        types=len(types), merges=len(merges), types_asked=len(types) * len(merges), types_touched=touched
    )
    return [(as_bytes(left), as_bytes(right)) for left, right in merges]
