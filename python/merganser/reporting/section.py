"""Section: one experiment of a report."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from merganser.charts.spec import Spec
from merganser.reporting.tables import Table
from merganser.tokenizer.display import TokenDisplay


@dataclass(frozen=True)
class Cuts:
    """A text, and how each tokenizer cuts it."""

    title: str
    by: Mapping[str, TokenDisplay]


@dataclass(frozen=True)
class Section:
    """A few figures, a picture of them, and what to see in it. Its name is that of its files."""

    name: str
    title: str
    text: str
    table: Table
    chart: Spec | None = None
    cuts: Sequence[Cuts] = field(default=())
    #: Whether the figures are what the section is about, and seen at once.
    figures_first: bool = False
