"""Targets for the figures, and the figure farthest from each: the first table of the page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass

from benchmarks.report import Section, times


@dataclass(frozen=True)
class Goal:
    """A target for some figures, and the worst of them; None if one of them could not be measured."""

    what: str
    wanted: float
    found: float | None
    where: str
    at_most: bool = False

    @property
    def met(self) -> bool:
        """Whether even the worst figure meets the target."""
        if self.found is None:
            return False
        return self.found <= self.wanted if self.at_most else self.found >= self.wanted


def goal(what: str, wanted: float, found: dict[str, float | None], at_most: bool = False) -> Goal:
    """Find the worst of several figures by name; a missing figure is worse than any other."""
    known = {name: value for name, value in found.items() if value is not None}
    if not known or len(known) < len(found):
        missing = next((name for name in found if name not in known), "nothing measured")
        return Goal(what, wanted, None, missing, at_most)
    worst = (max if at_most else min)(known, key=known.__getitem__)
    return Goal(what, wanted, known[worst], worst, at_most)


def section(goals: Sequence[Goal]) -> Section:
    """Build the table of targets and results."""
    rows = [
        [
            one.what,
            f"{'at most' if one.at_most else 'at least'} {one.wanted:g}×",
            times(one.found, 1.0),
            one.where,
            "yes" if one.met else "**no**",
        ]
        for one in goals
    ]
    note = "merganser's speed over the other's, in this run. `found` is the worst of its table, at `where`."
    columns = ["", "wanted", "found", "where", "met?"]
    records = [{**asdict(one), "met": one.met} for one in goals]
    return Section("goals", "Wanted and found", note, columns, rows, records)
