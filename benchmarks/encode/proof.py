"""Prove that a peer produces tiktoken's ids in every timed mode, or report the first difference."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import measure
from benchmarks.encode.peers import Flat
from benchmarks.encode.plan import Plan
from benchmarks.environment import say
from benchmarks.report import Section

REFERENCE = "tiktoken"


@dataclass(frozen=True)
class Verdict:
    """The result of a comparison: `equal`, `differs`, `refuses`, `failed`, or `none` (no such mode)."""

    peer: str
    where: str
    mode: str
    outcome: str
    detail: str = ""


class Prover:
    """Compares peers with tiktoken, whose ids are computed once for each text and pattern."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.verdicts: dict[tuple[str, str, str], Verdict] = {}

    def ids_file(self, peer: str, where: str, mode: str) -> Path:
        """Return the file to which a proof writes the ids of a text."""
        return self.plan.folder / f"{peer} {where}-{mode}.npz".replace("/", "-")

    def reference(self, where: str, pattern: str, paths: list[Path]) -> Path:
        """Return the file of tiktoken's ids of these documents, for tasks that compare ids themselves."""
        outcome = self.encoded(REFERENCE, where, pattern, paths, ["lists"])
        if "error" in outcome:
            raise SystemExit(f"{REFERENCE} failed on {where}: {outcome['error']}")
        return self.ids_file(REFERENCE, where, "lists")

    def encoded(
        self, peer: str, where: str, pattern: str, paths: list[Path], modes: list[str]
    ) -> dict[str, Any]:
        """Have a peer encode these documents in these modes; return the result of the task."""
        stem = str(self.ids_file(peer, where, "")).removesuffix("-.npz")
        values = {"pattern": pattern, "paths": list(map(str, paths)), "modes": modes, "ids_to": stem}
        return measure.run(self.plan.job(peer, "encode_prove", values, max(self.plan.thread_counts)))

    def prove(self, where: str, pattern: str, paths: list[Path], modes: list[str]) -> None:
        """Compare every peer with tiktoken's lists, mode by mode."""
        self.reference(where, pattern, paths)
        for peer in self.plan.names:
            outcome = self.encoded(peer, where, pattern, paths, modes)
            for mode in modes:
                verdict = self.judge(peer, where, mode, outcome)
                self.verdicts[peer, where, mode] = verdict
                if verdict.outcome not in ("equal", "none"):
                    say(f"{peer}, {where}, {mode}: {verdict.outcome}: {verdict.detail.splitlines()[0]}")

    def judge(self, peer: str, where: str, mode: str, outcome: dict[str, Any]) -> Verdict:
        """Compare one mode of one peer."""
        if "error" in outcome:
            return Verdict(peer, where, mode, "failed", outcome["error"].splitlines()[-1])
        if "refused" in outcome:
            return Verdict(peer, where, mode, "refuses", outcome["refused"])
        if mode not in outcome["modes"]:
            return Verdict(peer, where, mode, "none")
        reference = _read(self.ids_file(REFERENCE, where, "lists"))
        part = parting(reference, _read(self.ids_file(peer, where, mode)))
        return Verdict(peer, where, mode, "differs" if part else "equal", part)

    def may_be_timed(self, peer: str, where: str, mode: str) -> bool:
        """Whether the peer's ids are correct."""
        return self.verdicts[peer, where, mode].outcome == "equal"

    def excuse(self, peer: str, where: str, mode: str) -> str:
        """Return the table cell that replaces a figure."""
        outcome = self.verdicts[peer, where, mode].outcome
        return "–" if outcome in ("equal", "none") else outcome

    def section(self) -> Section:
        """Build the table of all verdicts; equal ones of a peer and text share a row."""
        rows: dict[tuple[str, str, str], list[str]] = {}
        for verdict in self.verdicts.values():
            if verdict.outcome != "none":
                said = " ".join(verdict.detail.split())
                said = f"{verdict.outcome}: {said[:200]}" if said else verdict.outcome
                rows.setdefault((verdict.peer, verdict.where, said), []).append(verdict.mode)
        note = (
            "Proven before anything was timed, on the very texts: the ids are tiktoken's. A peer that "
            "differs is not timed. Where a peer refuses a pattern, this is what it says."
        )
        table = [[peer, where, ", ".join(modes), said] for (peer, where, said), modes in rows.items()]
        records = [asdict(verdict) for verdict in self.verdicts.values()]
        return Section("proof", "Equality of ids", note, ["encoder", "on", "as", "verdict"], table, records)


def _read(path: Path) -> Flat:
    with np.load(path) as file:
        return file["ids"], file["offsets"]


def parting(reference: Flat, other: Flat) -> str:
    """Describe the first difference between two results; return an empty string if they are equal."""
    (ours, starts), (theirs, ends) = reference, other
    if np.array_equal(starts, ends) and np.array_equal(ours, theirs):
        return ""
    if len(starts) != len(ends):
        return f"{len(starts) - 1} documents, the peer has {len(ends) - 1}"
    wrong = [
        i
        for i in range(len(starts) - 1)
        if not np.array_equal(ours[starts[i] : starts[i + 1]], theirs[ends[i] : ends[i + 1]])
    ]
    one = ours[starts[wrong[0]] : starts[wrong[0] + 1]].tolist()
    two = theirs[ends[wrong[0]] : ends[wrong[0] + 1]].tolist()
    at = next((i for i, (a, b) in enumerate(zip(one, two, strict=False)) if a != b), min(len(one), len(two)))
    return (
        f"{len(wrong)} of {len(starts) - 1} documents; the first is number {wrong[0]}, token {at}: "
        f"tiktoken {one[at : at + 4]}, the peer {two[at : at + 4]}"
    )
