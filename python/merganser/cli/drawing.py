"""Tokens and figures for people to look at."""

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unicodedata import east_asian_width

import click

from merganser.tokenizer.escaping import escape

if TYPE_CHECKING:
    from rich.text import Text

#: How wide a line may be.
WIDTH = 80
#: Backgrounds that dark text can be read on, in every terminal.
_COLOURS = ("bright_yellow", "bright_green", "bright_cyan", "bright_magenta", "bright_blue")


def as_json(value: dict[str, Any]) -> None:
    click.echo(json.dumps(value, ensure_ascii=False))


def token(pretoken: bytes) -> str:
    """One token on one line; spaces at its ends stay visible."""
    return escape(pretoken).replace(" ", "·")


def short_token(pretoken: bytes, room: int) -> str:
    """The same in `room` columns: of a longer token the beginning, and how many bytes it has.

    >>> short_token(b"-" * 500, 30)
    '-----------------… (500 bytes)'
    """
    shown = token(pretoken)
    if cells(shown) <= room:
        return shown
    end = f"… ({len(pretoken):,} bytes)"
    while cells(shown) + len(end) > room and shown:
        shown = shown[: min(len(shown) - 1, room - len(end))]
    return shown + end


def cells(text: str) -> int:
    """How many columns a text takes in a terminal: East Asian wide characters take two."""
    return sum(1 + (east_asian_width(character) in "WF") for character in text)


def short_path(place: str | os.PathLike[str], room: int) -> str:
    """A path for people, in `room` columns: below the current folder or the home folder if it is there.

    >>> short_path("/data/corpora/of/a/very/long/name/tokenizer.merganser", 40)
    '/data/corpora/of/a/…/tokenizer.merganser'
    """
    path = Path(place)
    if path.is_absolute():
        if path.is_relative_to(Path.cwd()):
            path = path.relative_to(Path.cwd())
        elif path.is_relative_to(Path.home()):
            path = "~" / path.relative_to(Path.home())
    shown = str(path)
    if len(shown) <= room:
        return shown
    name = path.name if len(path.name) < room - 8 else path.name[-(room // 2) :]
    tail = f"…/{name}" if name == path.name else f"…{name}"
    return shown[: room - len(tail)] + tail


def with_path(before: str, place: str | os.PathLike[str], after: str = "") -> str:
    """A line that names a path, and fits a terminal of 80 columns."""
    return f"{before}{short_path(place, max(WIDTH - len(before) - len(after), 20))}{after}"


def coloured(tokens: list[bytes]) -> "Text":
    """A text with each token on a background of its own."""
    from rich.text import Text

    text = Text()
    for nth, pretoken in enumerate(tokens):
        # A token may end in the middle of a character, so it is escaped; a newline must still break the line.
        shown = "⏎\n".join(escape(line) for line in pretoken.split(b"\n"))
        text.append(shown, style=f"black on {_COLOURS[nth % len(_COLOURS)]}")
    return text
