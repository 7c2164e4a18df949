"""The ladder at the sizes for which its description gives figures.

Run as `python3 benchmarks/ladder/documented.py`, with the Python of an environment that has merganser. Each
run is a fresh process; processor seconds and peak memory are recorded. A step that takes under ten minutes
runs three times, in turn with the others, and the best run counts; a longer one, and every step at 500 MB,
runs once. The record is written after every run, and runs in it are skipped, so that this can be stopped at
any time and run for hours beside other work. Runs of a step whose code has changed are measured again.

The text is english.txt of `../shared/corpora` (56 MB); the longer texts are generated from it by
`recombine.py`. Without it, both are Python's standard library.

`--sections 50-500` selects sections, `--scale 0.01` tries everything at a hundredth of the sizes (with
`--record FILE`, so that the figures stay apart), and `--report` only writes the tables again.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import platform
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

if __name__ == "__main__":  # as a script, Python looks for modules in this folder
    sys.path[0] = str(Path(__file__).resolve().parent.parent.parent)

from benchmarks import corpora
from benchmarks.environment import REPOSITORY, say
from benchmarks.report import commit, cpu_name, replace

RECORD = REPOSITORY / "benchmarks" / "records" / "ladder-documented.json"
STEPS = REPOSITORY / "python" / "merganser" / "learn" / "ladder"
REPEATED_UNDER = 600.0  # processor seconds
TIME_LIMIT = 8 * 3600.0
#: Relative spread of a step that ran once, if no step of the record ran several times.
ASSUMED_SPREAD = 0.05
#: Peak memory depends on when the allocator returns pages; smaller differences mean nothing.
MEMORY_SPREAD = 0.01

Record = dict[str, Any]
Runs = list[dict[str, Any]]


@dataclass(frozen=True)
class Section:
    """Steps at one size of text and vocabulary."""

    name: str
    steps: tuple[int, ...]
    megabytes: float
    vocab_size: int
    rounds: int = 3

    def scaled(self, factor: float) -> Section:
        merges = max(round((self.vocab_size - 256) * factor), 20)
        return Section(self.name, self.steps, self.megabytes * factor, 256 + merges, self.rounds)


SECTIONS = (
    Section("50-500", (8, 9), 50, 500),
    Section("100-2000", (9, 10, 11, 12, 13, 14), 100, 2_000),
    Section("100-10000", (11, 13, 14), 100, 10_000),
    Section("500-10000", (14, 11, 12), 500, 10_000, rounds=1),
)


@dataclass(frozen=True)
class Claim:
    """What the description says of `after` compared with `before`; `described` are its own figures."""

    section: str
    before: int
    after: int
    field: str
    expected: str  # lower, higher or same
    described: tuple[float, float] | None = None


TIME, MEMORY = "cpu_seconds", "peak_bytes"
CLAIMS = (
    Claim("50-500", 8, 9, TIME, "lower"),
    Claim("100-2000", 9, 10, TIME, "lower", (123.14, 117.88)),
    Claim("100-2000", 9, 10, MEMORY, "same", (543.58, 544.49)),
    Claim("100-2000", 10, 11, TIME, "higher", (117.88, 124.84)),
    Claim("100-2000", 10, 11, MEMORY, "lower", (544.49, 535.95)),
    Claim("100-2000", 11, 12, TIME, "higher", (124.84, 135.02)),
    Claim("100-2000", 11, 12, MEMORY, "same", (535.95, 535.95)),
    Claim("500-10000", 11, 12, TIME, "higher", (2915.65, 3105.91)),
    Claim("500-10000", 11, 12, MEMORY, "same", (3176.38, 3176.38)),
    Claim("100-10000", 11, 13, TIME, "lower", (325.76, 279.17)),
    Claim("100-10000", 11, 13, MEMORY, "same", (940.05, 938.19)),
    Claim("100-2000", 13, 14, TIME, "lower"),
    Claim("100-2000", 13, 14, MEMORY, "lower"),
    Claim("100-10000", 13, 14, TIME, "lower"),
    Claim("100-10000", 13, 14, MEMORY, "lower"),
    Claim("500-10000", 11, 14, TIME, "lower"),
    Claim("500-10000", 11, 14, MEMORY, "lower"),
)


def text(megabytes: float) -> Path:
    """Return a text of at least that size: english.txt, or one recombined from it."""
    shared = corpora.shared()
    source = shared / "english.txt" if shared else corpora.corpus("mixed")
    size = int(megabytes * 1e6)
    if size <= source.stat().st_size:
        return source
    from benchmarks import recombine

    # Recombined text ends at the last whole document, so generate some more than is used.
    return corpora.cached(
        f"{source.stem}-recombined-{size}.txt",
        lambda target: recombine.write(source, target, int(size * 1.02)),
    )


def code_of(step: int) -> str:
    """Return a digest of the step's code."""
    from merganser.learn.ladder import STEPS as NAMES

    return hashlib.sha256((STEPS / f"{NAMES[step]}.py").read_bytes()).hexdigest()[:12]


