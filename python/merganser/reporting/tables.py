"""Tables: figures in rows, written as JSON for programs and as Markdown for people."""

import json
from dataclasses import dataclass

from merganser.tokenizer.glyphs import inert

Cell = str | int | float | None


@dataclass(frozen=True)
class Table:
    """Rows under columns.

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
            while name in columns:  # a tokenizer may be called as a column is
                name, nth = f"{column} ({nth})", nth + 1
            columns.append(name)
        rows = [dict(zip(columns, row, strict=True)) for row in self.rows]
        text = json.dumps(rows, ensure_ascii=False, indent=1)
        # What could act in an editor is escaped: of all that json leaves alone, what cannot be printed.
        return "".join(map(_harmless, text)) + "\n"

    def markdown(self) -> str:
        rule = ("---:" if number else "---" for number in self.numeric)
        lines = [map(_escaped, map(inert, self.columns)), None, *(map(_escaped, row) for row in self.shown)]
        drawn = (f"|{'|'.join(rule)}|" if line is None else f"| {' | '.join(line)} |" for line in lines)
        return "\n".join(drawn) + "\n"

    @property
    def numeric(self) -> tuple[bool, ...]:
        """Which columns are numbers, and stand to the right."""
        return tuple(
            all(not isinstance(row[place], str) for row in self.rows) for place in range(len(self.columns))
        )

    @property
    def shown(self) -> list[list[str]]:
        """The cells as they are read."""
        return [[_shown(cell) for cell in row] for row in self.rows]


def _shown(cell: Cell) -> str:
    if cell is None:
        return "–"
    if isinstance(cell, int):
        return f"{cell:,}"
    if isinstance(cell, float):
        return f"{cell:,.1f}" if abs(cell) >= 100 else f"{cell:.3f}"
    return inert(cell)


def _harmless(character: str) -> str:
    if character.isprintable() or character == "\n":
        return character
    return json.dumps(character).strip('"')


def _escaped(cell: str) -> str:
    """Text that is no markup: neither that of Markdown nor HTML."""
    for mark in "\\`*_[]<>|&#":
        cell = cell.replace(mark, f"\\{mark}")
    return cell
