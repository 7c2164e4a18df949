"""Measure every step of docs/learn at a size where it matters: `python3 benchmarks/ladder/run.py`.

Run it with the Python of an environment that has merganser. Each step runs in a fresh process, one after
another, and its merges are compared with the core's. The record is written after each step; a second run
resumes there. `--fresh` measures again: all, some sections (`--sections claims-1-8 13-vs-14`), or some steps
(`--steps 13 14`). Takes about an hour on an idle machine. `documented.py` has the large configurations.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

if __name__ == "__main__":  # as a script, Python looks for modules in this folder
    sys.path[0] = str(Path(__file__).resolve().parent.parent.parent)

from benchmarks.environment import REPOSITORY

CORPORA = Path(os.environ.get("MERGANSER_CORPORA", REPOSITORY.parent / "shared" / "corpora"))
RECORD = REPOSITORY / "benchmarks" / "records" / "2026-11-16-ladder.json"


@dataclass(frozen=True)
class Section:
    """Steps to run on one size of text and vocabulary."""

    name: str
    steps: str
    megabytes: float
    vocab_size: int
    time_limit: float = 300  # seconds per step


SECTIONS = (
    Section("13-vs-14", "14,13", 10, 5_000),
    Section("claims-1-8", "8,7,6,5,4,3,2,1", 2, 1_000, time_limit=1800),
    Section("1-8-small", "8,7,6,5,4,3,2,1", 0.5, 500),
    Section("claims-9-14-long-text", "14,13,12,11,10,9", 50, 2_000),
    Section("claims-9-14-many-tokens", "14,13,12,11,10,9", 20, 10_000),
    Section("approximate", "8,approximate,10", 2, 5_000),
)


def measure(
    sections: list[Section], record: dict[str, Any], time_limit: float | None, only: list[str] | None
) -> None:
    from merganser.learn.ladder.running import parse_steps, run_steps, text_file
    from merganser.learn.ladder.settings import LadderSettings

    for section in sections:
        done = record["sections"].setdefault(
            section.name, {"megabytes": section.megabytes, "vocab_size": section.vocab_size, "runs": {}}
        )["runs"]
        todo = [
            step for step in parse_steps(section.steps) if step not in done and (not only or step in only)
        ]
        limit = time_limit or section.time_limit
        if not todo:
            continue
        with (
            (CORPORA / "english.txt").open("rb") as source,
            text_file(source, section.megabytes) as path,
        ):
            for step in todo:
                settings = LadderSettings(section.vocab_size, debug_logging=True)
                for run in run_steps([step], path, settings, limit):
                    done[run.step] = run.as_dict() | {"time_limit": limit}
                    print(section.name, run.name, run.cpu_seconds, run.seconds, run.differs_at, flush=True)
                RECORD.write_text(json.dumps(record, indent=1) + "\n")


def table(section: dict[str, Any]) -> list[str]:
    """Format a section in Markdown, in the order of the steps."""
    runs = sorted(
        section["runs"].values(), key=lambda run: (not run["step"].isdecimal(), run["step"].zfill(2))
    )
    lines = [
        f"| {section['megabytes']:g} MB, {section['vocab_size']:,} tokens "
        "| processor s | wall s | peak MB | merges |",
        "|---|---:|---:|---:|---|",
    ]
    for run in runs:
        if run["timed_out"]:
            lines.append(f"| {run['name']} | | over {run['time_limit']:g} | | |")
            continue
        verdict = "the core's" if run["differs_at"] is None else f"differ from {run['differs_at']:,} on"
        digits = 1 if run["cpu_seconds"] >= 1 else 2
        seconds = f"{run['cpu_seconds']:.{digits}f} | {run['seconds']:.{digits}f}"
        figures = f"{seconds} | {run['peak_bytes'] / 1e6:.0f}"
        lines.append(f"| {run['name']} | {figures} | {verdict} |")
    return lines


def counters(section: dict[str, Any]) -> list[str]:
    return [
        f"- {run['name']}: " + ", ".join(f"{name} {value:,}" for name, value in run["counters"].items())
        for run in sorted(section["runs"].values(), key=lambda run: run["step"].zfill(2))
        if run["counters"]
    ]


def write(record: dict[str, Any]) -> Path:
    lines = [
        "# The ladder",
        "",
        f"{record['machine']}. `python3 benchmarks/ladder/run.py`, one process at a time; {record['note']}",
        "",
    ]
    for name, section in record["sections"].items():
        lines += [f"## {name}", "", *table(section), "", *counters(section), ""]
    path = RECORD.with_suffix(".md")
    path.write_text("\n".join(lines), "utf-8")
    return path


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sections", nargs="+", choices=[section.name for section in SECTIONS])
    parser.add_argument("--fresh", action="store_true", help="measure again what is in the record")
    parser.add_argument("--steps", nargs="+", help="these steps only")
    parser.add_argument(
        "--time-limit", type=float, help="seconds for each step; else 300, or 1800 for 1 to 8"
    )
    parser.add_argument("--note", default="the machine was quiet.")
    options = parser.parse_args()
    chosen = [section for section in SECTIONS if not options.sections or section.name in options.sections]
    record: dict[str, Any] = {"sections": {}}
    if RECORD.exists():
        record = json.loads(RECORD.read_text())
    if options.fresh:
        for section in chosen:
            runs = record["sections"].get(section.name, {}).get("runs", {})
            for step in options.steps or list(runs):
                runs.pop(step, None)
    record["machine"] = f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}"
    record["note"] = options.note
    try:
        measure(chosen, record, options.time_limit, options.steps)
    finally:
        print(write(record))


if __name__ == "__main__":
    main()
