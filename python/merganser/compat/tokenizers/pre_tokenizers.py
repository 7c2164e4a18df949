"""Pre-tokenizers: how a text is split before anything is merged."""

import json
from typing import Any, ClassVar

from merganser import _core
from merganser.compat.tokenizers import patterns
from merganser.compat.tokenizers.components import Chain, Component, one_character
from merganser.formats import gpt2, stages

__all__ = [
    "BertPreTokenizer",
    "ByteLevel",
    "CharDelimiterSplit",
    "Digits",
    "FixedLength",
    "Metaspace",
    "PreTokenizer",
    "Punctuation",
    "Sequence",
    "Split",
    "UnicodeScripts",
    "Whitespace",
    "WhitespaceSplit",
]

_BEHAVIORS = {
    "removed": "Removed",
    "isolated": "Isolated",
    "merged_with_previous": "MergedWithPrevious",
    "merged_with_next": "MergedWithNext",
    "contiguous": "Contiguous",
}
_SCHEMES = ("first", "never", "always")


class PreTokenizer(Component):
    """What all pre-tokenizers have in common.

    Examples
    --------
    >>> Whitespace().pre_tokenize_str("Hi there!")
    [('Hi', (0, 2)), ('there', (3, 8)), ('!', (8, 9))]
    """

    __slots__ = ()
    kinds: ClassVar[dict[str, type[Component]]] = {}
    kind = "pre-tokenizer"

    def pre_tokenize_str(self, s: str) -> list[tuple[str, tuple[int, int]]]:
        """Return the pre-tokens of a text, each with the characters that it comes from."""
        parts = stages.flattened(self._as_json(), "pre_tokenizer")
        if not parts:
            return [(s, (0, len(s)))]
        spelled = stages.has(parts, "ByteLevel")
        native = _core.Stages("null", json.dumps(stages.sequence(parts, "pre_tokenizer")))
        return [
            (gpt2.to_printable(pretoken) if spelled else pretoken.decode(), span)
            for pretoken, span in native.pretokenize(s)
        ]

    def pre_tokenize(self, pretok: Any) -> None:
        """Raise an error: stages in Python are not supported."""
        raise NotImplementedError("merganser has no PreTokenizedString; use pre_tokenize_str")

    @staticmethod
    def custom(pretok: Any) -> "PreTokenizer":
        """Raise an error: stages in Python are not supported."""
        raise NotImplementedError("merganser has no pre-tokenizers in Python; combine those of this module")


class BertPreTokenizer(PreTokenizer):
    """Split at white space and isolate punctuation, as BERT does."""

    __slots__ = ()
    FIELDS: ClassVar[dict[str, Any]] = {}


class Whitespace(PreTokenizer):
    """Split by the pattern `\\w+|[^\\w\\s]+`."""

    __slots__ = ()
    FIELDS: ClassVar[dict[str, Any]] = {}


class WhitespaceSplit(PreTokenizer):
    """Split at white space."""

    __slots__ = ()
    FIELDS: ClassVar[dict[str, Any]] = {}


class UnicodeScripts(PreTokenizer):
    """Split where scripts meet; merganser can hold this stage, but not run it."""

    __slots__ = ()
    FIELDS: ClassVar[dict[str, Any]] = {}


class ByteLevel(PreTokenizer):
    """Spell each byte as a printable character, after splitting by GPT-2's pattern."""

    __slots__ = ()
    FIELDS: ClassVar[dict[str, Any]] = {"add_prefix_space": True, "trim_offsets": True, "use_regex": True}

    def __init__(
        self,
        add_prefix_space: bool = True,
        use_regex: bool = True,
        trim_offsets: bool = True,
        **ignored: Any,
    ) -> None:
        super().__init__(add_prefix_space=add_prefix_space, use_regex=use_regex, trim_offsets=trim_offsets)

    @staticmethod
    def alphabet() -> list[str]:
        """Return the characters that spell the 256 bytes."""
        return [gpt2.to_printable(bytes([byte])) for byte in range(256)]


class CharDelimiterSplit(PreTokenizer):
    """Split at one character."""

    __slots__ = ()
    FIELDS: ClassVar[dict[str, Any]] = {"delimiter": " "}

    def __init__(self, delimiter: str) -> None:
        super().__init__(delimiter=one_character(delimiter))


class Digits(PreTokenizer):
    """Isolate numbers, or digits."""

    __slots__ = ()
    FIELDS: ClassVar[dict[str, Any]] = {"individual_digits": False}

    def __init__(self, individual_digits: bool = False) -> None:
        super().__init__(individual_digits=individual_digits)


class FixedLength(PreTokenizer):
    """Split into parts of a length."""

    __slots__ = ()
    FIELDS: ClassVar[dict[str, Any]] = {"length": 5}

    def __init__(self, length: int = 5) -> None:
        super().__init__(length=length)


class Metaspace(PreTokenizer):
    """Replace spaces by `▁`, and split before it."""

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


class Punctuation(PreTokenizer):
    """Isolate punctuation, or treat it otherwise."""

    __slots__ = ()
    FIELDS: ClassVar[dict[str, Any]] = {"behavior": "Isolated"}

    def __init__(self, behavior: str = "isolated") -> None:
        super().__init__(behavior=_behavior(behavior))

    def __getattr__(self, name: str) -> Any:
        value = super().__getattr__(name)
        return _spelled(value) if name == "behavior" else value

    def __setattr__(self, name: str, value: Any) -> None:
        super().__setattr__(name, _behavior(value) if name == "behavior" else value)


class Split(PreTokenizer):
    """Split by a pattern."""

    __slots__ = ()
    FIELDS: ClassVar[dict[str, Any]] = {"pattern": None, "behavior": "Removed", "invert": False}

    def __init__(self, pattern: "str | patterns.Regex", behavior: str, invert: bool = False) -> None:
        super().__init__(pattern=patterns.as_json(pattern), behavior=_behavior(behavior), invert=invert)

    def __getattr__(self, name: str) -> Any:
        patterns.hidden(name, "get")
        value = super().__getattr__(name)
        return _spelled(value) if name == "behavior" else value

    def __setattr__(self, name: str, value: Any) -> None:
        patterns.hidden(name, "set")
        super().__setattr__(name, _behavior(value) if name == "behavior" else value)


class Sequence(Chain, PreTokenizer):
    """Several pre-tokenizers, one after the other."""

    __slots__ = ()
    FIELDS: ClassVar[dict[str, Any]] = {"pretokenizers": ()}
    KEY = "pretokenizers"

    def __init__(self, pre_tokenizers: list[Any]) -> None:
        super().__init__(pre_tokenizers)


def checked_scheme(scheme: str) -> str:
    """Return where Metaspace puts its symbol; raise a `ValueError` for anything else."""
    if scheme not in _SCHEMES:
        raise ValueError(f"{scheme} is an unknown variant, should be one of {list(_SCHEMES)}")
    return scheme


def with_scheme(fields: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of a Metaspace in the form of today, if an old version wrote them."""
    scheme = "never" if fields.get("add_prefix_space") is False else "always"
    return {"prepend_scheme": scheme, **fields}


def _behavior(name: str) -> str:
    if name in _BEHAVIORS.values():
        return name
    if name not in _BEHAVIORS:
        raise ValueError(
            f"Wrong value for SplitDelimiterBehavior, expected one of: `{', '.join(_BEHAVIORS)}`"
        )
    return _BEHAVIORS[name]


def _spelled(behavior: str) -> str:
    return behavior.lower()  # which is not what the constructor takes, but what the library returns
