"""The settings of one run: the peers, the amount of text, and the repetitions."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.encode import peers
from benchmarks.encode.goals import Goal
from benchmarks.measure import Job, Measured
from benchmarks.report import times

Figure = list[float | None]
Figures = dict[str, Figure]


@dataclass(frozen=True)
class Plan:
    """The settings of a run, with sizes in bytes; `folder` contains the ids of the proofs.

    `goals` collects the results for the targets, section by section.
    """

    names: list[str]
    thread_counts: list[int]
    rounds: int
    kinds: tuple[str, ...]
    patterns: tuple[str, ...]
    half: int
    short_documents: int
    strings: int
    disk: int
    growth: int
    folder: Path
    goals: list[Goal] = field(default_factory=list)

    def job(self, peer: str, task: str, values: dict[str, Any], threads: int = 1, what: str = "") -> Job:
        """Return one measurement of one peer; slow peers limit the number of rounds."""
        rounds = getattr(peers.module(peer), "ROUNDS", None)
        label = f"{peer}, {what}" if what else peer
        return Job(label, task, {"peer": peer, **values}, threads, rounds)


def ratios(figures: Figures, lower: bool = False) -> dict[str, Figure]:
    """Return the ratios of merganser to the best peer of each column and to tiktoken; above 1 is faster.

    `lower` means that the figures are times, where less is better.
    """
    ours = figures.get("merganser", [])
    others = [values for name, values in figures.items() if name != "merganser"]
    best = [
        (min if lower else max)((value for value in column if value), default=None)
        for column in zip(*others, strict=True)
    ]
    return {
        title: [(b / a if lower else a / b) if a and b else None for a, b in zip(ours, theirs, strict=True)]
        for title, theirs in (("best peer", best), ("tiktoken", figures.get("tiktoken", [])))
        if ours and theirs
    }


def ratio_rows(figures: Figures, lower: bool = False) -> list[list[str]]:
    """Format the last rows of a table."""
    return [
        [f"**merganser : {title}**", *(times(value, 1.0) for value in found)]
        for title, found in ratios(figures, lower).items()
        if any(found)
    ]


def last_words(one: Measured) -> str:
    """Return the last line of a failed job's error."""
    return one.error.splitlines()[-1] if one.error else ""
