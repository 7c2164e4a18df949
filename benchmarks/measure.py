"""Run tasks in fresh processes, interleaved and repeated, and keep the best time.

Interleaved (A B C A B C …), so that other load, heat and caches affect all tasks equally. The best,
because noise only adds time. The wall clock runs inside the process, from call to return; starting
Python and importing modules are excluded for every task.
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
    """One measurement: a label, a task of `tasks.py` and its arguments.

    `rounds` limits the repetitions of a slow task.
    """

    label: str
    task: str
    values: dict[str, Any] = field(default_factory=dict)
    threads: int = 1
    rounds: int | None = None


@dataclass
class Measured:
    """The runs of a job; `best` is the fastest."""

    job: Job
    runs: list[dict[str, Any]] = field(default_factory=list)
    error: str | None = None

    @property
    def best(self) -> dict[str, Any] | None:
        """The fastest run, or None if the job failed."""
        runs = [run for run in self.runs if run.get("seconds") is not None]
        return min(runs, key=lambda run: run["seconds"]) if runs and not self.error else None

    def least(self, stage: str) -> float | None:
        """Return the shortest time of a stage over all runs."""
        found = [run["stages"][stage] for run in self.runs if stage in run.get("stages", {})]
        return min(found) if found and not self.error else None

    @property
    def processor(self) -> float | None:
        """The least processor time of a run, if the task measures it."""
        found = [run["processor"] for run in self.runs if "processor" in run]
        return min(found) if found and not self.error else None

    def record(self) -> dict[str, Any]:
        """Return JSON-compatible data: the best run, all times and the highest peak."""
        best = self.best
        peaks = [run["peak_mb"] for run in self.runs if run.get("peak_mb")]
        return {
            "label": self.job.label,
            "threads": self.job.threads,
            "seconds": best["seconds"] if best else None,
            "processor": self.processor,
            "peak_mb": max(peaks) if peaks else None,
            "stages": best.get("stages", {}) if best else {},
            "all_seconds": [run.get("seconds") for run in self.runs],
            "error": self.error,
            **{k: v for k, v in (best or {}).items() if k in ("unique", "merges", "note", "cores")},
        }


def interleaved(jobs: Iterable[Job], repeat: int) -> list[Measured]:
    """Run all jobs in turn, `repeat` times; a job that fails is not repeated."""
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
    """Run a job once in a fresh process; return {"error": …} with the end of its output if it fails."""
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
                return {"error": f"timed out after {TIMEOUT:.0f} s"}
        if code != 0:
            output = log.read_text(errors="replace").strip()
            return {"error": output[-2000:] or f"exited with code {code}"}
        outcome: dict[str, Any] = json.loads(result.read_text(encoding="utf-8"))
        return outcome
