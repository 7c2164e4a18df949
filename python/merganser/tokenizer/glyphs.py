"""Glyphs: how characters look, and which of them can be drawn apart.

Works on single characters, in Python: for what is shown, never for what is encoded.
"""

import unicodedata
from typing import Literal

Direction = Literal["ltr", "rtl"]

_JOINER = "\u200d"
_GLYPHS = {" ": "·", "\t": "⇥", "\n": "⏎", "\u00a0": "⍽", "\x7f": "␡"}


def visible(text: str) -> str:
    """The text with a glyph for all that has none, so that it neither hides nor acts.

    >>> visible("a b\\n\\x1b\\u202e")
    'a·b⏎␛‹U+202E›'
    """
    return "".join(_glyph(text, place) for place in range(len(text)))


def inert(text: str) -> str:
    """The same with spaces as they are: for names and headings.

    >>> inert("a b\\x1b")
    'a b␛'
    """
    return " ".join(map(visible, text.split(" ")))


def _glyph(text: str, place: int) -> str:
    character = text[place]
    if character in _GLYPHS:
        return _GLYPHS[character]
    if character < " ":
        return chr(0x2400 + ord(character))
    if place == 0 and unicodedata.category(character).startswith("M"):
        return f"◌{character}"  # it would sit on whatever stands before
    if character.isprintable() or (character == _JOINER and _joins(text, place)):
        return character
    return f"‹U+{ord(character):04X}›"


def _joins(text: str, place: int) -> bool:
    """Whether this joiner stands between two characters, as in the emoji of a family."""
    return 0 < place < len(text) - 1 and text[place - 1].isprintable() and text[place + 1].isprintable()


def is_boundary(text: str, place: int) -> bool:
    """Whether a reader sees two characters here: roughly Unicode's grapheme clusters."""
    if place == len(text):
        return True
    before, after = text[place - 1], text[place]
    if _JOINER in (before, after) or "\U0001f3fb" <= after <= "\U0001f3ff":
        return before.isspace()
    if unicodedata.category(after).startswith("M"):
        return before.isspace() or not before.isprintable()
    if _is_flag(before) and _is_flag(after):
        run = place
        while run and _is_flag(text[run - 1]):
            run -= 1
        return (place - run) % 2 == 0
    return True


def _is_flag(character: str) -> bool:
    """Whether it is one of the letters that make a flag in pairs."""
    return "\U0001f1e6" <= character <= "\U0001f1ff"


def direction_of(text: str, with_digits: bool = False) -> Direction | None:
    """The direction of the first character that has one. Numbers run from left to right everywhere."""
    for character in text:
        kind = unicodedata.bidirectional(character)
        if kind == "L" or (with_digits and kind in ("EN", "AN")):
            return "ltr"
        if kind in ("R", "AL"):
            return "rtl"
    return None


def columns_of(text: str) -> int:
    """How many columns it takes in a terminal."""
    if text.isascii():
        return len(text)
    from rich.cells import cell_len

    return cell_len(text)
