"""Step 3, streamed type counting: the text is read line by line, and only the types are stored.

What changes: words are counted while reading. Neither the text nor the list of its words is held in memory.
Why it helps: memory depends on the unique words, not on the text. A text may be larger than memory.
Cost: negligible.
When it does not help: time, which is the same as in step 2; a text on a single line is still held as a whole.

A word must not span two lines. It cannot: a line break is always a separate word (see `words.py`).
"""

from collections import Counter
from collections.abc import Iterator
from itertools import pairwise

from merganser.learn.ladder.settings import LadderSettings, Merges, Source
from merganser.learn.ladder.words import WHITESPACE, as_bytes, lines, visible

Pair = tuple[str, str]


def split_words(line: str) -> Iterator[str]:
    """
    >>> list(split_words("low  lower,\\nlowest"))
    ['low', ' ', ' lower,', '\\n', 'lowest']
    """
    word = ""
    for character in line:
        if character not in WHITESPACE:
            word += character
            continue
        if word:
            yield word
        word = ""
        if character == " ":
            word = " "  # may start the next word
        else:
            yield character
    if word:
        yield word


def count_pairs(types: list[list[str]], frequencies: list[int]) -> Counter[Pair]:
    """Count pairs, overlaps included: a a a contains the pair (a, a) twice."""
    counts: Counter[Pair] = Counter()
    for tokens, frequency in zip(types, frequencies, strict=True):
        for pair in pairwise(tokens):
            counts[pair] += frequency
    return counts


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
    counted: Counter[str] = Counter()
    for line in lines(source, settings):
        counted.update(split_words(line.decode()))
    types = [list(visible(word.encode())) for word in counted]
    frequencies = list(counted.values())
    ids = {visible(bytes([byte])): byte for byte in range(256)}
    merges: list[Pair] = []
    while len(merges) < settings.merges and (counts := count_pairs(types, frequencies)):
        most = max(counts.values())
        tied = [pair for pair, count in counts.items() if count == most]
        best = min(tied, key=lambda pair: (ids[pair[0]], ids[pair[1]]))
        types = [merge(tokens, best) for tokens in types]
        ids["".join(best)] = len(ids)
        merges.append(best)
    settings.log(words=sum(frequencies), types=len(types), merges=len(merges))
    return [(as_bytes(left), as_bytes(right)) for left, right in merges]
