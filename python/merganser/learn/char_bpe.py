"""A character-level BPE tokenizer, as plain as possible. `char_bpe_fast` is the same, optimized.

Training. The text is split into words: whitespace separates them, and each punctuation mark is a separate
word. A word is a sequence of symbols, at first its characters followed by `</w>`, the end of the word. Then
the most frequent pair of adjacent symbols becomes one symbol, again and again: each time is a merge.

    low low lowest      l o w </w> ×2     l o w e s t </w> ×1
    merge (l, o)        lo w </w>         lo w e s t </w>
    merge (lo, w)       low </w>          low e s t </w>
    merge (low, </w>)   low</w>           low e s t </w>

Encoding. A word again starts as its characters, and the merges are applied in the order they were learned.

Cost. A training step revisits only the words that contain the merged pair, but looks at all pairs to find the
most frequent one: seconds for 10,000 merges of a novel. Encoding tries every merge on every word, O(words ×
merges × length): a minute for a novel. `char_bpe_fast` is about that.

When it loses. A character that is not in the training text becomes `<unk>` or is skipped, and decoding does
not restore the original whitespace. Byte-level tokenizers, such as merganser's own, lose nothing.
"""

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice, pairwise
from typing import TypeVar

END = "</w>"
UNKNOWN = "<unk>"

Pair = tuple[str, str]
Tokenizer = TypeVar("Tokenizer", bound="CharBPE")


@dataclass(frozen=True)
class Merge:
    """One training step: the merged pair, and the number of symbols in the text after it."""

    pair: Pair
    symbols: int


def split(text: str) -> list[str]:
    """Split a text into words: the regular expression `\\w+|[^\\w\\s]`, written out.

    >>> split("It was on a dreary night--cold.")
    ['It', 'was', 'on', 'a', 'dreary', 'night', '-', '-', 'cold', '.']
    """
    words = []
    for chunk in text.split():
        word = ""
        for character in chunk:
            if character.isalnum() or character == "_":
                word += character
                continue
            if word:
                words.append(word)
            words.append(character)
            word = ""
        if word:
            words.append(word)
    return words


def pairs(symbols: Sequence[str]) -> list[Pair]:
    """Return all pairs of adjacent symbols."""
    return list(pairwise(symbols))


def merged(symbols: Sequence[str], pair: Pair) -> list[str]:
    """Merge every occurrence of a pair, from left to right.

    >>> merged(["a", "a", "a", "b"], ("a", "a"))
    ['aa', 'a', 'b']
    """
    result = []
    at = 0
    while at < len(symbols):
        if at + 1 < len(symbols) and symbols[at] == pair[0] and symbols[at + 1] == pair[1]:
            result.append(pair[0] + pair[1])
            at += 2
        else:
            result.append(symbols[at])
            at += 1
    return result


def learn(words: Iterable[str]) -> Iterator[Merge]:
    """Yield the merges of a text until every word is one symbol; ties go to the first pair in sort order.

    >>> [merge.pair for merge in learn("low low lowest".split())][:3]
    [('l', 'o'), ('lo', 'w'), ('low', '</w>')]
    """
    types = Counter(words)
    frequencies = list(types.values())
    sequences = [[*word, END] for word in types]
    symbols = sum(len(sequence) * n for sequence, n in zip(sequences, frequencies, strict=True))

    counts: Counter[Pair] = Counter()
    holders: defaultdict[Pair, set[int]] = defaultdict(set)  # the words that contain each pair
    for nth, sequence in enumerate(sequences):
        for pair in pairs(sequence):
            counts[pair] += frequencies[nth]
            holders[pair].add(nth)

    while counts:
        most = max(counts.values())
        best = min(pair for pair, n in counts.items() if n == most)
        for nth in holders.pop(best):
            before, frequency = sequences[nth], frequencies[nth]
            after = sequences[nth] = merged(before, best)
            for pair in pairs(after):
                counts[pair] += frequency
                holders[pair].add(nth)
            for pair in pairs(before):
                counts[pair] -= frequency
                if not counts[pair]:
                    del counts[pair]
            symbols -= frequency * (len(before) - len(after))
        yield Merge(best, symbols)


