"""Parts: what an encoding consists of, each with all that is known of its tokens.

An encoding is a text, or two, with special tokens around them and padding after them. None of the lists that
Hugging Face's `Encoding` has is built here before it is asked for: a part of a text refers to the text, which
is encoded with offsets when somebody reads them.
"""

from typing import Any, Protocol

Offsets = list[tuple[int, int]]
#: What Rust takes for white space, and the space of byte-level BPE.
_NO_SPACES = "\x1c\x1d\x1e\x1f"


class Sequence(Protocol):
    """A text, or a list of words, as it was encoded."""

    def ids(self) -> list[int]:
        """Return the ids."""

    def tokens(self) -> list[str]:
        """Return the tokens as they are spelled."""

    def offsets(self, prefixed: bool | None) -> Offsets:
        """Return the characters of each token; unless `prefixed` is None, without spaces at their ends."""

    def words(self) -> list[int | None]:
        """Return the number of the word of each token."""


class Part:
    """Some tokens of an encoding."""

    __slots__ = ("type_id",)
    #: The values of the two masks for all tokens of the part.
    attention = 1
    special = 0
    type_id: int

    def __len__(self) -> int:
        raise NotImplementedError

    def ids(self) -> list[int]:
        raise NotImplementedError

    def tokens(self) -> list[str]:
        raise NotImplementedError

    def offsets(self) -> Offsets:
        return [(0, 0)] * len(self)

    def words(self) -> list[int | None]:
        return [None] * len(self)

    def type_ids(self) -> list[int]:
        return [self.type_id] * len(self)

    def special_mask(self) -> list[int]:
        return [self.special] * len(self)

    def attention_mask(self) -> list[int]:
        return [self.attention] * len(self)

    def sliced(self, start: int, stop: int) -> "Part":
        raise NotImplementedError

    def typed(self, type_id: int) -> "Part":
        """Return the part with another type id."""
        raise NotImplementedError

    def trimmed(self, prefixed: bool, leads: bool) -> "Part":
        """Return the part without spaces in its offsets. Those of tokens that are not text are empty."""
        return self

    def as_text(self) -> "Part":
        """Return the part with the masks of text."""
        masks = {"special_tokens_mask": [0] * len(self), "attention_mask": [1] * len(self)}
        return Lists({**Lists.of(self).fields, **masks})


class Text(Part):
    """Tokens of a text, or of a part of it."""

    __slots__ = ("leads", "prefixed", "sequence", "start", "stop")

    def __init__(
        self,
        sequence: Sequence,
        start: int,
        stop: int,
        type_id: int,
        prefixed: bool | None = None,
        leads: bool = True,
    ) -> None:
        self.sequence = sequence
        self.start, self.stop = start, stop
        self.type_id = type_id
        #: Whether offsets are trimmed, and if so, whether a space was put before the text.
        self.prefixed = prefixed
        #: Whether the first token was the first of its encoding when offsets were trimmed.
        self.leads = leads

    def __len__(self) -> int:
        return self.stop - self.start

    def as_text(self) -> "Part":
        return self

    def ids(self) -> list[int]:
        return self.sequence.ids()[self.start : self.stop]

    def tokens(self) -> list[str]:
        return self.sequence.tokens()[self.start : self.stop]

    def words(self) -> list[int | None]:
        return self.sequence.words()[self.start : self.stop]

    def offsets(self) -> Offsets:
        whole = self.sequence.offsets(self.prefixed)
        leads = self.start == 0
        if leads and self.stop == len(whole) and self.leads:
            return whole
        found = whole[self.start : self.stop]
        if self.prefixed and found and self.leads != leads:
            # Only the first token of an encoding may have a space that is not its own.
            token = self.sequence.tokens()[self.start]
            found[0] = trimmed(token, self.sequence.offsets(None)[self.start], True, self.leads)
        return found

    def sliced(self, start: int, stop: int) -> "Part":
        if self.prefixed is not None:
            return Lists.of(self).sliced(start, stop)
        return Text(self.sequence, self.start + start, self.start + stop, self.type_id)

    def typed(self, type_id: int) -> "Part":
        return Text(self.sequence, self.start, self.stop, type_id, self.prefixed, self.leads)

    def trimmed(self, prefixed: bool, leads: bool) -> "Part":
        if self.prefixed is not None:
            return Lists.of(self).trimmed(prefixed, leads)
        return Text(self.sequence, self.start, self.stop, self.type_id, prefixed, leads)


