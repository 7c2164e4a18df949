"""Sections of a report."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from merganser.charts.spec import Spec
from merganser.reporting.tables import Table
from merganser.tokenizer.display import TokenDisplay


@dataclass(frozen=True)
class TokenizedText:
    """A text, and its tokens by tokenizer."""

    title: str
    by_tokenizer: Mapping[str, TokenDisplay]


@dataclass(frozen=True)
class Section:
    """One experiment: a table, an optional chart, and an explanation. `name` is the name of its files."""

    name: str
    title: str
    text: str
    table: Table
    chart: Spec | None = None
    texts: Sequence[TokenizedText] = field(default=())
    #: Whether the table is expanded at first.
    figures_first: bool = False
    #: The tokenizers and the text of the chart.
    subtitle: str = ""
    #: What it shows, in one sentence; may be empty.
    takeaway: str = ""


@dataclass(frozen=True)
class Tile:
    """A figure that is shown large, by tokenizer."""

    title: str
    values: Mapping[str, str]
