"""How characters are displayed: visible glyphs, grapheme boundaries, direction and width.

These functions loop over characters in Python: use them for display, never for encoding.
"""

import unicodedata
from typing import Literal

Direction = Literal["ltr", "rtl"]

_JOINER = "\u200d"
_GLYPHS = {" ": "·", "\t": "⇥", "\n": "⏎", "\u00a0": "⍽", "\x7f": "␡"}


def visible(text: str) -> str:
    """Replace white space, control and invisible characters with glyphs, so that nothing hides or acts.

    >>> visible("a b\\n\\x1b\\u202e")
    'a·b⏎␛‹U+202E›'
    """
    return "".join(_glyph(text, index) for index in range(len(text)))


def inert(text: str) -> str:
    """Apply `visible` but keep spaces, for names and headings.

    >>> inert("a b\\x1b")
    'a b␛'
    """
    return " ".join(map(visible, text.split(" ")))


def _glyph(text: str, index: int) -> str:
    character = text[index]
    if character in _GLYPHS:
        return _GLYPHS[character]
    if character < " ":
        return chr(0x2400 + ord(character))
    if index == 0 and unicodedata.category(character).startswith("M"):
        return f"◌{character}"  # without a base, the mark would combine with the preceding character
    if character.isprintable() or (character == _JOINER and _joins(text, index)):
        return character
    return f"‹U+{ord(character):04X}›"


def _joins(text: str, index: int) -> bool:
    """Return whether this joiner is between two characters, as in a family emoji."""
    return 0 < index < len(text) - 1 and text[index - 1].isprintable() and text[index + 1].isprintable()


def is_boundary(text: str, index: int) -> bool:
    """Return whether `index` is between two graphemes; an approximation of Unicode's grapheme clusters."""
    if index == len(text):
        return True
    before, after = text[index - 1], text[index]
    if _JOINER in (before, after) or "\U0001f3fb" <= after <= "\U0001f3ff":
        return before.isspace()
    if unicodedata.category(after).startswith("M"):
        return before.isspace() or not before.isprintable()
    if _is_flag(before) and _is_flag(after):
        start = index
        while start and _is_flag(text[start - 1]):
            start -= 1
        return (index - start) % 2 == 0
    return True


def _is_flag(character: str) -> bool:
    """Return whether a character is a regional indicator, two of which form a flag."""
    return "\U0001f1e6" <= character <= "\U0001f1ff"


def direction_of(text: str, with_digits: bool = False) -> Direction | None:
    """Return the direction of the first character that has one. Digits are left to right in every script."""
    for character in text:
        kind = unicodedata.bidirectional(character)
        if kind == "L" or (with_digits and kind in ("EN", "AN")):
            return "ltr"
        if kind in ("R", "AL"):
            return "rtl"
    return None


def columns_of(text: str) -> int:
    """Return the width of a text in terminal columns."""
    if text.isascii():
        return len(text)
    from rich.cells import cell_len

    return cell_len(text)
