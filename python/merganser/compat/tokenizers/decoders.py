"""Decoders: how tokens become text again.

`Tokenizer.decode` uses merganser's decoder wherever it gives the same text. The decoders here do it token by
token, for lists of tokens and for combinations that the core does not know.
"""

import json
import re
from collections.abc import Iterator
from collections.abc import Sequence as Sequence_
from typing import Any, ClassVar

from merganser import _core
from merganser.compat.tokenizers import patterns
from merganser.compat.tokenizers.components import Chain, Component, one_character
from merganser.compat.tokenizers.integers import number
from merganser.compat.tokenizers.pre_tokenizers import checked_scheme, with_scheme
from merganser.formats import gpt2, stages

__all__ = [
    "CTC",
    "BPEDecoder",
    "ByteFallback",
    "ByteLevel",
    "DecodeStream",
    "Decoder",
    "Fuse",
    "Metaspace",
    "Replace",
    "Sequence",
    "Strip",
    "WordPiece",
]

_BYTE = re.compile(r"<0x([0-9A-Fa-f]{2})>")
_REPLACEMENT = "\N{REPLACEMENT CHARACTER}"


class Decoder(Component):
    """What all decoders have in common.

    Examples
    --------
    >>> ByteLevel().decode(["Hi", "Ġthere"])
    'Hi there'
    """

    __slots__ = ()
    kinds: ClassVar[dict[str, type[Component]]] = {}
    kind = "decoder"

    def decode(self, tokens: Sequence_[str]) -> str:
        """Return the text of tokens."""
        return "".join(self._chain(list(tokens)))

    def _chain(self, tokens: list[str]) -> list[str]:
        """Return what this decoder makes of tokens, for the next."""
        raise NotImplementedError

    @staticmethod
    def custom(decoder: Any) -> "Decoder":
        """Raise an error: stages in Python are not supported."""
        raise NotImplementedError("merganser has no decoders in Python; combine those of this module")


class ByteLevel(Decoder):
    """Join the bytes that characters spell."""

    __slots__ = ()
    FIELDS: ClassVar[dict[str, Any]] = {"add_prefix_space": True, "trim_offsets": True, "use_regex": True}

    def __init__(self, **ignored: Any) -> None:  # by the library, too
        super().__init__()

    def _chain(self, tokens: list[str]) -> list[str]:
        return [b"".join(map(gpt2.decoded, tokens)).decode(errors="replace")]


class BPEDecoder(Decoder):
    """Replace the suffix of words by a space."""

    __slots__ = ()
    FIELDS: ClassVar[dict[str, Any]] = {"suffix": "</w>"}

    def __init__(self, suffix: str = "</w>") -> None:
        super().__init__(suffix=suffix)

    def _chain(self, tokens: list[str]) -> list[str]:
        last = len(tokens) - 1
        return [token.replace(self.suffix, " " if at < last else "") for at, token in enumerate(tokens)]


class ByteFallback(Decoder):
    """Join tokens such as `<0x61>` to characters."""

    __slots__ = ()
    FIELDS: ClassVar[dict[str, Any]] = {}

    def _chain(self, tokens: list[str]) -> list[str]:
        return list(_joined_bytes(tokens))


class CTC(Decoder):
    """Join the outputs of a model that emits a token for each step."""

    __slots__ = ()
    FIELDS: ClassVar[dict[str, Any]] = {
        "pad_token": "<pad>",
        "word_delimiter_token": "|",
        "cleanup": True,
    }

    def __init__(
        self, pad_token: str = "<pad>", word_delimiter_token: str = "|", cleanup: bool = True
    ) -> None:
        super().__init__(pad_token=pad_token, word_delimiter_token=word_delimiter_token, cleanup=cleanup)

    def _chain(self, tokens: list[str]) -> list[str]:
        found = []
        for at, token in enumerate(tokens):
            if at and token == tokens[at - 1]:
                continue
            text = token.replace(self.pad_token, "")
            if self.cleanup:
                text = _cleaned(text).replace(self.word_delimiter_token, " ")
            if text:
                found.append(text)
        return found


class Fuse(Decoder):
    """Join all tokens to one."""

    __slots__ = ()
    FIELDS: ClassVar[dict[str, Any]] = {}

    def _chain(self, tokens: list[str]) -> list[str]:
        return ["".join(tokens)]


class Metaspace(Decoder):
    """Turn `▁` into spaces; those of the first token are removed."""

    __slots__ = ()
    FIELDS: ClassVar[dict[str, Any]] = {"replacement": "▁", "prepend_scheme": "always", "split": True}

    def __init__(self, replacement: str = "▁", prepend_scheme: str = "always", split: bool = True) -> None:
        super().__init__(
            replacement=one_character(replacement),
            prepend_scheme=checked_scheme(prepend_scheme),
            split=split,
        )

    @classmethod
    def _of(cls, fields: dict[str, Any]) -> "Metaspace":
        return super()._of(with_scheme(fields))

    def _chain(self, tokens: list[str]) -> list[str]:
        first = "" if self.prepend_scheme != "never" else " "
        return [token.replace(self.replacement, " " if at else first) for at, token in enumerate(tokens)]


class Replace(Decoder):
    """Replace what a pattern matches, in each token."""

    __slots__ = ()
    FIELDS: ClassVar[dict[str, Any]] = {"pattern": None, "content": ""}

    def __init__(self, pattern: "str | patterns.Regex", content: str) -> None:
        super().__init__(pattern=patterns.as_json(pattern), content=content)

    def _chain(self, tokens: list[str]) -> list[str]:
        if (literal := self._fields["pattern"].get("String")) is not None:
            return [token.replace(literal, self.content) for token in tokens]
        [stage] = stages.flattened(self._as_json(), "normalizer")
        native = _core.Stages(json.dumps(stage), "null")
        return [native.normalize(token) for token in tokens]


