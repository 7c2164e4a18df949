"""Step 3, streamed type counting: the text is read line by line, and only the types are kept.

What changes: words are counted as they are read. Neither the text nor the list of its words is ever whole.
Why it helps: memory follows the different words, not the text. A text larger than memory can be read.
Cost: none to speak of.
When it does not help: time, which is that of step 2; and a text that is one single line is held all the same.

A word must not lie across two lines. It cannot: a line break is a word of its own (see `words.py`).
"""

from collections import Counter
from collections.abc import Iterator
from itertools import pairwise

from merganser.learn.ladder.settings import Merges, Settings, Source
from merganser.learn.ladder.words import WHITE_SPACE, as_bytes, lines, visible

Pair = tuple[str, str]


def split_words(line: str) -> Iterator[str]:
    """
    >>> list(split_words("low  lower,\\nlowest"))
    ['low', ' ', ' lower,', '\\n', 'lowest']
    """
    word = ""
    for character in line:
        if character not in WHITE_SPACE:
            word += character
            continue
        if word:
            yield word
        word = ""
        if character == " ":
            word = " "  # may begin the next word
        else:
            yield character
    if word:
        yield word


def count_pairs(types: list[list[str]], frequencies: list[int]) -> Counter[Pair]:
    """Overlaps count: a a a has the pair (a, a) twice."""
    counts: Counter[Pair] = Counter()
    for tokens, frequency in zip(types, frequencies, strict=True):
        for pair in pairwise(tokens):
            counts[pair] += frequency
    return counts


def merge(tokens: list[str], pair: Pair) -> list[str]:
    """From the left.

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


def train(source: Source, settings: Settings) -> Merges:
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
