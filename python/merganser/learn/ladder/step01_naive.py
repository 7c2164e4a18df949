"""Step 1, naive: the definition of BPE as a program.

Begin with all words as lists of single bytes. Count every pair of neighbours. Merge the most frequent pair in
every word. Repeat. Nothing is kept from one merge to the next.

Why start here: there is nothing that could be wrong. Every later step must give these merges.
Cost: each merge walks the whole text twice; merges x text. All words lie in memory, each time they occur.
When it is enough: for a page of text, and as the judge of all others.
"""

from collections import Counter
from itertools import pairwise

from merganser.learn.ladder.settings import Merges, Settings, Source
from merganser.learn.ladder.words import WHITE_SPACE, as_bytes, visible, whole_text

Pair = tuple[str, str]


def split_words(text: str) -> list[str]:
    """
    >>> split_words("low  lower,\\nlowest")
    ['low', ' ', ' lower,', '\\n', 'lowest']
    """
    words, word = [], ""
    for character in text:
        if character not in WHITE_SPACE:
            word += character
            continue
        if word:
            words.append(word)
        word = ""
        if character == " ":
            word = " "  # may begin the next word
        else:
            words.append(character)
    return [*words, word] if word else words


def count_pairs(words: list[list[str]]) -> Counter[Pair]:
    """Overlaps count: a a a has the pair (a, a) twice."""
    counts: Counter[Pair] = Counter()
    for tokens in words:
        for pair in pairwise(tokens):
            counts[pair] += 1
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