class CharBPE:
    """Encode text to ids and back. Ids number `<unk>`, `</w>`, the characters and the merges, in this order.

    >>> tokenizer = CharBPE("elostw", [("l", "o"), ("lo", "w"), ("low", "</w>")])
    >>> tokenizer.tokens("low lowest")
    ['low</w>', 'low', 'e', 's', 't', '</w>']
    >>> tokenizer.encode("low lowest")
    [10, 9, 2, 5, 6, 1]
    >>> tokenizer.decode([10, 9, 2, 5, 6, 1])
    'low lowest'

    Unknown characters become `<unk>`, unless they are skipped:

    >>> tokenizer.tokens("slow!")
    ['s', 'low</w>', '<unk>', '</w>']
    >>> CharBPE("elostw", tokenizer.merges, skip_unknown=True).tokens("slow!")
    ['s', 'low</w>', '</w>']
    """

    def __init__(
        self, characters: Iterable[str], merges: Iterable[Pair], *, skip_unknown: bool = False
    ) -> None:
        self.skip_unknown = skip_unknown
        # A pair is learned twice if one of its symbols can be built in two ways; the first one counts.
        self.merges = list(dict.fromkeys(merges))
        self.vocabulary = {UNKNOWN: 0, END: 1}
        for token in [*sorted(set(characters)), *(left + right for left, right in self.merges)]:
            self.vocabulary.setdefault(token, len(self.vocabulary))
        self.names = list(self.vocabulary)

    def encode_word(self, word: str) -> list[int]:
        """Apply all merges to a word, in order."""
        symbols = [*word, END]
        for pair in self.merges:
            symbols = merged(symbols, pair)
        ids = []
        for symbol in symbols:
            if symbol in self.vocabulary:
                ids.append(self.vocabulary[symbol])
            elif not self.skip_unknown:
                ids.append(self.vocabulary[UNKNOWN])
        return ids

    def encode(self, text: str) -> list[int]:
        ids = []
        for word in split(text):
            ids.extend(self.encode_word(word))
        return ids

    def tokens(self, text: str) -> list[str]:
        """Return the tokens of a text as strings."""
        return [self.names[id] for id in self.encode(text)]

    def decode(self, ids: Iterable[int]) -> str:
        """Return the words, separated by single spaces."""
        return "".join(self.names[id].replace(END, " ") for id in ids).removesuffix(" ")

    def to_json(self) -> str:
        """Return the vocabulary and the merges as JSON, as `merganser learn char` saves them.

        >>> CharBPE("ab", [("a", "b")]).to_json()[:76]
        '{"vocabulary": {"<unk>": 0, "</w>": 1, "a": 2, "b": 3, "ab": 4}, "merges": ['
        """
        contents = {"vocabulary": self.vocabulary, "merges": self.merges, "skip_unknown": self.skip_unknown}
        return json.dumps(contents, ensure_ascii=False)

    @classmethod
    def from_json(cls: type[Tokenizer], text: str) -> Tokenizer:
        """Return the tokenizer of `to_json`.

        >>> CharBPE.from_json(CharBPE("ab", [("a", "b")]).to_json()).tokens("abba")
        ['ab', 'b', 'a', '</w>']
        """
        try:
            contents = json.loads(text)
            vocabulary = contents["vocabulary"]
            merges = [(left, right) for left, right in contents["merges"]]
            characters = [token for token in vocabulary if len(token) == 1]
            tokenizer = cls(characters, merges, skip_unknown=contents["skip_unknown"])
        except (ValueError, KeyError, TypeError) as error:
            raise ValueError(
                f"this is not a tokenizer that `merganser learn char` saved: {error}; save it again"
            ) from error
        if tokenizer.vocabulary != vocabulary:
            raise ValueError("the vocabulary does not match the merges; save the tokenizer again")
        return tokenizer


def train(text: str, merges: int, *, skip_unknown: bool = False) -> CharBPE:
    """Train a tokenizer of at most `merges` merges; fewer if every word is one symbol earlier."""
    words = split(text)
    learned = [merge.pair for merge in islice(learn(words), merges)]
    return CharBPE(set().union(*words), learned, skip_unknown=skip_unknown)
