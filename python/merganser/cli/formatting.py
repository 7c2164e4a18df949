"""Output of the command line: JSON, and tokens and paths that fit 80 columns."""

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unicodedata import east_asian_width

import click

from merganser.cli.verbosity import is_quiet
from merganser.tokenizer import glyphs
from merganser.tokenizer.escaping import escape

if TYPE_CHECKING:
    from rich.text import Text

#: The maximum width of a line.
WIDTH = 80
#: Backgrounds on which dark text is readable in every terminal.
_COLORS = ("bright_yellow", "bright_green", "bright_cyan", "bright_magenta", "bright_blue")


def print_json(value: dict[str, Any]) -> None:
    click.echo(json.dumps(value, ensure_ascii=False))


def escape_token(token: bytes) -> str:
    """Escape a token to one line with visible spaces."""
    return escape(token).replace(" ", "·")


def short_token(token: bytes, width: int) -> str:
    """Escape a token in at most `width` columns; a longer one is cut and followed by its size.

    >>> short_token(b"-" * 500, 30)
    '-----------------… (500 bytes)'
    """
    escaped = escape_token(token)
    if cells(escaped) <= width:
        return escaped
    end = f"… ({len(token):,} bytes)"
    while cells(escaped) + len(end) > width and escaped:
        escaped = escaped[: min(len(escaped) - 1, width - len(end))]
    return escaped + end


def count(number: int, noun: str) -> str:
    """Format a number with a noun: `1 document`, `2,000 documents`."""
    return f"{number:,} {noun}{'s' * (number != 1)}"


def cells(text: str) -> int:
    """Return the width of a text in terminal columns: East Asian wide characters take two."""
    return sum(1 + (east_asian_width(character) in "WF") for character in text)


def inert(text: str) -> str:
    """Show control and invisible characters as glyphs, except line breaks: names and messages must not act.

    >>> inert("no file a\\x1b[2J\\ncheck the path")
    'no file a␛[2J\\ncheck the path'
    """
    return "\n".join(map(glyphs.inert, text.split("\n")))


def short_path(path: str | os.PathLike[str], width: int) -> str:
    """Shorten a path to `width` columns, relative to the current or home folder if it is inside.

    >>> short_path("/data/corpora/of/a/very/long/name/tokenizer.merganser", 40)
    '/data/corpora/of/a/…/tokenizer.merganser'
    """
    path = Path(path)
    if path.is_absolute():
        if path.is_relative_to(Path.cwd()):
            path = path.relative_to(Path.cwd())
        elif path.is_relative_to(Path.home()):
            path = "~" / path.relative_to(Path.home())
    shown, own = glyphs.inert(str(path)), glyphs.inert(path.name)
    if len(shown) <= width:
        return shown
    name = own if len(own) < width - 8 else own[-(width // 2) :]
    tail = f"…/{name}" if name == own else f"…{name}"
    return shown[: width - len(tail)] + tail


def with_path(before: str, path: str | os.PathLike[str], after: str = "") -> str:
    """Return a line with a path, shortened to 80 columns."""
    return f"{before}{short_path(path, max(WIDTH - len(before) - len(after), 20))}{after}"


def colored(tokens: list[bytes]) -> "Text":
    """Return a text with alternating background colors for its tokens."""
    from rich.text import Text

    text = Text()
    for nth, token in enumerate(tokens):
        # A token may end inside a character, so escape it; a newline must still break the line.
        escaped = "⏎\n".join(escape(line) for line in token.split(b"\n"))
        text.append(escaped, style=f"black on {_COLORS[nth % len(_COLORS)]}")
    return text


def note_invalid_bytes(number: int) -> None:
    """Print a note if a corpus had bytes that are not valid UTF-8."""
    if number and not is_quiet():
        click.echo(f"note: {count(number, 'byte')} of invalid UTF-8; each became a pre-token", err=True)
