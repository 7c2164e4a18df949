"""Normalizers: what happens to a text before it is split."""

import base64
import json
from collections.abc import Callable
from typing import Any, ClassVar

from merganser import _core
from merganser.compat.tokenizers import patterns
from merganser.compat.tokenizers.components import Chain, Component
from merganser.formats import gpt2, stages

__all__ = [
    "NFC",
    "NFD",
    "NFKC",
    "NFKD",
    "BertNormalizer",
    "ByteLevel",
    "Lowercase",
    "Nmt",
    "Normalizer",
    "Precompiled",
    "Prepend",
    "Replace",
    "Sequence",
    "Strip",
    "StripAccents",
    "unicode_normalizer_from_str",
]


class Normalizer(Component):
    """What all normalizers have in common.

    Examples
    --------
    >>> Sequence([NFC(), Lowercase()]).normalize_str("ÀB")
    'àb'
    """

    __slots__ = ()
    kinds: ClassVar[dict[str, type[Component]]] = {}
    kind = "normalizer"

    def normalize_str(self, sequence: str) -> str:
        """Return the normalized text."""
        return self._compiled()(sequence)

    def normalize(self, normalized: Any) -> None:
        """Raise an error: stages in Python are not supported."""
        raise NotImplementedError("merganser has no NormalizedString; use normalize_str")

    def _compiled(self) -> Callable[[str], str]:
        """Return the function that normalizes texts."""
        parts = stages.flattened(self._as_json(), "normalizer")
        spells = [part["type"] == "ByteLevel" for part in parts]
        if not any(spells):
            return _core.Stages(json.dumps(stages.sequence(parts, "normalizer")), "null").normalize
        native = [
            spell or _core.Stages(json.dumps(part), "null") for part, spell in zip(parts, spells, strict=True)
        ]

        def normalize(text: str) -> str:
            for step in native:
                text = gpt2.to_printable(text.encode()) if step is True else step.normalize(text)
            return text

        return normalize

    @staticmethod
    def custom(obj: Any) -> "Normalizer":
        """Raise an error: stages in Python are not supported."""
        raise NotImplementedError("merganser has no normalizers in Python; combine those of this module")


class NFC(Normalizer):
    """Unicode's form NFC."""

    __slots__ = ()
    FIELDS: ClassVar[dict[str, Any]] = {}


class NFD(Normalizer):
    """Unicode's form NFD."""

    __slots__ = ()
    FIELDS: ClassVar[dict[str, Any]] = {}


class NFKC(Normalizer):
    """Unicode's form NFKC."""

    __slots__ = ()
    FIELDS: ClassVar[dict[str, Any]] = {}


class NFKD(Normalizer):
    """Unicode's form NFKD."""

    __slots__ = ()
    FIELDS: ClassVar[dict[str, Any]] = {}


class Nmt(Normalizer):
    """The rules of neural machine translation: control characters are removed or become spaces."""

    __slots__ = ()
    FIELDS: ClassVar[dict[str, Any]] = {}


class Lowercase(Normalizer):
    """Lower case."""

    __slots__ = ()
    FIELDS: ClassVar[dict[str, Any]] = {}


class StripAccents(Normalizer):
    """Remove combining marks; after NFD."""

    __slots__ = ()
    FIELDS: ClassVar[dict[str, Any]] = {}


class ByteLevel(Normalizer):
    """Spell each byte as a printable character."""

    __slots__ = ()
    FIELDS: ClassVar[dict[str, Any]] = {}


class BertNormalizer(Normalizer):
    """BERT's normalizer."""

    __slots__ = ()
    FIELDS: ClassVar[dict[str, Any]] = {
        "clean_text": True,
        "handle_chinese_chars": True,
        "strip_accents": None,
        "lowercase": True,
    }

    def __init__(
        self,
        clean_text: bool = True,
        handle_chinese_chars: bool = True,
        strip_accents: bool | None = None,
        lowercase: bool = True,
    ) -> None:
        super().__init__(
            clean_text=clean_text,
            handle_chinese_chars=handle_chinese_chars,
            strip_accents=strip_accents,
            lowercase=lowercase,
        )


class Strip(Normalizer):
    """Remove white space at the ends."""

    __slots__ = ()
    FIELDS: ClassVar[dict[str, Any]] = {"strip_left": True, "strip_right": True}

    def __init__(self, left: bool = True, right: bool = True) -> None:
        super().__init__(strip_left=left, strip_right=right)

    @property
    def left(self) -> bool:
        """Whether white space before the text is removed."""
        return bool(self._fields["strip_left"])

    @property
    def right(self) -> bool:
        """Whether white space after the text is removed."""
        return bool(self._fields["strip_right"])

    def __setattr__(self, name: str, value: Any) -> None:
        super().__setattr__({"left": "strip_left", "right": "strip_right"}.get(name, name), value)


class Prepend(Normalizer):
    """Put a string before the text."""

    __slots__ = ()
    FIELDS: ClassVar[dict[str, Any]] = {"prepend": "▁"}

    def __init__(self, prepend: str = "▁") -> None:
        super().__init__(prepend=prepend)


class Replace(Normalizer):
    """Replace what a pattern matches."""

    __slots__ = ()
    FIELDS: ClassVar[dict[str, Any]] = {"pattern": None, "content": ""}

    def __init__(self, pattern: "str | patterns.Regex", content: str) -> None:
        super().__init__(pattern=patterns.as_json(pattern), content=content)

    def __getattr__(self, name: str) -> Any:
        patterns.hidden(name, "get")
        return super().__getattr__(name)

    def __setattr__(self, name: str, value: Any) -> None:
        patterns.hidden(name, "set")
        super().__setattr__(name, value)


class Precompiled(Normalizer):
    """The rules of a SentencePiece model."""

    __slots__ = ()
    FIELDS: ClassVar[dict[str, Any]] = {"precompiled_charsmap": ""}

    def __init__(self, precompiled_charsmap: bytes | list[int]) -> None:
        encoded = base64.b64encode(bytes(precompiled_charsmap)).decode()
        super().__init__(precompiled_charsmap=encoded)


class Sequence(Chain, Normalizer):
    """Several normalizers, one after the other."""

    __slots__ = ()
    FIELDS: ClassVar[dict[str, Any]] = {"normalizers": ()}
    KEY = "normalizers"

    def __init__(self, normalizers: list[Any]) -> None:
        super().__init__(normalizers)


def unicode_normalizer_from_str(normalizer: str) -> Normalizer:
    """Return a Unicode form by its name: "nfc", "nfd", "nfkc" or "nfkd"."""
    forms = {"nfc": NFC, "nfd": NFD, "nfkc": NFKC, "nfkd": NFKD}
    if normalizer not in forms:
        raise ValueError(f"{normalizer} is not a known unicode normalizer. Available are {forms.keys()}")
    return forms[normalizer]()
