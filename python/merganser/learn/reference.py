"""A byte-level BPE tokenizer in a page of plain Python, to compare other tokenizers with.

Training. A regular expression splits the text into pre-tokens, so that no token crosses a word boundary. Each
pre-token is a list of ids, at first its bytes. Then the most frequent pair of adjacent ids becomes a new id,
again and again: each time is a merge. Among equally frequent pairs, the one with the smallest ids wins.

    low low lowest    [108 111 119]   [32 108 111 119]   [32 108 111 119 101 115 116]
    256 = 108 111     [256 119]       [32 256 119]       [32 256 119 101 115 116]
    257 = 256 119     [257]           [32 257]           [32 257 101 115 116]

Encoding. A pre-token again starts as its bytes, and the merge that was learned first is applied first.

Cost. Every merge visits every unique pre-token: minutes for a few thousand merges of a novel. Nothing is
indexed or updated in place, so that there is little to get wrong. The interface is that of minbpe.
"""

import re
import sys
import unicodedata
from collections import Counter
from collections.abc import Iterable
from functools import cache
from itertools import pairwise

Pair = tuple[int, int]


class RegexTokenizer:
    """A tokenizer that learns merges within pre-tokens.

    Parameters
    ----------
    pattern
        A regular expression of `re` that finds the pre-tokens. The default is `gpt4_pattern()`, which splits
        like the default of `merganser.train`.

    Attributes
    ----------
    merges
        The id of each merged token by the ids of its two parts.
    vocab
        The bytes of each id.

    Examples
    --------
    >>> tokenizer = RegexTokenizer()
    >>> tokenizer.train("low lower lowest", 258)
    >>> tokenizer.merges
    {(108, 111): 256, (256, 119): 257}
    >>> tokenizer.encode_ordinary("slow low")
    [115, 257, 32, 257]
    >>> tokenizer.decode([115, 257, 32, 257])
    'slow low'
    """

    def __init__(self, pattern: str | None = None) -> None:
        try:
            self._pattern = re.compile(pattern or gpt4_pattern())
        except re.error as error:
            raise ValueError(
                f"re does not accept the pattern: {error}; re has no \\p{{L}}: call gpt4_pattern() or "
                "nanochat_pattern(), or write ranges of characters"
            ) from None
        self.merges: dict[Pair, int] = {}
        self.vocab = {byte: bytes([byte]) for byte in range(256)}

    def split(self, text: str) -> list[str]:
        """Split a text into pre-tokens.

        >>> RegexTokenizer().split("It's 2024, naïve!")
        ['It', "'s", ' ', '202', '4', ',', ' naïve', '!']
        """
        return [match[0] for match in self._pattern.finditer(text)]

    def train(self, text: str, vocab_size: int) -> None:
        """Learn `vocab_size` - 256 merges, or fewer if every pre-token is one token earlier."""
        if vocab_size < 256:
            raise ValueError(f"vocab_size must be at least 256, one for each byte, got {vocab_size}")
        self.merges = {}
        self.vocab = {byte: bytes([byte]) for byte in range(256)}
        pretokens = [(list(word.encode()), count) for word, count in Counter(self.split(text)).items()]
        for new in range(256, vocab_size):
            counts = count_pairs(pretokens)
            if not counts:
                break
            best = min(counts, key=lambda pair: (-counts[pair], pair))
            pretokens = [(merge(ids, best, new), count) for ids, count in pretokens]
            self.merges[best] = new
            self.vocab[new] = self.vocab[best[0]] + self.vocab[best[1]]

    def encode_ordinary(self, text: str) -> list[int]:
        """Return the ids of a text. There are no special tokens."""
        ids: list[int] = []
        for pretoken in self.split(text):
            ids += self._encode_pretoken(pretoken.encode())
        return ids

    def _encode_pretoken(self, pretoken: bytes) -> list[int]:
        ids = list(pretoken)
        while True:
            known = [pair for pair in pairwise(ids) if pair in self.merges]
            if not known:
                return ids
            first = min(known, key=self.merges.__getitem__)
            ids = merge(ids, first, self.merges[first])

    def decode(self, ids: Iterable[int]) -> str:
        """Return the text of ids, with U+FFFD where they begin or end inside a character."""
        return b"".join(self.vocab[id] for id in ids).decode(errors="replace")


def count_pairs(pretokens: Iterable[tuple[list[int], int]]) -> Counter[Pair]:
    """Count pairs of adjacent ids. Overlaps count: 1 1 1 contains the pair (1, 1) twice.

    >>> count_pairs([([1, 1, 1], 2), ([1, 2], 1)])
    Counter({(1, 1): 4, (1, 2): 1})
    """
    counts: Counter[Pair] = Counter()
    for ids, count in pretokens:
        for pair in pairwise(ids):
            counts[pair] += count
    return counts


def merge(ids: list[int], pair: Pair, new: int) -> list[int]:
    """Replace a pair by a new id, from left to right.

    >>> merge([1, 2, 3, 1, 2, 2], (1, 2), 4)
    [4, 3, 4, 2]
    """
    merged = []
    at = 0
    while at < len(ids):
        if at + 1 < len(ids) and (ids[at], ids[at + 1]) == pair:
            merged.append(new)
            at += 2
        else:
            merged.append(ids[at])
            at += 1
    return merged


# ── patterns ──────────────────────────────────────────────────────────────────
#
# GPT-4's pattern uses `\p{L}` (letters) and `\p{N}` (numbers), which `re` does not have, so we list the
# characters. White space is listed too, because `\s` of `re` includes U+001C to U+001F. Characters that are
# newer than the Unicode version of this Python (`unicodedata.unidata_version`) count as punctuation.


def gpt4_pattern() -> str:
    """Return GPT-4's pattern for `re`: contractions, words, up to three digits, punctuation, white space."""
    space = characters("space")
    return _words_numbers_and_punctuation(3) + (
        rf"|[{space}]+\Z|[{space}]*[\r\n]|[{space}]+(?![^{space}])|[{space}]"
    )


def nanochat_pattern() -> str:
    """Return nanochat's pattern for `re`: up to two digits, and line breaks at the end are split."""
    space = characters("space")
    return _words_numbers_and_punctuation(2) + (rf"|[{space}]*[\r\n]|[{space}]+(?![^{space}])|[{space}]+")


def _words_numbers_and_punctuation(digits: int) -> str:
    letter, number, space = characters("L"), characters("N"), characters("space")
    return (
        rf"'(?i:[sdmt]|ll|ve|re)|[^\r\n{letter}{number}]?[{letter}]+|[{number}]{{1,{digits}}}"
        rf"| ?[^{space}{letter}{number}]+[\r\n]*"
    )


@cache
def characters(kind: str) -> str:
    """Return all characters of a kind ("L", "N" or "space") as ranges, to be put in brackets.

    >>> re.findall(f"[{characters('N')}]", "1 ½ Ⅷ x ²")
    ['1', '½', 'Ⅷ', '²']
    """
    ranges: list[list[int]] = []
    for point in range(sys.maxunicode + 1):
        character = chr(point)
        if kind == "space":
            matches = character.isspace() and not "\x1c" <= character <= "\x1f"
        else:
            matches = unicodedata.category(character).startswith(kind)
        if matches and ranges and ranges[-1][1] == point - 1:
            ranges[-1][1] = point
        elif matches:
            ranges.append([point, point])
    return "".join(f"{chr(first)}-{chr(last)}" for first, last in ranges)
