"""Encoding: the ids of a text and, when they are asked for, the tokens, offsets, words and masks."""

import json
import warnings
from collections.abc import Callable, Iterable, Iterator
from itertools import takewhile
from typing import Any, TypeAlias

from merganser import _core
from merganser.compat.tokenizers.components import compact
from merganser.compat.tokenizers.integers import number, position
from merganser.compat.tokenizers.parts import Lists, Padding, Part

#: What was cut off from an encoding, or the function that returns it.
Overflow: TypeAlias = "list[Encoding] | Callable[[], list[Encoding]]"
Ranges: TypeAlias = dict[int, tuple[int, int]]


class Built:
    """What an encoding is made of: its parts, where its sequences are, and what was cut off."""

    __slots__ = ("overflowing", "parts", "ranges")

    def __init__(self, parts: list[Part], ranges: Ranges, overflowing: Overflow) -> None:
        self.parts, self.ranges, self.overflowing = parts, ranges, overflowing


class Encoding(_core.Encoded):
    """The result of encoding a text: lists that are built when they are read.

    `Tokenizer.encode` returns one. The ids are known; everything else is computed when it is read.

    Attributes
    ----------
    ids : list of int
        The ids.
    type_ids : list of int
        The number of the input that each token belongs to, as the post-processor says.
    attention_mask : list of int
        0 for padding, 1 for all other tokens.
    special_tokens_mask : list of int
        1 for tokens that were added to the text, 0 for those of the text.
    offsets : list of (int, int)
        The characters of the input that each token covers.

    Examples
    --------
    >>> from merganser.compat.tokenizers import Tokenizer, models, pre_tokenizers
    >>> tokenizer = Tokenizer(models.BPE({"l": 0, "o": 1, "lo": 2}, [("l", "o")]))
    >>> tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    >>> encoding = tokenizer.encode("lo o")
    >>> encoding.ids, encoding.tokens, encoding.offsets, encoding.word_ids
    ([2, 1], ['lo', 'o'], [(0, 2), (3, 4)], [0, 1])
    """

    # What has been built is kept by the base class, which the collector need not look at.
    __slots__ = ()

    @classmethod
    def _of(
        cls, parts: list[Part], ranges: Ranges | None = None, overflowing: "Overflow | None" = None
    ) -> "Encoding":
        """Return the encoding that consists of these parts."""
        made = cls()
        made._set(parts, {} if ranges is None else ranges, [] if overflowing is None else overflowing)
        return made

    def _set(self, parts: list[Part], ranges: Ranges, overflowing: Overflow) -> None:
        self._keep(Built(parts, ranges, overflowing), True)

    def _whole(self) -> Built:
        """Return all that belongs to the encoding, which is built on first access."""
        built: Built | None = self._built
        if built is None:
            source = self._source
            built = Built([], {}, []) if source is None else source[0].frame.built(*source)
            self._keep(built, False)
        return built

    @property
    def _parts(self) -> list[Part]:
        return self._whole().parts

    @property
    def _ranges(self) -> Ranges:
        return self._whole().ranges

    def _replace(self, parts: list[Part]) -> None:
        """Replace the parts."""
        built = self._whole()
        self._set(parts, built.ranges, built.overflowing)

    def _rest(self) -> "list[Encoding]":
        """Return what was cut off, which is built on first access."""
        built = self._whole()
        if callable(built.overflowing):
            built.overflowing = built.overflowing()
        return built.overflowing

    def _copy(self) -> "Encoding":
        """Return an encoding that can be changed; the parts never are."""
        return Encoding._of(list(self._parts), dict(self._ranges), [each._copy() for each in self._rest()])

    def _join(self, lists: "Iterable[list[Any]]") -> list[Any]:
        joined: list[Any] = []
        for each in lists:
            joined += each
        return joined

    def _joined(self, field: str) -> list[Any]:
        """Return a field that the text alone does not tell; the base class asks."""
        name = "special_mask" if field == "special_tokens_mask" else field
        return self._join(getattr(part, name)() for part in self._parts)

    def _size(self) -> int:
        """Return the number of tokens, for the base class."""
        return sum(map(len, self._parts))

    # ── fields ────────────────────────────────────────────────────────────────

    @property
    def tokens(self) -> list[str]:
        """The tokens as they are spelled in the vocabulary."""
        return self._join(part.tokens() for part in self._parts)

    @property
    def word_ids(self) -> list[int | None]:
        """The number of the word, a pre-token of the input, that each token is part of."""
        return self._join(part.words() for part in self._parts)

    @property
    def words(self) -> list[int | None]:
        """The same as `word_ids`, under a name that is deprecated."""
        warnings.warn(
            "Deprecated in 0.9.4: Encoding.words is deprecated, please use Encoding.word_ids instead.",
            DeprecationWarning,
            stacklevel=2,
        )
        return self.word_ids

    @property
    def sequence_ids(self) -> list[int | None]:
        """The number of the input that each token belongs to; None for those that were added."""
        sequences: list[int | None] = [None] * len(self)
        for n in range(self.n_sequences):
            start, stop = self._range(n)
            sequences[start:stop] = [n] * (stop - start)
        return sequences

    @property
    def n_sequences(self) -> int:
        """The number of inputs."""
        source = self._source
        if source is not None and self._built is None:
            n_sequences: int = source[0].frame.n_sequences
            return n_sequences
        return len(self._ranges) or 1

    @property
    def overflowing(self) -> "list[Encoding]":
        """What truncation has cut off."""
        return list(self._rest())

    # ── from characters to tokens to words ────────────────────────────────────

    def _range(self, sequence: int) -> tuple[int, int]:
        return self._ranges.get(position(sequence), (0, len(self)))

    def _sequence_of(self, token: int) -> int | None:
        """Return the number of the input of a token; None for those that belong to none."""
        token = position(token)
        if not self._ranges:
            # The library counts the end of the encoding, too.
            return 0 if token <= len(self) else None
        return next((n for n, (start, stop) in self._ranges.items() if start <= token < stop), None)

    def token_to_sequence(self, token_index: int) -> int | None:
        """Return the number of the input that a token belongs to."""
        return self._sequence_of(token_index)

    def token_to_chars(self, token_index: int) -> tuple[int, int] | None:
        """Return the characters of a token."""
        known = self._sequence_of(token_index) is not None and token_index < len(self)
        return self.offsets[token_index] if known else None

    def token_to_word(self, token_index: int) -> int | None:
        """Return the number of the word that a token is part of."""
        known = self._sequence_of(token_index) is not None and token_index < len(self)
        return self.word_ids[token_index] if known else None

    def word_to_tokens(self, word_index: int, sequence_index: int = 0) -> tuple[int, int] | None:
        """Return the first token of a word, and the one after its last."""
        start, stop = self._range(sequence_index)
        wanted = number(word_index)
        # Words of another text may follow, whose numbers start over.
        before = takewhile(lambda word: word is None or word <= wanted, self.word_ids[start:stop])
        found = [at for at, word in enumerate(before, start) if word == wanted]
        return (found[0], found[-1] + 1) if found else None

    def word_to_chars(self, word_index: int, sequence_index: int = 0) -> tuple[int, int] | None:
        """Return the characters of a word."""
        tokens = self.word_to_tokens(word_index, sequence_index)
        if tokens is None or tokens[0] == tokens[1]:
            return None
        offsets = self.offsets
        return offsets[tokens[0]][0], offsets[tokens[1] - 1][1]

    def char_to_token(self, char_pos: int, sequence_index: int = 0) -> int | None:
        """Return the token that covers a character."""
        start, stop = self._range(sequence_index)
        at = position(char_pos)
        covers = (
            token for token, span in enumerate(self.offsets[start:stop], start) if span[0] <= at < span[1]
        )
        return next(covers, None)

    def char_to_word(self, char_pos: int, sequence_index: int = 0) -> int | None:
        """Return the number of the word that covers a character."""
        token = self.char_to_token(char_pos, sequence_index)
        return None if token is None else self.token_to_word(token)

    # ── changes ───────────────────────────────────────────────────────────────

    def set_sequence_id(self, sequence_id: int) -> None:
        """Say that all tokens belong to one input."""
        built = self._whole()
        built.ranges = {**built.ranges, position(sequence_id): (0, len(self))}

    def pad(
        self,
        length: int,
        direction: str = "right",
        pad_id: int = 0,
        pad_type_id: int = 0,
        pad_token: str = "[PAD]",
        **ignored: Any,
    ) -> None:
        """Make the encoding, and what was cut off, at least so long."""
        if direction not in ("left", "right"):
            raise ValueError(f"Unknown `direction`: `{direction}`. Use one of `left` or `right`")
        padded = self._padded(position(length), direction, number(pad_id), number(pad_type_id), pad_token)
        self._keep(padded._whole(), True)

    def _padded(self, length: int, direction: str, id: int, type_id: int, token: str) -> "Encoding":
        built = self._whole()
        parts, ranges, cut_off = built.parts, built.ranges, built.overflowing

        def overflowing() -> list[Encoding]:
            rest = cut_off() if callable(cut_off) else cut_off
            return [each._padded(length, direction, id, type_id, token) for each in rest]

        missing = length - len(self)
        if missing <= 0:
            return Encoding._of(parts, ranges, overflowing)
        padding = Padding([id] * missing, [token] * missing, type_id)
        if direction == "right":
            return Encoding._of([*parts, padding], ranges, overflowing)
        ranges = {n: (start + missing, stop + missing) for n, (start, stop) in ranges.items()}
        return Encoding._of([padding, *parts], ranges, overflowing)

    def truncate(self, max_length: int, stride: int = 0, direction: str = "right") -> None:
        """Cut the encoding; the rest is `overflowing`, in parts of this length that overlap by `stride`."""
        if direction not in ("left", "right"):
            raise ValueError(f"Invalid truncation direction value : {direction}")
        cut = self._truncated(position(max_length), position(stride), direction)
        self._keep(cut._whole(), True)

    def _truncated(self, max_length: int, stride: int, direction: str) -> "Encoding":
        built, size = self._whole(), len(self)
        if max_length >= size:
            return self
        if max_length == 0:
            whole = Encoding._of(built.parts, built.ranges, built.overflowing)
            return Encoding._of([], {}, [whole])
        if stride >= max_length:
            raise ValueError(
                f"`stride` must be strictly less than `max_len={max_length}` (note that `max_len` may be "
                "shorter than the max length of the original model, as it subtracts the number "
                "of special characters"
            )
        # Where sequences are is no longer known.
        first, *rest = (
            Encoding._of(_sliced(built.parts, start, stop))
            for start, stop in _windows(size, max_length, max_length - stride, direction)
        )
        first._whole().overflowing = rest
        return first

    @staticmethod
    def merge(encodings: "Iterable[Encoding]", growing_offsets: bool = True) -> "Encoding":
        """Return several encodings as one; with `growing_offsets`, as if their texts were one, too."""
        merged = Encoding()
        for encoding in encodings:
            merged = merged._with(encoding, growing_offsets)
        return merged

    def _with(self, other: "Encoding", growing: bool) -> "Encoding":
        """Return this encoding followed by another, and every combination of what was cut off from both."""
        parts, others = self._parts, other._parts
        overflowing = []
        for cut in self._rest():
            overflowing.append(cut._with(other, growing))
            overflowing += [cut._with(theirs, growing) for theirs in other._rest()]
        overflowing += [self._with(theirs, growing) for theirs in other._rest()]
        if growing and (spans := self.offsets) and (by := spans[-1][1]):
            others = [Lists.of(part).moved(by) for part in others]
        size = len(self)
        moved = {n: (start + size, stop + size) for n, (start, stop) in other._ranges.items()}
        return Encoding._of([*parts, *others], {**self._ranges, **moved}, overflowing)

    # ── pickling and showing ──────────────────────────────────────────────────

    def __getstate__(self) -> bytes:
        return compact(self._state()).encode()

    def _state(self) -> dict[str, Any]:
        return {
            "ids": self.ids,
            "type_ids": self.type_ids,
            "tokens": self.tokens,
            "words": self.word_ids,
            "offsets": self.offsets,
            "special_tokens_mask": self.special_tokens_mask,
            "attention_mask": self.attention_mask,
            "overflowing": [each._state() for each in self.overflowing],
            "sequence_ranges": {
                str(n): {"start": start, "end": stop} for n, (start, stop) in self._ranges.items()
            },
        }

    def __setstate__(self, state: bytes | str) -> None:
        self._keep(_from_state(json.loads(state))._whole(), True)

    def __reduce__(self) -> tuple[Any, ...]:
        return _unpickled, (self.__getstate__(),)

    def __repr__(self) -> str:
        names = "ids, type_ids, tokens, offsets, attention_mask, special_tokens_mask, overflowing"
        return f"Encoding(num_tokens={len(self)}, attributes=[{names}])"


