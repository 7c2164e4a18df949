"""Display how a text is tokenized, in a terminal, a notebook or a file.

A segment is the text between two visible boundaries: usually one token. Where tokens end in the middle of a
character (a letter with its accents, an emoji with its skin tone), one marked segment shows the whole
character with all its ids.

The text cannot affect the display: control characters, bidirectional overrides and zero-width characters are
drawn as glyphs or code points, and HTML is escaped. White space has glyphs, to distinguish it from padding.
Right-to-left text stays inside its segment. In HTML, segments follow the direction of the text; in a
terminal, where the ids are aligned in columns, they run from left to right.

Costs as much as encoding, plus a few microseconds per token: suitable for paragraphs, not for books.
"""

import html
import os
import shutil
import sys
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Literal

from merganser.tokenizer.glyphs import Direction, columns_of, direction_of, is_boundary, visible

if TYPE_CHECKING:
    from rich.text import Text

    from merganser.tokenizer.value import Tokenizer

#: Tints of blue, orange, green, red and gray on which text is readable, on light and dark pages.
TINTS = tuple(
    f"rgba({red},{green},{blue},.28)"
    for red, green, blue in ((0, 114, 178), (230, 120, 0), (0, 158, 115), (204, 80, 120), (128, 132, 138))
)
#: Black text on a colored background, for terminals.
_BACKGROUNDS = ("\033[30;103m", "\033[30;102m", "\033[30;106m", "\033[30;105m", "\033[30;104m")
_GRAY, _END = "\033[90m", "\033[0m"

_ISOLATE, _POP = "\u2068", "\u2069"


@dataclass(frozen=True)
class Segment:
    """A part of the text that ends where both a token and a character end."""

    text: str
    ids: tuple[int, ...]

    @property
    def split(self) -> bool:
        """Whether a character is split between several tokens, which cannot be drawn separately."""
        return len(self.ids) > 1

    @property
    def visible(self) -> str:
        text = visible(self.text)
        return f"⟨{text}⟩" if self.split else text

    @property
    def numbers(self) -> str:
        return "+".join(map(str, self.ids))