def todo(section: Section, done: dict[str, Runs]) -> Iterator[int]:
    """Yield the steps that are still to be run, round by round."""
    for turn in range(section.rounds):
        for step in section.steps:
            runs = done.get(str(step), [])
            once = bool(runs) and runs[0]["cpu_seconds"] >= REPEATED_UNDER
            if len(runs) <= turn and not once:
                yield step


def measure(sections: list[Section], record: Record, path: Path) -> None:
    """Run what the record lacks, and write it after each run."""
    from merganser.learn.ladder.running import run_steps, text_file
    from merganser.learn.ladder.settings import LadderSettings

    for section in sections:
        sizes = {"megabytes": section.megabytes, "vocab_size": section.vocab_size}
        entry = record["sections"].setdefault(section.name, {**sizes, "runs": {}})
        if any(entry[name] != size for name, size in sizes.items()):
            raise SystemExit(f"{path} has {section.name} with other sizes; choose another --record")
        done: dict[str, Runs] = entry["runs"]
        for step in section.steps:
            done[str(step)] = [run for run in done.get(str(step), []) if run["code"] == code_of(step)]
        if not any(True for _ in todo(section, done)):
            continue
        source = text(section.megabytes)
        entry["text"] = source.name
        with source.open("rb") as file, text_file(file, section.megabytes) as corpus:
            for step in todo(section, done):
                settings = LadderSettings(section.vocab_size, debug_logging=True)
                core, run = run_steps([str(step)], corpus, settings, TIME_LIMIT)
                if run.cpu_seconds is None or run.differs_at is not None:
                    raise SystemExit(f"{run.name} failed: {run.as_dict()}")
                entry["core"] = core.as_dict()
                facts = {"date": now(), "commit": commit(), "load": round(os.getloadavg()[0], 2)}
                done[str(step)].append(run.as_dict() | facts | {"code": code_of(step)})
                replace(path, json.dumps(record, indent=1) + "\n")
                megabytes = (run.peak_bytes or 0) / 1e6
                say(f"{section.name}, {run.name}: {run.cpu_seconds:.1f} s, {megabytes:,.0f} MB")


def now() -> str:
    return datetime.now(timezone.utc).strftime("%Y-%m-%d %H:%M UTC")


def usual_spread(record: Record, field: str) -> float:
    """Return the largest relative spread of the steps that ran several times."""
    spreads = [
        (max(values) - min(values)) / min(values)
        for section in record["sections"].values()
        for runs in section["runs"].values()
        if len(values := [run[field] for run in runs]) > 1
    ]
    return max(spreads, default=ASSUMED_SPREAD)


@dataclass(frozen=True)
class Verdict:
    """The best of both steps, and whether the claim holds: "holds", "does not hold" or "no difference"."""

    claim: Claim
    before: float
    after: float
    spread: float
    once: bool
    outcome: str


def judge(claim: Claim, record: Record) -> Verdict | None:
    """Compare two steps; None if one of them has not been measured."""
    runs = record["sections"].get(claim.section, {}).get("runs", {})
    sides = [[run[claim.field] for run in runs.get(str(step), [])] for step in (claim.before, claim.after)]
    if not all(sides):
        return None
    once = any(len(values) == 1 for values in sides)
    usual = usual_spread(record, claim.field) if once else 0.0
    spread = max(usual, *((max(values) - min(values)) / min(values) for values in sides))
    if claim.field == MEMORY:
        spread = max(spread, MEMORY_SPREAD)
    before, after = map(min, sides)
    change = after / before - 1
    if abs(change) <= spread:
        outcome = "holds" if claim.expected == "same" else "no difference"
    else:
        outcome = "holds" if claim.expected == ("lower" if change < 0 else "higher") else "does not hold"
    return Verdict(claim, before, after, spread, once, outcome)


