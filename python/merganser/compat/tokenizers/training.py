"""Training: what `BpeTrainer` says, with merganser's trainer.

The tokenizer's normalizer and pre-tokenizer split the texts into words, which are counted. Every unit that
merging starts from (a character, with its prefix or suffix) then becomes one character of an alphabet that is
private to the training, numbered in the order of the library's ids, so that ties are broken as there.
"""

import json
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from merganser import _core
from merganser.compat.tokenizers.trainers import BpeTrainer
from merganser.engines.local import Local
from merganser.formats import BadFile, gpt2, stages

#: How many texts are counted at a time.
_TEXTS = 4096
#: The settings of the library's own trainer.
_OPTIONS = (
    "vocab_size",
    "min_frequency",
    "special_tokens",
    "limit_alphabet",
    "initial_alphabet",
    "continuing_subword_prefix",
    "end_of_word_suffix",
    "max_token_length",
)
#: The first character of the private alphabet, and the characters that it must not contain.
_FIRST = 0x100
_SURROGATES = range(0xD800, 0xE000)


def lines_of(files: Iterable[str]) -> Iterator[str]:
    """Yield the lines of files with their ends, as the library reads them."""
    for file in files:
        with Path(file).open(encoding="utf-8", newline="\n") as lines:
            yield from lines


def texts_of(iterator: Iterable[Any]) -> Iterator[str]:
    """Yield the texts of an iterator of texts, or of batches of them."""
    for item in iterator:
        if isinstance(item, str):
            yield item
        else:
            yield from item


def options(trainer: Any) -> BpeTrainer:
    """Return a trainer: as it is, the default, or one from the state of the library's own class."""
    if trainer is None:
        return BpeTrainer()
    if isinstance(trainer, BpeTrainer):
        return trainer
    if type(trainer).__name__ == "BpeTrainer":
        return BpeTrainer(**{name: getattr(trainer, name) for name in _OPTIONS})
    raise NotImplementedError(f"merganser trains BPE, with a BpeTrainer; got {type(trainer).__name__}")


def train(
    texts: Iterable[str],
    trainer: BpeTrainer,
    normalizer: dict[str, Any] | None,
    pre_tokenizer: dict[str, Any] | None,
) -> tuple[dict[str, int], list[tuple[str, str]]]:
    """Return the vocabulary and the merges."""
    words = _counted(texts, normalizer, pre_tokenizer)
    trainer._word_count = len(words)
    return _Training(words, trainer).result()


def _counted(
    texts: Iterable[str], normalizer: dict[str, Any] | None, pre_tokenizer: dict[str, Any] | None
) -> dict[str, int]:
    """Return how often each word occurs; bytes are spelled as characters if a stage does so."""
    try:
        normalizers = stages.flattened(normalizer, "normalizer")
        pre_tokenizers = stages.flattened(pre_tokenizer, "pre_tokenizer")
        normalizers, pre_tokenizers = stages.bytes_after_normalizing(normalizers, pre_tokenizers)
    except BadFile as error:
        raise ValueError(f"merganser cannot train with these stages: the tokenizer {error}") from None
    native = _core.Stages(
        json.dumps(stages.sequence(normalizers, "normalizer")),
        json.dumps(stages.sequence(pre_tokenizers, "pre_tokenizer")),
    )
    remaining = iter(texts)
    while some := list(islice(remaining, _TEXTS)):
        native.count(some)
    spelled = stages.has(pre_tokenizers, "ByteLevel")
    return {
        gpt2.to_printable(word) if spelled else word.decode(): count
        for word, count in native.counts().items()
    }


