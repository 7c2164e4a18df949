"""Tokenizer: ranked tokens, a split pattern and special tokens. Never changes once made.

All that encodes and decodes is inherited from the native class, so that a call costs one call; what is
here is what nobody does a million times a second.
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple, TypeVar, cast

from merganser import _core
from merganser.corpus.split_settings import PATTERN
from merganser.errors import SettingsError, TokenizerError
from merganser.tokenizer.frozen import FrozenDict, FrozenList
from merganser.tokenizer.shortcuts import Shortcuts

T = TypeVar("T")

#: Facts of a training that depend on how many merges it made.
_OF_THE_SIZE = ("vocab_size", "proven_merges", "checked_merges")


class Spans(NamedTuple):
    """What `Tokenizer.encode_with_offsets` gives: ids, and (start, end) of each in the text.

    chars: in characters, as Python counts them: all that the token has a part in. Of a character that is cut
        in two, both tokens have the whole.
    bytes: in bytes of UTF-8.

    What is prepended or appended is no part of the text: its spans are empty.

    >>> bytes_only = Tokenizer({bytes([byte]): byte for byte in range(256)})
    >>> bytes_only.encode_with_offsets("aé").chars
    [(0, 1), (1, 2), (1, 2)]
    """

    ids: list[int]
    chars: list[tuple[int, int]]
    bytes: list[tuple[int, int]]


class Tokenizer(Shortcuts):
    """Turns text into ids and back.

    mergeable_ranks: the id of every token that is not special, by its bytes; all 256 single bytes are there.
        Of two possible merges, the one that makes the lower id goes first.
    special_tokens: the id of every special token.
    merge_counts: how often each merge was seen in training, by the id of the token it made, if known.
    training: facts about the training, for people to read.

    Two tokenizers are equal if they have the same tokens, ids, special tokens and pattern.

    >>> bytes_only = Tokenizer({bytes([byte]): byte for byte in range(256)}, special_tokens={"<end>": 256})
    >>> bytes_only.encode("hi<end>", allowed_special="all")
    [104, 105, 256]
    >>> bytes_only.encode_batch(["a", "hi"], append="<end>")
    [[97, 256], [104, 105, 256]]
    >>> ids, offsets = bytes_only.encode_flat(["a", "hi"])
    >>> ids.tolist(), offsets.tolist()
    ([97, 104, 105], [0, 1, 3])
    >>> bytes_only.count_tokens(["a", "hi"])
    [1, 2]
    """

    __slots__ = ("_built", "_merge_counts", "_training")
    #: What is built when it is first asked for, by name.
    _built: dict[str, object]
    _merge_counts: Mapping[int, int]
    _training: Mapping[str, Any]

    def __new__(
        cls,
        mergeable_ranks: Mapping[bytes, int],
        *,
        pattern: str = PATTERN,
        special_tokens: Mapping[str, int] | None = None,
        merge_counts: Mapping[int, int] | None = None,
        training: Mapping[str, Any] | None = None,
    ) -> "Tokenizer":
        try:
            model = _core.Model.from_ranks(dict(mergeable_ranks), pattern, dict(special_tokens or {}))
        except UnicodeEncodeError as error:
            raise TokenizerError(
                f"the pattern or a special token, {error.object[:40]!r}, has half a character (a lone "
                "surrogate); leave it out"
            ) from None
        return cls._of(model, merge_counts or {}, training or {})

    @classmethod
    def _of(
        cls, model: _core.Model, merge_counts: Mapping[int, int], training: Mapping[str, Any]
    ) -> "Tokenizer":
        tokenizer = super().__new__(cls, model)
        tokenizer._built = {}
        tokenizer._merge_counts = MappingProxyType(dict(merge_counts))
        tokenizer._training = MappingProxyType(dict(training))
        return tokenizer

    def _once(self, name: str, build: Callable[[], T]) -> T:
        """What `build` returned when this name was first asked for.

        Threads that ask at the same time may each build it, but all get the same object: `setdefault` keeps
        the first. No lock, which another thread might hold when the process forks.
        """
        found = self._built.get(name)
        if found is None:
            found = self._built.setdefault(name, build())
        return cast("T", found)

    @property
    def vocab(self) -> FrozenDict[bytes, int]:
        """The id of every token by its bytes, lowest id first; special tokens are included as their UTF-8.

        Like `mergeable_ranks`, `special_tokens`, `merges` and `merges_as_ids`, it is built on first access
        and is the same object from then on. It refuses changes; `dict(tokenizer.vocab)` is a copy to change.
        `token_id` and `token_bytes` look up a single token without building anything.

        >>> bytes_only = Tokenizer({bytes([byte]): byte for byte in range(256)})
        >>> bytes_only.vocab[b"a"], bytes_only.vocab is bytes_only.vocab
        (97, True)
        """

        def build() -> FrozenDict[bytes, int]:
            specials = {token.encode(): id for token, id in self.special_tokens.items()}
            return FrozenDict(sorted((self.mergeable_ranks | specials).items(), key=lambda entry: entry[1]))

        return self._once("vocab", build)

    @property
    def mergeable_ranks(self) -> FrozenDict[bytes, int]:
        """The id of every token that is not special, by its bytes, lowest id first. See `vocab`."""
        return self._once("mergeable_ranks", lambda: FrozenDict(super(Tokenizer, self).mergeable_ranks))

    @property
    def special_tokens(self) -> FrozenDict[str, int]:
        """The id of every special token, lowest id first. See `vocab`."""
        return self._once("special_tokens", lambda: FrozenDict(super(Tokenizer, self).special_tokens))

    @property
    def merges(self) -> FrozenList[tuple[bytes, bytes]]:
        """The two tokens that each merge joins, first merge first. A list that refuses changes."""
        return self._once("merges", lambda: FrozenList(super(Tokenizer, self).merges))

    @property
    def merges_as_ids(self) -> FrozenDict[tuple[int, int], int]:
        """The id that each merge makes of two ids, first merge first. See `vocab`."""
        return self._once("merges_as_ids", lambda: FrozenDict(super(Tokenizer, self).merges_as_ids))

    @property
    def merge_counts(self) -> Mapping[int, int]:
        """How often each merge was seen in training, by the id of the token it made; empty if not known."""
        return self._merge_counts

    @property
    def training(self) -> Mapping[str, Any]:
        """Facts about the training, if it is known: tie_break, min_frequency, documents and so on."""
        return self._training

    def truncated(self, vocab_size: int) -> "Tokenizer":
        """The tokenizer of this size from the same training: the same as training with that size.

        Special tokens that follow the merges move down; everything else keeps its id. `training` then has the
        facts of the smaller one, and in "truncated_from" the size that was trained.

        >>> import merganser
        >>> small = merganser.train(["low lower lowest"] * 9, 260).truncated(258)
        >>> [small.training[name] for name in ("vocab_size", "merges", "truncated_from")]
        [258, 2, 260]
        """
        if vocab_size < 0:
            raise SettingsError(f"a vocabulary of {vocab_size} tokens cannot be")
        model = self.truncated_model(vocab_size)
        small = _core.Tokenizer(model)
        moved = set(small.special_tokens.values())
        counts = {id: seen for id, seen in self.merge_counts.items() if id in small and id not in moved}
        return Tokenizer._of(model, counts, self._facts_of_truncated(vocab_size))

    def _facts_of_truncated(self, vocab_size: int) -> Mapping[str, Any]:
        """The facts of a training that ended at this size, as far as this one knows them."""
        if vocab_size == self.vocab_size:
            return self.training
        facts = dict(self.training)
        if "merges" in facts:
            # Only merges are dropped. Those of a base are not counted in the facts of the training.
            merges = max(facts["merges"] - (self.vocab_size - vocab_size), 0)
            for name in ("proven_merges", "checked_merges"):
                if facts[name] is not None:
                    facts[name] = min(facts[name], merges)
            facts |= {"vocab_size": vocab_size, "merges": merges}
        else:
            # Written by a version that did not count them: what depends on the size is no longer known.
            facts = {name: fact for name, fact in facts.items() if name not in _OF_THE_SIZE}
        facts.setdefault("truncated_from", self.vocab_size)
        return facts

    def __len__(self) -> int:
        return self.vocab_size

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Tokenizer):
            return NotImplemented
        return self.equals(other)

    def __hash__(self) -> int:
        return hash((self.vocab_size, self.pattern, *self.special_tokens.items()))

    def __repr__(self) -> str:
        pattern = self.pattern_name or repr(self.pattern)
        return (
            f"<Tokenizer: {self.vocab_size:,} tokens, {len(self.special_tokens)} special, pattern {pattern}>"
        )

    def __copy__(self) -> "Tokenizer":
        return self

    def __deepcopy__(self, memo: object) -> "Tokenizer":
        return self

    def __reduce__(self) -> tuple[object, ...]:
        return _unpickle, (
            self.packed_ranks(),
            self.pattern_name or self.pattern,
            dict(self.special_tokens),
            dict(self.merge_counts),
            dict(self.training),
        )


def _unpickle(
    packed_ranks: bytes,
    pattern: str,
    special_tokens: dict[str, int],
    merge_counts: dict[int, int],
    training: dict[str, Any],
) -> Tokenizer:
    model = _core.Model.from_packed(packed_ranks, pattern, special_tokens)
    return Tokenizer._of(model, merge_counts, training)
