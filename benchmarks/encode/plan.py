"""What one run does: which peers, how much text, how often."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.encode import peers
from benchmarks.measure import Job, Measured
from benchmarks.report import times

Figures = dict[str, list[float | None]]


@dataclass(frozen=True)
class Plan:
    """The settings of a run, sizes in bytes; `folder` holds the ids of the proofs."""

    names: list[str]
    thread_counts: list[int]
    rounds: int
    kinds: tuple[str, ...]
    half: int
    short_documents: int
    strings: int
    disk: int
    growth: int
    folder: Path

    def job(self, peer: str, task: str, values: dict[str, Any], threads: int = 1, what: str = "") -> Job:
        """One measurement of one peer; the slow ones say how few rounds must do."""
        rounds = getattr(peers.module(peer), "ROUNDS", None)
        label = f"{peer}, {what}" if what else peer
        return Job(label, task, {"peer": peer, **values}, threads, rounds)


def ratio_rows(figures: Figures, lower: bool = False) -> list[list[str]]:
    """merganser against the best peer of each column and against tiktoken; above 1 is faster."""
    ours = figures.get("merganser")
    if not ours or not any(ours):
        return []
    peers_only = [values for name, values in figures.items() if name != "merganser"]
    best = [
        (min if lower else max)((value for value in column if value), default=None)
        for column in zip(*peers_only, strict=True)
    ]
    rows = []
    for title, others in (("best peer", best), ("tiktoken", figures.get("tiktoken"))):
        if others and any(others):
            pairs = zip(ours, others, strict=True)
            rows.append(
                [f"**merganser : {title}**", *(times(b, a) if lower else times(a, b) for a, b in pairs)]
            )
    return rows


def last_words(one: Measured) -> str:
    """What a failed job said last."""
    return one.error.splitlines()[-1] if one.error else ""