class _Training:
    def __init__(self, words: dict[str, int], trainer: BpeTrainer) -> None:
        self.trainer = trainer
        self.prefix = trainer.continuing_subword_prefix or ""
        self.suffix = trainer.end_of_word_suffix or ""
        #: Tokens that are no merges, in the order of their ids.
        self.ids: dict[str, int] = {}
        for token in trainer._special_tokens:
            self._add(token.content)
        for character in self._alphabet(words):
            self._add(character)
        self.words = self._units(words)

    def _add(self, token: str) -> int:
        return self.ids.setdefault(token, len(self.ids))

    def _alphabet(self, words: dict[str, int]) -> list[str]:
        """Return the characters to train on, by code point."""
        counts: Counter[str] = Counter()
        for word, count in words.items():
            for character in word:
                counts[character] += count
        limit = self.trainer.limit_alphabet
        given = set(self.trainer.initial_alphabet)
        kept = {*counts, *given}
        if limit is not None and len(kept) > limit:
            # Those that were given come first; of equally frequent ones, those of lower code points.
            order = sorted(kept, key=lambda c: (c not in given, -counts[c], c))
            kept = set(order[:limit])
        return sorted(kept)

    def _units(self, words: dict[str, int]) -> Counter[tuple[int, ...]]:
        """Return words as ids of what merging starts from, without characters outside the alphabet."""
        found: Counter[tuple[int, ...]] = Counter()
        marked = bool(self.prefix or self.suffix)
        known = dict(self.ids)
        if marked:
            # The order of the library is that of a hash table; this one is always the same.
            words = dict(sorted(words.items()))
        for word, count in words.items():
            if not marked:
                found[tuple(known[c] for c in word if c in known)] += count
                continue
            last = len(word) - 1
            units = []
            for at, character in enumerate(word):
                if character not in known:
                    continue
                unit = (self.prefix if at else "") + character + (self.suffix if at == last else "")
                units.append(self._add(unit))
            found[tuple(units)] += count
        return found

    def result(self) -> tuple[dict[str, int], list[tuple[str, str]]]:
        tokens = list(self.ids)
        room = self.trainer.vocab_size - len(tokens)
        learned = self._learned(room) if room > 0 else []
        merges = []
        for left, right in learned:
            parts = (
                "".join(self._joined(left, tokens)),
                "".join(self._joined(right, tokens)),
            )
            merged = parts[0] + parts[1][len(self.prefix) :]
            if merged in self.ids:
                raise ValueError(
                    f"a merge forms {merged!r}, which is one of the special_tokens; merganser cannot merge "
                    "into a token that exists, so leave it out of special_tokens"
                )
            self._add(merged)
            merges.append(parts)
        return dict(self.ids), merges

    def _joined(self, units: str, tokens: list[str]) -> Iterator[str]:
        """Yield the tokens of units, without the prefixes inside."""
        for at, unit in enumerate(units):
            token = tokens[_number(unit)]
            yield token[len(self.prefix) :] if at else token

    def _learned(self, room: int) -> list[tuple[str, str]]:
        """Return the merges, in characters of the private alphabet."""
        characters = [_private(number) for number in range(len(self.ids))]
        counts = {
            "".join(characters[unit] for unit in word).encode(): count
            for word, count in self.words.items()
            if len(word) > 1
        }
        if not counts:
            return []
        used = len({unit for word in self.words if len(word) > 1 for unit in word})
        limit = self.trainer.max_token_length
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about running out of pairs, of which the library says nothing
            _, merges, _ = _core.train_characters(
                _core.Counts(counts, "whitespace", [], None, 0, 0),
                used + room,
                normalizer="null",
                pattern=None,
                mark="none",
                split_scripts=False,
                split_digits=False,
                coverage=1.0,
                max_alphabet=None,
                tie_break="ids",
                min_frequency=max(self.trainer.min_frequency, 1),
                max_token_characters=None if limit is None else max(limit - 1, 2),
                forbidden=[],
                **Local().merging(),
                progress=None,
            )
        return [(left.decode(), right.decode()) for left, right in merges]


def _private(number: int) -> str:
    code = _FIRST + number
    return chr(code if code < _SURROGATES.start else code + len(_SURROGATES))


def _number(character: str) -> int:
    code = ord(character)
    return code - _FIRST - (len(_SURROGATES) if code >= _SURROGATES.stop else 0)
