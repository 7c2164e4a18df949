"""Tokens and figures for people to look at."""

import json
from typing import TYPE_CHECKING, Any

import click

from merganser.formats.tsv import escape

if TYPE_CHECKING:
    from rich.text import Text

#: Backgrounds that dark text can be read on, in every terminal.
_COLOURS = ("bright_yellow", "bright_green", "bright_cyan", "bright_magenta", "bright_blue")


def as_json(value: dict[str, Any]) -> None:
    click.echo(json.dumps(value, ensure_ascii=False))


def token(piece: bytes) -> str:
    """One token on one line; spaces at its ends stay visible."""
    return escape(piece).replace(" ", "·")


def coloured(tokens: list[bytes]) -> "Text":
    """A text with each token on a background of its own."""
    from rich.text import Text

    text = Text()
    for nth, piece in enumerate(tokens):
        # A token may end in the middle of a character, so it is escaped; a newline must still break the line.
        shown = "⏎\n".join(escape(line) for line in piece.split(b"\n"))
        text.append(shown, style=f"black on {_COLOURS[nth % len(_COLOURS)]}")
    return text