def claims_table(record: Record, step: int | None = None) -> list[str]:
    """The verdicts in Markdown, of all claims or of those about one step."""
    rows = []
    for claim in CLAIMS:
        if step not in (None, claim.after):
            continue
        verdict = judge(claim, record)
        planned = next(section for section in SECTIONS if section.name == claim.section)
        sizes = {"megabytes": planned.megabytes, "vocab_size": planned.vocab_size}
        sizes |= record["sections"].get(claim.section, {})
        described = figures(claim.field, *claim.described) if claim.described else "–"
        measured, spread, outcome = "not measured yet", "–", "–"
        if verdict:
            scale = 1 if claim.field == TIME else 1e6
            measured = figures(claim.field, verdict.before / scale, verdict.after / scale)
            spread = f"{verdict.spread:.1%}" + (" (one run)" if verdict.once else "")
            outcome = verdict.outcome
        what = "time" if claim.field == TIME else "memory"
        rows.append(
            f"| {sizes['megabytes']:g} MB, {sizes['vocab_size']:,} tokens: {what} of {claim.after} against "
            f"{claim.before} | {claim.expected} | {described} | {measured} | {spread} | {outcome} |"
        )
    return [
        "| claim | expected | described | measured | spread | verdict |",
        "|---|---|---|---|---:|---|",
        *rows,
    ]


def figures(field: str, before: float, after: float) -> str:
    """
    >>> figures("cpu_seconds", 200, 150)
    '−25.0% (200 → 150 s)'
    """
    change = f"{after / before - 1:+.1%}".replace("-", "−")
    digits = 1 if before < 100 else 0
    return f"{change} ({before:,.{digits}f} → {after:,.{digits}f} {'s' if field == TIME else 'MB'})"


def table(section: dict[str, Any]) -> list[str]:
    """One section in Markdown: the best run of each step."""
    from merganser.learn.ladder.running import name_of

    lines = [
        f"| {section['megabytes']:g} MB, {section['vocab_size']:,} tokens "
        "| processor s | spread | runs | peak MB | merges |",
        "|---|---:|---:|---:|---:|---|",
    ]
    for step, runs in sorted(section["runs"].items(), key=lambda item: int(item[0])):
        if runs:
            times = [run[TIME] for run in runs]
            spread = f"{max(times) / min(times) - 1:.1%}" if len(times) > 1 else "–"
            memory = min(run[MEMORY] for run in runs) / 1e6
            figures = f"{min(times):.1f} | {spread} | {len(runs)} | {memory:,.0f}"
            lines.append(f"| {name_of(step)} | {figures} | the core's |")
    if core := section.get("core"):
        lines.append(f"| the Rust core | {core[TIME]:.1f} | – | 1 | {core[MEMORY] / 1e6:,.0f} | the core's |")
    return lines


def page(record: Record) -> str:
    lines = [
        "# The ladder at the described sizes",
        "",
        f"{record['machine']}. `python3 benchmarks/ladder/documented.py`; each run in a fresh process, "
        "processor seconds, the best run. The spread of a claim is the larger one of its two steps (slowest "
        "over fastest run); for a step that ran once, the largest spread of all repeated steps. A smaller "
        "difference is no difference.",
        "",
        "## Claims",
        "",
        *claims_table(record),
    ]
    for name, section in record["sections"].items():
        dates = sorted({run["date"][:10] for runs in section["runs"].values() for run in runs})
        if dates:
            lines += ["", f"## {name}", "", f"{section['text']}, {', '.join(dates)}.", "", *table(section)]
            lines += ["", *counters(section)]
    return "\n".join(lines) + "\n"


def counters(section: dict[str, Any]) -> list[str]:
    return [
        f"- {runs[0]['name']}: "
        + ", ".join(f"{name} {value:,}" for name, value in runs[0]["counters"].items())
        for _, runs in sorted(section["runs"].items(), key=lambda item: int(item[0]))
        if runs
    ]


def read(path: Path) -> Record:
    record: Record = json.loads(path.read_text("utf-8")) if path.exists() else {"sections": {}}
    return record


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sections", nargs="+", choices=[section.name for section in SECTIONS])
    parser.add_argument("--scale", type=float, default=1.0, help="factor of all sizes, to try it out")
    parser.add_argument("--record", type=Path, default=RECORD)
    parser.add_argument("--report", action="store_true", help="measure nothing, write the tables")
    options = parser.parse_args()
    if options.scale != 1 and options.record == RECORD:
        parser.error("--scale needs --record FILE, so that small figures do not mix with the real ones")
    chosen = [section for section in SECTIONS if not options.sections or section.name in options.sections]
    if options.scale != 1:
        chosen = [section.scaled(options.scale) for section in chosen]
    record = read(options.record)
    record["machine"] = f"{cpu_name()}, {os.cpu_count()} cores, Python {platform.python_version()}"
    try:
        if not options.report:
            measure(chosen, record, options.record)
    finally:
        replace(options.record.with_suffix(".md"), page(record))
        say(f"written: {options.record.with_suffix('.md')}")


if __name__ == "__main__":
    main()