@dataclass(frozen=True)
class TokenDisplay:
    """The result of `Tokenizer.show`: the segments of a text, and figures about the whole.

    `str` is in color if standard output is a terminal and `NO_COLOR` is not set. Notebooks and rich render it
    in color too.

    Attributes
    ----------
    segments : tuple of Segment
        The text in parts, each with its ids.
    id_bytes : int
        The bytes that an id takes on disk: 2, or 4 if the vocabulary is larger than 65,536.

    Examples
    --------
    >>> from merganser import Tokenizer
    >>> bytes_only = Tokenizer({bytes([byte]): byte for byte in range(256)})
    >>> print(TokenDisplay.of(bytes_only, "a é"))
    a |· |⟨é⟩
    97 32 195+169
    <BLANKLINE>
    4 tokens, 3 characters, 4 bytes: 1.00 bytes per token, compression ratio 0.50 (4 bytes of text in 8 of \
ids), average token length 0.75 characters
    ⟨…⟩ marks a character that is split between several tokens
    """

    segments: tuple[Segment, ...]
    id_bytes: int = 2

    @classmethod
    def of(
        cls,
        tokenizer: "Tokenizer",
        text: str,
        allowed_special: Literal["all"] | Collection[str] = (),
    ) -> "TokenDisplay":
        """Tokenize a text; see `Tokenizer.show`."""
        spans = tokenizer.encode_with_offsets(text, allowed_special=allowed_special, disallowed_special=())
        segments: list[Segment] = []
        start = 0
        ids: list[int] = []
        following = [*(begin for begin, _ in spans.chars[1:]), len(text)]
        for id, (_, end), begin in zip(spans.ids, spans.chars, following, strict=False):
            ids.append(id)
            # Tokens that share a character all span the whole of it, so the next one begins before this ends.
            if begin == end and is_boundary(text, end):
                segments.append(Segment(text[start:end], tuple(ids)))
                start, ids = end, []
        return cls(tuple(segments), 2 if tokenizer.next_id <= 1 << 16 else 4)

    @property
    def text(self) -> str:
        return "".join(segment.text for segment in self.segments)

    @property
    def ids(self) -> tuple[int, ...]:
        return tuple(id for segment in self.segments for id in segment.ids)

    @property
    def tokens(self) -> int:
        return sum(len(segment.ids) for segment in self.segments)

    @property
    def characters(self) -> int:
        return len(self.text)

    @property
    def bytes(self) -> int:
        return len(self.text.encode())

    @property
    def bytes_per_token(self) -> float:
        return self.bytes / self.tokens if self.tokens else 0.0

    @property
    def compression_ratio(self) -> float:
        """The bytes of the text divided by the bytes of its ids on disk."""
        return self.bytes_per_token / self.id_bytes

    @property
    def average_token_length(self) -> float:
        """The average number of characters per token."""
        return self.characters / self.tokens if self.tokens else 0.0

    @property
    def figures(self) -> dict[str, int | float]:
        """All figures by name."""
        names = ("tokens", "characters", "bytes", "bytes_per_token", "compression_ratio")
        return {name: getattr(self, name) for name in (*names, "average_token_length")}

    @property
    def summary(self) -> str:
        """The figures in a sentence."""
        return (
            f"{_plural(self.tokens, 'token')}, {_plural(self.characters, 'character')}, "
            f"{_plural(self.bytes, 'byte')}: "
            f"{self.bytes_per_token:.2f} bytes per token, compression ratio {self.compression_ratio:.2f} "
            f"({self.bytes:,} bytes of text in {self.tokens * self.id_bytes:,} of ids), "
            f"average token length {self.average_token_length:.2f} characters"
        )

    @property
    def plain(self) -> str:
        """The display as plain text."""
        return self._render(color=False)

    @property
    def ansi(self) -> str:
        """The display in terminal colors."""
        return self._render(color=True)

    @property
    def html(self) -> str:
        """The display as HTML that needs no scripts or style sheets and adapts to the colors of the page."""
        nth = 0
        runs: list[str] = []
        for direction, segments in self.runs():
            cells: list[str] = []
            for segment in segments:
                cells.append(_cell(segment, TINTS[nth % len(TINTS)]))
                cells.append("<br>" if segment.text.endswith("\n") else "")
                nth += 1
            runs.append(f'<span dir="{direction}">{"".join(cells)}</span>')
        return (
            f'<div style="font-family:monospace;line-height:1.3" dir="{self.direction}">{"".join(runs)}</div>'
            f'<div style="opacity:.75">{html.escape(self.summary)}</div>'
        )

    @property
    def direction(self) -> Direction:
        """The direction of the first letter."""
        return next((direction for direction in map(direction_of, self.text) if direction), "ltr")

    def runs(self) -> "list[tuple[Direction, list[Segment]]]":
        """Group neighboring segments by direction, so that a page can order them.

        A segment without a direction, such as punctuation, takes that of its neighbors if they agree, or else
        that of the text: rules N1 and N2 of Unicode's bidirectional algorithm.
        """
        directions = [direction_of(segment.text, with_digits=True) for segment in self.segments]
        base = self.direction
        following = [base]
        for direction in reversed(directions):
            following.append(direction or following[-1])
        resolved: list[Direction] = []
        for direction, after in zip(directions, reversed(following), strict=False):
            before = resolved[-1] if resolved else base
            resolved.append(direction or (before if before == after else base))
        pairs = zip(resolved, self.segments, strict=True)
        grouped = groupby(pairs, key=lambda pair: pair[0])
        return [(direction, [segment for _, segment in group]) for direction, group in grouped]

    def _render(self, color: bool) -> str:
        lines: list[str] = []
        nth = 0
        for row in self._rows(shutil.get_terminal_size((100, 24)).columns):
            above: list[str] = []
            below: list[str] = []
            for segment, width in row:
                text = segment.visible
                padding = " " * (width - columns_of(text))
                if direction_of(text) == "rtl":
                    text = f"{_ISOLATE}{text}{_POP}"
                if color:
                    text = f"{_BACKGROUNDS[nth % len(_BACKGROUNDS)]}{text}{_END}"
                above.append(text + padding)
                below.append(segment.numbers.ljust(width))
                nth += 1
            numbers = " ".join(below).rstrip()
            lines += ["|".join(above).rstrip(), f"{_GRAY}{numbers}{_END}" if color else numbers]
        lines += ["", self.summary] if lines else [self.summary]
        if any(segment.split for segment in self.segments):
            lines.append("⟨…⟩ marks a character that is split between several tokens")
        return "\n".join(lines)

    def _rows(self, columns: int) -> "Iterator[list[tuple[Segment, int]]]":
        """Yield rows of segments with their widths; a row ends when it is full or at a newline."""
        row: list[tuple[Segment, int]] = []
        used = 0
        for segment in self.segments:
            width = max(columns_of(segment.visible), len(segment.numbers))
            if row and used + width > columns:
                yield row
                row, used = [], 0
            row.append((segment, width))
            used += width + 1
            if segment.text.endswith("\n"):
                yield row
                row, used = [], 0
        if row:
            yield row

    def _repr_html_(self) -> str:
        return self.html

    def __str__(self) -> str:
        return self.ansi if use_color() else self.plain

    def __rich__(self) -> "Text":
        from rich.text import Text

        return Text.from_ansi(self.ansi)


def use_color() -> bool:
    """Return whether standard output is a terminal and `NO_COLOR` is not set."""
    return sys.stdout is not None and sys.stdout.isatty() and not os.environ.get("NO_COLOR")


def _plural(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def _cell(segment: Segment, tint: str) -> str:
    mark = "border-bottom:2px dashed;" if segment.split else ""
    return (
        f'<span style="display:inline-block;vertical-align:top;text-align:center;margin:1px;'
        f'padding:0 2px;border-radius:3px;{mark}background:{tint}">'
        f'<bdi style="white-space:pre-wrap">{html.escape(segment.visible)}</bdi>'
        f'<span style="display:block;font-size:70%;opacity:.7" dir="ltr">{segment.numbers}</span></span>'
    )
