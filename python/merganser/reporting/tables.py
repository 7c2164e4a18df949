"""Tables, written as JSON, Markdown and CSV."""

import csv
import io
import json
from dataclasses import dataclass

from merganser.tokenizer.glyphs import inert

Cell = str | int | float | None


@dataclass(frozen=True)
class Table:
    """A table of text and numbers.

    >>> table = Table(("text", "tokens"), (("a|b", 1234), ("c", 0.5)))
    >>> print(table.markdown(), end="")
    | text | tokens |
    |---|---:|
    | a\\|b | 1,234 |
    | c | 0.500 |
    """

    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]

    def json(self) -> str:
        columns: list[str] = []
        for column in self.columns:
            name, nth = column, 2
            while name in columns:  # a tokenizer may have the name of a column
                name, nth = f"{column} ({nth})", nth + 1
            columns.append(name)
        rows = [dict(zip(columns, row, strict=True)) for row in self.rows]
        text = json.dumps(rows, ensure_ascii=False, indent=1)
        # Escape unprintable characters that json leaves as they are: they could affect a terminal or editor.
        return "".join(map(_escape_unprintable, text)) + "\n"

    def csv(self) -> str:
        """Return the table as CSV, with numbers in full.

        >>> Table(("text", "share"), (("a,b", 0.123456), ("c", None))).csv()
        'text,share\\n"a,b",0.123456\\nc,\\n'
        """
        out = io.StringIO()
        writer = csv.writer(out, lineterminator="\n")
        for row in (self.columns, *self.rows):
            writer.writerow([inert(cell) if isinstance(cell, str) else cell for cell in row])
        return out.getvalue()

    def markdown(self) -> str:
        rule = ("---:" if number else "---" for number in self.numeric)
        lines = [
            map(_escape_markup, map(inert, self.columns)),
            None,
            *(map(_escape_markup, row) for row in self.formatted),
        ]
        written = (f"|{'|'.join(rule)}|" if line is None else f"| {' | '.join(line)} |" for line in lines)
        return "\n".join(written) + "\n"

    @property
    def numeric(self) -> tuple[bool, ...]:
        """Which columns contain only numbers, to be aligned right."""
        return tuple(
            all(not isinstance(row[column], str) for row in self.rows) for column in range(len(self.columns))
        )

    @property
    def formatted(self) -> list[list[str]]:
        """The cells as text."""
        return [[_format(cell) for cell in row] for row in self.rows]


def _format(cell: Cell) -> str:
    if cell is None:
        return "–"
    if isinstance(cell, int):
        return f"{cell:,}"
    if isinstance(cell, float):
        return f"{cell:,.1f}" if abs(cell) >= 100 else f"{cell:.3f}"
    return inert(cell)


def _escape_unprintable(character: str) -> str:
    if character.isprintable() or character == "\n":
        return character
    return json.dumps(character).strip('"')


def _escape_markup(cell: str) -> str:
    """Escape Markdown and HTML."""
    for mark in "\\`*_[]<>|&#":
        cell = cell.replace(mark, f"\\{mark}")
    return cell