class Strip(Decoder):
    """Remove a character from the ends of each token, at most `left` and `right` times."""

    __slots__ = ()
    FIELDS: ClassVar[dict[str, Any]] = {"content": " ", "start": 0, "stop": 0}

    def __init__(self, content: str = " ", left: int = 0, right: int = 0) -> None:
        super().__init__(content=content, start=left, stop=right)

    def _chain(self, tokens: list[str]) -> list[str]:
        return [self._stripped(token) for token in tokens]

    def _stripped(self, token: str) -> str:
        left = len(token) - len(token.lstrip(self.content))
        token = token[min(left, self.start) :]
        right = len(token) - len(token.rstrip(self.content))
        return token[: len(token) - min(right, self.stop)]


class WordPiece(Decoder):
    """Put a space before tokens without a prefix."""

    __slots__ = ()
    FIELDS: ClassVar[dict[str, Any]] = {"prefix": "##", "cleanup": True}

    def __init__(self, prefix: str = "##", cleanup: bool = True) -> None:
        super().__init__(prefix=prefix, cleanup=cleanup)

    def _chain(self, tokens: list[str]) -> list[str]:
        found = []
        for at, token in enumerate(tokens):
            text = token
            if at:
                text = token.removeprefix(self.prefix) if token.startswith(self.prefix) else " " + token
            found.append(_cleaned(text) if self.cleanup else text)
        return found


class Sequence(Chain, Decoder):
    """Several decoders, one after the other."""

    __slots__ = ()
    FIELDS: ClassVar[dict[str, Any]] = {"decoders": ()}
    KEY = "decoders"

    def __init__(self, decoders: list[Any]) -> None:
        super().__init__(decoders)

    def _chain(self, tokens: list[str]) -> list[str]:
        for part in self._parts:
            assert isinstance(part, Decoder)
            tokens = part._chain(tokens)
        return tokens


class DecodeStream:
    """Decode ids as a model generates them.

    Parameters
    ----------
    ids : list of int, optional
        The ids that come before, such as those of a prompt.
    skip_special_tokens : bool
        Whether special tokens are left out.

    Examples
    --------
    >>> from merganser.compat.tokenizers import Tokenizer, models
    >>> tokenizer = Tokenizer(models.BPE({"é"[:1]: 0, "Ã": 1, "©": 2}, []))
    >>> tokenizer.decoder = ByteLevel()
    >>> stream = DecodeStream()
    >>> stream.step(tokenizer, 1), stream.step(tokenizer, 2)
    (None, 'é')
    """

    __slots__ = ("_ids", "_read", "_skip", "_text")

    def __init__(self, ids: "list[int] | None" = None, skip_special_tokens: bool = False) -> None:
        #: The ids that the next text may depend on, how many of them were returned, and their text.
        if isinstance(ids, str):
            raise TypeError("Can't extract `str` to `Vec`")
        self._ids = list(ids or ())
        self._read = 0
        self._text = ""
        self._skip = skip_special_tokens

    def step(self, tokenizer: Any, id: "int | list[int]") -> str | None:
        """Return the text that the next ids complete, or None."""

        def decoded(ids: list[int]) -> str:
            text: str = tokenizer.decode(ids, skip_special_tokens=self._skip)
            return text

        if not self._text and self._ids and not (before := decoded(self._ids)).endswith(_REPLACEMENT):
            self._text, self._read = before, len(self._ids)
        ids = _numbers(id)
        self._ids += ids
        text = decoded(self._ids)
        if len(text.encode()) <= len(self._text.encode()) or text.endswith(_REPLACEMENT):
            return None
        if not text.startswith(self._text):
            raise Exception(
                f"Invalid prefix encountered while decoding stream. Token ID: {ids[-1]}, Expected prefix: "
                f"'{self._text}', Actual string: '{text}'"
            )
        new = text[len(self._text) :]
        # What was returned before the last step can no longer change what follows.
        rest = self._ids[self._read :]
        self._read = len(rest)
        self._ids = rest
        self._text = decoded(rest)
        return new

    def __copy__(self) -> "DecodeStream":
        made = DecodeStream(self._ids, self._skip)
        made._read, made._text = self._read, self._text
        return made

    def __deepcopy__(self, memo: object) -> "DecodeStream":
        return self.__copy__()


def _numbers(value: Any) -> list[int]:
    """Return one id, or several, as a list."""
    try:
        return [number(value)] if hasattr(value, "__index__") else [number(id) for id in value]
    except (TypeError, OverflowError):
        raise TypeError("StreamInput must be either an integer or a list of integers") from None


def _joined_bytes(tokens: list[str]) -> Iterator[str]:
    run = bytearray()
    for token in [*tokens, None]:
        if token is not None and len(token) == 6 and (found := _BYTE.fullmatch(token)):
            run.append(int(found[1], 16))
            continue
        if run:
            try:
                yield run.decode()
            except UnicodeDecodeError:
                yield from _REPLACEMENT * len(run)
            run.clear()
        if token is not None:
            yield token


def _cleaned(text: str) -> str:
    """Return a text without the spaces before punctuation that English tokenizers leave."""
    for spaced in (" .", " ?", " !", " ,"):
        text = text.replace(spaced, spaced[1:])
    text = text.replace(" ' ", "'")
    for spaced in (" n't", " 'm"):
        text = text.replace(spaced, spaced[1:])
    text = text.replace(" do not", " don't")
    for spaced in (" 's", " 've", " 're"):
        text = text.replace(spaced, spaced[1:])
    return text
