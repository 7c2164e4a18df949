"""Inputs: the types of what is encoded, for annotations, and the choices of stages in Python."""

from enum import Enum
from typing import TypeAlias

Offsets: TypeAlias = tuple[int, int]
TextInputSequence: TypeAlias = str
PreTokenizedInputSequence: TypeAlias = list[str] | tuple[str, ...]
InputSequence: TypeAlias = TextInputSequence | PreTokenizedInputSequence
TextEncodeInput: TypeAlias = (
    TextInputSequence | tuple[TextInputSequence, TextInputSequence] | list[TextInputSequence]
)
PreTokenizedEncodeInput: TypeAlias = (
    PreTokenizedInputSequence
    | tuple[PreTokenizedInputSequence, PreTokenizedInputSequence]
    | list[PreTokenizedInputSequence]
)
EncodeInput: TypeAlias = TextEncodeInput | PreTokenizedEncodeInput


class OffsetReferential(Enum):
    """The text that offsets refer to."""

    ORIGINAL = "original"
    NORMALIZED = "normalized"


class OffsetType(Enum):
    """What offsets count."""

    BYTE = "byte"
    CHAR = "char"


class SplitDelimiterBehavior(Enum):
    """What happens to the text that a pattern matches."""

    REMOVED = "removed"
    ISOLATED = "isolated"
    MERGED_WITH_PREVIOUS = "merged_with_previous"
    MERGED_WITH_NEXT = "merged_with_next"
    CONTIGUOUS = "contiguous"
