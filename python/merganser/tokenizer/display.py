"""Display: a text cut into its tokens, for people to look at in a terminal, a notebook or a file.

A segment is what lies between two boundaries that the eye can see: mostly one token. Where tokens end inside
of a character (a letter with its accents, an emoji with its skin tone), the character is shown whole in one
segment, marked, with all its ids.

Nothing in the text can act: control characters, bidirectional overrides and characters without a width are
shown as glyphs or by number, HTML is escaped. White space has glyphs, so that padding is never taken for it.
Right-to-left text stays in its segment; in HTML segments also follow each other in the direction of the text,
while a terminal, where ids stand in columns, has them in the order of the text from left to right.

Costs what encoding costs, and some microseconds a token: for paragraphs, not for books.
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

#: Tints of blue, orange, green, red and grey that text is readable on, whether the page is light or dark.
TINTS = tuple(
    f"rgba({red},{green},{blue},.28)"
    for red, green, blue in ((0, 114, 178), (230, 120, 0), (0, 158, 115), (204, 80, 120), (128, 132, 138))
)
#: Black on a background, for terminals.
_BACKGROUNDS = ("\033[30;103m", "\033[30;102m", "\033[30;106m", "\033[30;105m", "\033[30;104m")
_GREY, _END = "\033[90m", "\033[0m"

_ISOLATE, _POP = "\u2068", "\u2069"


@dataclass(frozen=True)
class Segment:
    """A part of the text that ends where a token and a character end together."""

    text: str
    ids: tuple[int, ...]

    @property
    def split(self) -> bool:
        """Whether its characters are cut: it takes several tokens that cannot be drawn apart."""
        return len(self.ids) > 1

    @property
    def visible(self) -> str:
        shown = visible(self.text)
        return f"⟨{shown}⟩" if self.split else shown

    @property
    def numbers(self) -> str:
        return "+".join(map(str, self.ids))


@dataclass(frozen=True)
class Shown:
    """What `Tokenizer.show` gives: segments, and figures about the whole.

    `str` has colours if standard output is a terminal (and NO_COLOR is not set); notebooks and rich have
    their own.

    >>> from merganser import Tokenizer
    >>> bytes_only = Tokenizer({bytes([byte]): byte for byte in range(256)})
    >>> print(Shown.of(bytes_only, "a é"))
    a |· |⟨é⟩
    97 32 195+169
    <BLANKLINE>
    4 tokens, 3 characters, 4 bytes: 1.00 bytes per token, compression ratio 0.50 (4 bytes of text in 8 of \
ids), average token length 0.75 characters
    ⟨…⟩ is cut into several tokens in the middle of a character
    """

    segments: tuple[Segment, ...]
    #: How many bytes an id takes on disk: 2, or 4 where the vocabulary is larger than 65,536.
    id_bytes: int = 2

    @classmethod
    def of(
        cls,
        tokenizer: "Tokenizer",
        text: str,
        allowed_special: Literal["all"] | Collection[str] = (),
    ) -> "Shown":
        spans = tokenizer.encode_with_offsets(text, allowed_special=allowed_special, disallowed_special=())
        segments: list[Segment] = []
        start = 0
        ids: list[int] = []
        following = [*(begin for begin, _ in spans.chars[1:]), len(text)]
        for id, (_, end), begin in zip(spans.ids, spans.chars, following, strict=False):
            ids.append(id)
            # Of a character that is cut, every token has the whole: the next one begins before this one ends.
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
        """Bytes of the text against bytes of its ids on disk."""
        return self.bytes_per_token / self.id_bytes

    @property
    def average_token_length(self) -> float:
        """In characters."""
        return self.characters / self.tokens if self.tokens else 0.0

    @property
    def figures(self) -> dict[str, int | float]:
        """All of them, by name."""
        names = ("tokens", "characters", "bytes", "bytes_per_token", "compression_ratio")
        return {name: getattr(self, name) for name in (*names, "average_token_length")}

    @property
    def summary(self) -> str:
        """The figures, in words."""
        return (
            f"{_many(self.tokens, 'token')}, {_many(self.characters, 'character')}, "
            f"{_many(self.bytes, 'byte')}: "
            f"{self.bytes_per_token:.2f} bytes per token, compression ratio {self.compression_ratio:.2f} "
            f"({self.bytes:,} bytes of text in {self.tokens * self.id_bytes:,} of ids), "
            f"average token length {self.average_token_length:.2f} characters"
        )

    @property
    def plain(self) -> str:
        """Without colours."""
        return self._drawn(coloured=False)

    @property
    def ansi(self) -> str:
        """With the colours of a terminal."""
        return self._drawn(coloured=True)

    @property
    def html(self) -> str:
        """For any page: needs neither scripts nor style sheets, and follows the colours of the page."""
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
        """That of the first letter."""
        return next((way for way in map(direction_of, self.text) if way), "ltr")

    def runs(self) -> "list[tuple[Direction, list[Segment]]]":
        """Neighbours that are read in one direction, so that a page can put them in the right order.

        What has no direction of its own, such as punctuation, goes with its neighbours if they agree, and
        else with the whole: rules N1 and N2 of Unicode's bidirectional algorithm.
        """
        ways = [direction_of(segment.text, with_digits=True) for segment in self.segments]
        base = self.direction
        following = [base]
        for way in reversed(ways):
            following.append(way or following[-1])
        settled: list[Direction] = []
        for way, after in zip(ways, reversed(following), strict=False):
            before = settled[-1] if settled else base
            settled.append(way or (before if before == after else base))
        pairs = zip(settled, self.segments, strict=True)
        grouped = groupby(pairs, key=lambda pair: pair[0])
        return [(way, [segment for _, segment in group]) for way, group in grouped]

    def _drawn(self, coloured: bool) -> str:
        lines: list[str] = []
        nth = 0
        for row in self._rows(shutil.get_terminal_size((100, 24)).columns):
            above: list[str] = []
            below: list[str] = []
            for segment, width in row:
                shown = segment.visible
                padding = " " * (width - columns_of(shown))
                if direction_of(shown) == "rtl":
                    shown = f"{_ISOLATE}{shown}{_POP}"
                if coloured:
                    shown = f"{_BACKGROUNDS[nth % len(_BACKGROUNDS)]}{shown}{_END}"
                above.append(shown + padding)
                below.append(segment.numbers.ljust(width))
                nth += 1
            numbers = " ".join(below).rstrip()
            lines += ["|".join(above).rstrip(), f"{_GREY}{numbers}{_END}" if coloured else numbers]
        lines += ["", self.summary] if lines else [self.summary]
        if any(segment.split for segment in self.segments):
            lines.append("⟨…⟩ is cut into several tokens in the middle of a character")
        return "\n".join(lines)

    def _rows(self, columns: int) -> "Iterator[list[tuple[Segment, int]]]":
        """Segments with their widths, as many as fit in a line; a line of the text ends one as well."""
        row: list[tuple[Segment, int]] = []
        taken = 0
        for segment in self.segments:
            width = max(columns_of(segment.visible), len(segment.numbers))
            if row and taken + width > columns:
                yield row
                row, taken = [], 0
            row.append((segment, width))
            taken += width + 1
            if segment.text.endswith("\n"):
                yield row
                row, taken = [], 0
        if row:
            yield row

    def _repr_html_(self) -> str:
        return self.html

    def __str__(self) -> str:
        return self.ansi if colours_wanted() else self.plain

    def __rich__(self) -> "Text":
        from rich.text import Text

        return Text.from_ansi(self.ansi)


def colours_wanted() -> bool:
    """Whether standard output is a terminal whose owner does not object."""
    return sys.stdout is not None and sys.stdout.isatty() and not os.environ.get("NO_COLOR")


def _many(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def _cell(segment: Segment, tint: str) -> str:
    mark = "border-bottom:2px dashed;" if segment.split else ""
    return (
        f'<span style="display:inline-block;vertical-align:top;text-align:center;margin:1px;'
        f'padding:0 2px;border-radius:3px;{mark}background:{tint}">'
        f'<bdi style="white-space:pre-wrap">{html.escape(segment.visible)}</bdi>'
        f'<span style="display:block;font-size:70%;opacity:.7" dir="ltr">{segment.numbers}</span></span>'
    )
