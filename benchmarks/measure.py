"""Runs tasks in fresh processes, in turn, several times, and keeps the best.

In turn (A B C A B C …) because a machine drifts: neighbours, heat and caches then fall on all
alike. The best, because noise only ever adds. Wall clock inside the process, from the call to
its return; starting Python and importing are left out for everyone.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.environment import REPOSITORY, say

TIMEOUT = 3600.0


@dataclass(frozen=True)
class Job:
    """One thing to measure: a label for people, a task of `tasks.py` and its values.

    `rounds` is for those that take long: no more than this many, however often the others run.
    """

    label: str
    task: str
    values: dict[str, Any] = field(default_factory=dict)
    threads: int = 1
    rounds: int | None = None


@dataclass
class Measured:
    """The runs of a job; `best` is the fastest of them."""

    job: Job
    runs: list[dict[str, Any]] = field(default_factory=list)
    error: str | None = None

    @property
    def best(self) -> dict[str, Any] | None:
        """The fastest run, or nothing when the job failed."""
        runs = [run for run in self.runs if run.get("seconds") is not None]
        return min(runs, key=lambda run: run["seconds"]) if runs and not self.error else None

    def least(self, stage: str) -> float | None:
        """The shortest time of one stage over all runs, whichever run was the best as a whole."""
        found = [run["stages"][stage] for run in self.runs if stage in run.get("stages", {})]
        return min(found) if found and not self.error else None

    def record(self) -> dict[str, Any]:
        """A JSON-able account: the best run, all times, the leanest and the highest peak."""
        best = self.best
        peaks = [run["peak_mb"] for run in self.runs if run.get("peak_mb")]
        return {
            "label": self.job.label,
            "threads": self.job.threads,
            "seconds": best["seconds"] if best else None,
            "peak_mb": max(peaks) if peaks else None,
            "stages": best.get("stages", {}) if best else {},
            "all_seconds": [run.get("seconds") for run in self.runs],
            "error": self.error,
            **{k: v for k, v in (best or {}).items() if k in ("unique", "merges", "note", "cores")},
        }


def interleaved(jobs: Iterable[Job], repeat: int) -> list[Measured]:
    """Run all jobs in turn, `repeat` times over; a job that fails is not tried again."""
    measured = [Measured(job) for job in jobs]
    for turn in range(repeat):
        for one in measured:
            if one.error or (one.job.rounds is not None and turn >= one.job.rounds):
                continue
            outcome = run(one.job)
            if "error" in outcome:
                one.error = outcome["error"]
                say(f"{one.job.label}: {one.error.splitlines()[-1]}")
                continue
            one.runs.append(outcome)
            if outcome.get("seconds") is not None:
                say(
                    f"{turn + 1}/{repeat} {one.job.label}, {one.job.threads} threads: "
                    f"{outcome['seconds']:.3f} s, {outcome['peak_mb']:.0f} MB"
                )
    return measured


def run(job: Job) -> dict[str, Any]:
    """Run a job once in a process of its own; {"error": …} with the last words if it fails."""
    values = {"task": job.task, "threads": job.threads, **job.values}
    environment = {
        **os.environ,
        "RAYON_NUM_THREADS": str(job.threads),
        "TOKENIZERS_PARALLELISM": "true",
        "PYTHONHASHSEED": "0",
    }
    with tempfile.TemporaryDirectory() as folder:
        result = Path(folder) / "result.json"
        log = Path(folder) / "log.txt"
        command = [sys.executable, "-m", "benchmarks.worker", json.dumps(values), str(result)]
        with log.open("wb") as out:
            try:
                code = subprocess.run(
                    command,
                    cwd=REPOSITORY,
                    env=environment,
                    stdin=subprocess.DEVNULL,
                    stdout=out,
                    stderr=subprocess.STDOUT,
                    timeout=TIMEOUT,
                    check=False,
                ).returncode
            except subprocess.TimeoutExpired:
                return {"error": f"stopped after {TIMEOUT:.0f} s"}
        if code != 0:
            said = log.read_text(errors="replace").strip()
            return {"error": said[-2000:] or f"ended with code {code}"}
        outcome: dict[str, Any] = json.loads(result.read_text(encoding="utf-8"))
        return outcome