class Special(Part):
    """Tokens that a post-processor adds."""

    __slots__ = ("_ids", "_tokens")
    special = 1

    def __init__(self, ids: list[int], tokens: list[str], type_id: int) -> None:
        self._ids, self._tokens, self.type_id = ids, tokens, type_id

    def __len__(self) -> int:
        return len(self._ids)

    def ids(self) -> list[int]:
        return self._ids

    def tokens(self) -> list[str]:
        return self._tokens

    def sliced(self, start: int, stop: int) -> "Part":
        return Special(self._ids[start:stop], self._tokens[start:stop], self.type_id)

    def typed(self, type_id: int) -> "Part":
        return Special(self._ids, self._tokens, type_id)


class Padding(Special):
    """Tokens that make encodings equally long."""

    __slots__ = ()
    attention = 0

    def sliced(self, start: int, stop: int) -> "Part":
        return Padding(self._ids[start:stop], self._tokens[start:stop], self.type_id)

    def typed(self, type_id: int) -> "Part":
        return Padding(self._ids, self._tokens, type_id)


class Lists(Part):
    """Tokens with all that is known of them, in lists of equal lengths."""

    __slots__ = ("fields",)
    NAMES = ("ids", "type_ids", "tokens", "words", "offsets", "special_tokens_mask", "attention_mask")

    def __init__(self, fields: dict[str, list[Any]]) -> None:
        self.fields = fields

    @staticmethod
    def of(part: Part) -> "Lists":
        """Return all lists of a part."""
        lists = (part.ids(), part.type_ids(), part.tokens(), part.words(), part.offsets())
        masks = (part.special_mask(), part.attention_mask())
        return Lists(dict(zip(Lists.NAMES, (*lists, *masks), strict=True)))

    def __len__(self) -> int:
        return len(self.fields["ids"])

    def ids(self) -> list[int]:
        return self.fields["ids"]

    def tokens(self) -> list[str]:
        return self.fields["tokens"]

    def offsets(self) -> Offsets:
        return self.fields["offsets"]

    def words(self) -> list[int | None]:
        return self.fields["words"]

    def type_ids(self) -> list[int]:
        return self.fields["type_ids"]

    def special_mask(self) -> list[int]:
        return self.fields["special_tokens_mask"]

    def attention_mask(self) -> list[int]:
        return self.fields["attention_mask"]

    def sliced(self, start: int, stop: int) -> "Part":
        return Lists({name: values[start:stop] for name, values in self.fields.items()})

    def typed(self, type_id: int) -> "Part":
        return Lists({**self.fields, "type_ids": [type_id] * len(self)})

    def moved(self, by: int) -> "Lists":
        """Return the same tokens, with offsets that begin later."""
        return Lists({**self.fields, "offsets": [(start + by, end + by) for start, end in self.offsets()]})

    def trimmed(self, prefixed: bool, leads: bool) -> "Part":
        return Lists({**self.fields, "offsets": trimmed_all(self.tokens(), self.offsets(), prefixed, leads)})


def trimmed_all(tokens: list[str], offsets: Offsets, prefixed: bool, leads: bool) -> Offsets:
    """Return offsets without the spaces at the ends of tokens."""
    return [
        trimmed(token, span, prefixed, leads and at == 0)
        for at, (token, span) in enumerate(zip(tokens, offsets, strict=True))
    ]


def trimmed(token: str, span: tuple[int, int], prefixed: bool, leads: bool) -> tuple[int, int]:
    """Return the offsets of a token without the spaces at its ends.

    >>> trimmed("Ġa", (0, 2), False, True), trimmed("Ġa", (0, 1), True, True)
    ((1, 2), (0, 1))
    """
    start, end = span
    leading = next((at for at, c in enumerate(token) if not _is_space(c)), len(token))
    # One space may have been put there; of several, none was.
    if not (prefixed and leading == 1 and (leads or start == 0)):
        start = min(start + leading, end)
    trailing = next((at for at, c in enumerate(reversed(token)) if not _is_space(c)), len(token))
    if trailing and end >= trailing:
        end = max(end - trailing, start)
    return start, end


def _is_space(character: str) -> bool:
    return character == "Ġ" or (character.isspace() and character not in _NO_SPACES)