def _unpickled(state: bytes) -> Encoding:
    return _from_state(json.loads(state))


def _from_state(state: dict[str, Any]) -> Encoding:
    fields: dict[str, list[Any]] = {name: state[name] for name in Lists.NAMES}
    fields["offsets"] = [(start, end) for start, end in fields["offsets"]]
    ranges = {int(n): (at["start"], at["end"]) for n, at in state["sequence_ranges"].items()}
    return Encoding._of([Lists(fields)], ranges, [_from_state(each) for each in state["overflowing"]])


def _sliced(parts: list[Part], start: int, stop: int) -> list[Part]:
    """Return the parts between two tokens."""
    found = []
    for part in parts:
        size = len(part)
        if start < size and stop > 0:
            whole = start <= 0 and stop >= size
            found.append(part if whole else part.sliced(max(start, 0), min(stop, size)))
        start, stop = start - size, stop - size
    return found


def _windows(size: int, length: int, step: int, direction: str) -> Iterator[tuple[int, int]]:
    """Yield ranges of `length` that begin, or from the right end, `step` apart, up to the other end."""
    if direction == "right":
        for start in range(0, size, step):
            yield start, min(start + length, size)
            if start + length >= size:
                return
    else:
        for stop in range(size, 0, -step):
            yield max(stop - length, 0), stop
            if stop <= length:
                return
