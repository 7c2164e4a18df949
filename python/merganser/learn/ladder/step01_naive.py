"""Step 1, naive: the definition of BPE as a program.

Start with every word as a list of single bytes. Count all adjacent pairs. Merge the most frequent pair in
every word. Repeat. Nothing is kept from one merge to the next.

Why start here: it is too simple to be wrong. Every later step must return the same merges.
Cost: each merge walks the whole text twice: O(merges x text). Every occurrence of a word is in memory.
When it is enough: for a page of text, and as the reference for all other steps.
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


def count_pairs(words: list[list[str]]) -> Counter[Pair]:
    """Count pairs, overlaps included: a a a contains the pair (a, a) twice."""
    counts: Counter[Pair] = Counter()
    for tokens in words:
        for pair in pairwise(tokens):
            counts[pair] += 1
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
    words = [list(visible(word.encode())) for word in split_words(whole_text(source, settings))]
    ids = {visible(bytes([byte])): byte for byte in range(256)}
    merges: list[Pair] = []
    while len(merges) < settings.merges and (counts := count_pairs(words)):
        most = max(counts.values())
        tied = [pair for pair, count in counts.items() if count == most]
        best = min(tied, key=lambda pair: (ids[pair[0]], ids[pair[1]]))
        words = [merge(tokens, best) for tokens in words]
        ids["".join(best)] = len(ids)
        merges.append(best)
    settings.log(words=len(words), merges=len(merges))
    return [(as_bytes(left), as_bytes(right)) for left, right in merges]
