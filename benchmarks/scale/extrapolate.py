"""A record of landmark runs: figures by process and stage, their growth, and what it says about 1 and 10 TB.

    python -m benchmarks.scale.extrapolate DATE FOLDER…

FOLDER is a folder of `landmark.py`, one for each size. Growth is a least-squares line through the
logarithms. The error of an extrapolation is the 95% prediction interval of that line: it covers the scatter
of the points, and not that the law itself may change. Writes `records/DATE-landmark.json` and `.md`.
"""

from __future__ import annotations

import json
import math
import sys
from itertools import groupby
from pathlib import Path
from typing import Any

from benchmarks.environment import REPOSITORY
from benchmarks.report import replace
from benchmarks.scale.landmark import by_stage

#: Quantiles of Student's t for 95%, by degrees of freedom.
STUDENT = {1: 12.71, 2: 4.303, 3: 3.182, 4: 2.776}
TARGETS = (1e12, 1e13)


def fitted(points: list[tuple[float, float]]) -> dict[str, Any]:
    """Fit y ~ x^k; extrapolate to the targets.

    >>> fit = fitted([(1e9, 2.0), (1e10, 20.0), (1e11, 200.0)])
    >>> round(fit["exponent"], 6), [round(y) for y in fit["at"][1e12]]
    (1.0, [2000, 2000, 2000])
    """
    logs = [(math.log(x), math.log(y)) for x, y in points]
    n = len(logs)
    mean_x, mean_y = (sum(values) / n for values in zip(*logs, strict=True))
    spread = sum((x - mean_x) ** 2 for x, _ in logs)
    slope = sum((x - mean_x) * (y - mean_y) for x, y in logs) / spread
    scatter = math.sqrt(sum((y - mean_y - slope * (x - mean_x)) ** 2 for x, y in logs) / max(n - 2, 1))
    at = {}
    for target in TARGETS:
        x = math.log(target)
        middle = mean_y + slope * (x - mean_x)
        error = STUDENT.get(n - 2, 2.571) * scatter * math.sqrt(1 + 1 / n + (x - mean_x) ** 2 / spread)
        at[target] = [math.exp(middle - error), math.exp(middle), math.exp(middle + error)]
    return {"points": points, "exponent": slope, "scatter": scatter, "at": at}


def processes(folder: Path) -> list[dict[str, Any]]:
    """Return the figures of each process and stage of a run."""
    lines = (folder / "samples.jsonl").read_text(encoding="utf-8").splitlines()
    rows = []
    for process, of_process in groupby(map(json.loads, lines), key=lambda sample: sample["process"]):
        samples = list(of_process)
        for stage, figures in by_stage(samples).items():
            if stage != "start":
                done = [sample["done"] for sample in samples if sample["stage"] == stage]
                rows.append({"process": process, "stage": stage, "done": max(done[1:], default=0), **figures})
    return rows


def main() -> None:
    date, *folders = sys.argv[1:]
    runs = []
    for folder in map(Path, folders):
        saved = folder / "result.json"
        result = json.loads(saved.read_text(encoding="utf-8")) if saved.exists() else {}
        runs.append({"gigabytes": int(folder.name), **result, "by_process": processes(folder)})
    stages = {"counting": "count", "merging": "merge"}
    fits = {
        f"{name}, processor s": fitted([(run["gigabytes"] * 1e9, total(run, stage)) for run in runs])
        for name, stage in stages.items()
    }
    known = [
        (run["gigabytes"] * 1e9, run["training"]["unique_pretokens"]) for run in runs if "training" in run
    ]
    fits["unique pre-tokens"] = fitted(known)
    record = {"date": date, "runs": runs, "fits": fits}
    target = REPOSITORY / "benchmarks" / "records" / f"{date}-landmark"
    replace(target.with_suffix(".json"), json.dumps(record, indent=1) + "\n")
    replace(target.with_suffix(".md"), "\n".join(markdown(record)) + "\n")
    print("\n".join(markdown(record)))


def total(run: dict[str, Any], stage: str) -> float:
    """Return the processor seconds of a stage, of all processes."""
    return float(sum(row["processor"] for row in run["by_process"] if row["stage"] == stage))


def markdown(record: dict[str, Any]) -> list[str]:
    """The record as a page."""
    runs = record["runs"]
    lines = [f"# The landmark, {record['date']}", ""]
    lines += [f"- {run['command']} (commit {run['commit']})" for run in runs if "command" in run]
    lines += ["", f"{next(run['machine'] for run in runs if 'machine' in run)}, shared with other work.", ""]
    lines += [
        "| GB | process | stage | reached | s | paused s | CPU s | generator CPU s | peak MB | disk MB |",
        "|---|---|---|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for run in runs:
        for row in run["by_process"]:
            figures = ("seconds", "paused", "processor", "generator", "peak_mb", "disk_mb")
            cells = [f"{row[name]:,.0f}" for name in figures]
            where = [str(run["gigabytes"]), str(row["process"]), row["stage"], f"{row['done']:,}"]
            lines.append("| " + " | ".join([*where, *cells]) + " |")
    lines += [
        "",
        "| GB | unique pre-tokens | pre-tokens | merges | SHA-256 of the tokenizer |",
        "|---|---:|---:|---:|---|",
    ]
    for run in runs:
        if training := run.get("training"):
            lines.append(
                f"| {run['gigabytes']} | {training['unique_pretokens']:,} | {training['pretokens']:,} "
                f"| {training['merges']:,} | {run['sha256'][:16]}… |"
            )
    lines += ["", "| | exponent | 1 TB | 10 TB |", "|---|---:|---|---|"]
    for name, fit in record["fits"].items():
        cells = [f"{y:,.0f} ({low:,.0f} to {high:,.0f})" for low, y, high in fit["at"].values()]
        lines.append(f"| {name} | {fit['exponent']:.3f} | " + " | ".join(cells) + " |")
    return lines


if __name__ == "__main__":
    main()
