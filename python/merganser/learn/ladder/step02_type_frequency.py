"""Step 2, type frequency: each unique word is stored once, with its count.

What changes: words are counted before training. A pair in a word that occurs 500 times counts 500.
Why it helps: equal words merge equally, and text is repetitive: in 2 MB of English, one word in nine is new.
Cost: the list of all words is still built first, so memory hardly shrinks.
When it does not help: on text without repetition, such as Chinese without spaces, or one long word.
"""

from collections import Counter
from itertools import pairwise

from merganser.learn.ladder.settings import LadderSettings, Merges, Source
from merganser.learn.ladder.words import WHITESPACE, as_bytes, visible, whole_text

Pair = tuple[str, str]


def split_words(text: str) -> list[str]:
    """
    >>> split_words("low  lower,\\nlowest")
    ['low', ' ', ' lower,', '\\n', 'lowest']
    """
    words, word = [], ""
    for character in text:
        if character not in WHITESPACE:
            word += character
            continue
        if word:
            words.append(word)
        word = ""
        if character == " ":
            word = " "  # may start the next word
        else:
            words.append(character)
    return [*words, word] if word else words


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
    counted = Counter(split_words(whole_text(source, settings)))
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
