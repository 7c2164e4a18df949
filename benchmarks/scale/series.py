"""Time and memory by size of the text and by number of unique pre-tokens, and their growth.

Growth is the slope of a least-squares line through the logarithms of the points: 1 is proportional, and less
is better. Memory excludes what the interpreter uses at the start.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from benchmarks import measure
from benchmarks.measure import Job, Measured
from benchmarks.report import Section, number, seconds
from benchmarks.scale.plan import BUDGET, Plan, Text

STAGES = {"scale_count": "count", "scale_train": "merge"}


def by_size(plan: Plan) -> list[Section]:
    """Measure natural growth: more text with more pre-tokens."""
    records = measured(plan, plan.by_size)
    note = (
        "Generated text with as many unique pre-tokens as natural text of that size. "
        f"Count: text → `.counts` file. Merge: that file → {plan.vocab_size:,} tokens. "
        f"{plan.threads} threads. CPU s is the processor time of all threads, that of the system included."
    )
    return [
        table("size", "Against the size of the text", note, records),
        fits("size growth", "How it grows with the text", records, "bytes"),
    ]


def by_unique(plan: Plan) -> list[Section]:
    """Measure the same amount of text with more unique pre-tokens."""
    records = measured(plan, plan.by_unique)
    size = plan.by_unique[0].size
    note = f"{size / 1e6:,.0f} MB of generated text each, with ever more unique pre-tokens; else as above."
    return [
        table("unique", "Against the number of unique pre-tokens", note, records),
        fits("unique growth", "How it grows with the pre-tokens", records, "unique"),
        adding_up(plan),
    ]


def adding_up(plan: Plan) -> Section:
    """Add up the counts of all these texts, as after counting on many nodes."""
    files = [counts_file(plan, text) for text in plan.by_unique]
    values = {"paths": list(map(str, files)), "out": str(plan.folder / "sum.counts"), "memory": None}
    job = Job(f"sum of {len(files)} counts", "scale_add", values, plan.threads)
    done = same(measure.interleaved([job], plan.turns(plan.by_unique[-1])))[0]
    pretokens = sum(text.unique for text in plan.by_unique)
    size = sum(file.stat().st_size for file in files)
    one = record(done) | {"pretokens": pretokens, "bytes": size, "unique": done.runs[0]["unique"]}
    row = [number(len(files)), number(pretokens), number(one["unique"]), number(size / 1e6),
           seconds(one["seconds"]), seconds(one["processor"]), number(one["peak_mb"])]  # fmt: skip
    columns = ["files", "pre-tokens in", "unique pre-tokens out", "MB", "s", "CPU s", "peak MB"]
    note = "The `.counts` files of the table above become one, sorted and checked, as a stream."
    return Section("sum", "Adding counts up", note, columns, [row], [one], figures=True)


def counts_file(plan: Plan, text: Text) -> Path:
    """Return the file for the counts of a text while the benchmark runs."""
    return plan.folder / f"{text.size}-{text.unique}.counts"


def measured(plan: Plan, texts: Sequence[Text]) -> list[dict[str, Any]]:
    """Count every text and train on it, without a limit and within the budget."""
    records = []
    for text in texts:
        out = counts_file(plan, text)
        with text.made(plan.keep) as path:
            size = path.stat().st_size
            values = {"path": str(path), "out": str(out)}
            counting = rounds(plan, text, "scale_count", values)
        unique = counting[0].runs[0]["unique"]
        values = {"path": str(out), "vocab_size": plan.vocab_size}
        training = rounds(plan, text, "scale_train", values)
        records += [record(one) | {"bytes": size, "unique": unique} for one in (*counting, *training)]
    return records


def rounds(plan: Plan, text: Text, task: str, values: dict[str, Any]) -> list[Measured]:
    """Run one task with every budget, in turn."""
    jobs = [
        Job(
            f"{STAGES[task]}, {text.size / 1e6:,.0f} MB, {text.unique:,} pre-tokens, {budget or 'no limit'}",
            task,
            values | {"memory": budget},
            plan.threads,
        )
        for budget in plan.budgets(text)
    ]
    return same(measure.interleaved(jobs, plan.turns(text)))


def same(done: list[Measured]) -> list[Measured]:
    """Check that all jobs succeeded with identical results."""
    for one in done:
        if one.error:
            raise SystemExit(f"{one.job.label}: {one.error}")
    if len({run["digest"] for one in done for run in one.runs}) != 1:
        raise SystemExit(f"not the same result: {', '.join(one.job.label for one in done)}")
    return done


def record(one: Measured) -> dict[str, Any]:
    """Return the shortest wall time, the shortest CPU time and the highest peak of all runs."""
    return {
        "stage": STAGES.get(one.job.task, "command"),
        "memory": one.job.values["memory"],
        "seconds": min(run["seconds"] for run in one.runs),
        "processor": min(run["processor"] for run in one.runs),
        "peak_mb": max(run["peak_mb"] for run in one.runs),
        "imported_mb": one.runs[0].get("imported_mb"),
        "all_seconds": [run["seconds"] for run in one.runs],
        "all_processor": [run["processor"] for run in one.runs],
        "digest": one.runs[0]["digest"],
    }


def table(name: str, title: str, note: str, records: list[dict[str, Any]]) -> Section:
    """Build a table with a row for each text and budget."""
    rows = []
    counts = [one for one in records if one["stage"] == "count"]
    merges = [one for one in records if one["stage"] == "merge"]
    for count, merge in zip(counts, merges, strict=True):
        rows.append(
            [number(count["bytes"] / 1e6), number(count["unique"]), count["memory"] or "no limit",
             seconds(count["seconds"]), seconds(count["processor"]), number(count["peak_mb"]),
             seconds(merge["seconds"]), seconds(merge["processor"]), number(merge["peak_mb"])]
        )  # fmt: skip
    columns = ["MB", "unique pre-tokens", "memory", "count s", "CPU s", "peak MB",
               "merge s", "CPU s", "peak MB"]  # fmt: skip
    return Section(name, title, note, columns, rows, records, figures=True)


def fits(name: str, title: str, records: list[dict[str, Any]], axis: str) -> Section:
    """Build the table of slopes, each with its points."""
    what: dict[str, Callable[[dict[str, Any]], float]] = {
        "time": lambda one: one["seconds"],
        "processor time": lambda one: one["processor"],
        "memory": lambda one: one["peak_mb"] - one["imported_mb"],
    }
    rows, made = [], []
    for stage in ("count", "merge"):
        for budget in (None, BUDGET):
            chosen = [one for one in records if one["stage"] == stage and one["memory"] == budget]
            if len(chosen) < 2:
                continue
            for figure, take in what.items():
                points = [(one[axis], take(one)) for one in chosen]
                found = slope(points)
                shown = ", ".join(f"({x:.3g}, {y:.3g})" for x, y in points)
                rows.append([f"{stage}, {budget or 'no limit'}", figure, f"{found:.2f}", shown])
                made.append({"stage": stage, "memory": budget, "figure": figure, "slope": found,
                             "axis": axis, "points": points})  # fmt: skip
    note = (
        "y ~ x^slope, by least squares on logarithms. The points are (x, y): "
        f"x in {axis}, time in s, memory in MB beyond the interpreter's."
    )
    return Section(name, title, note, ["what", "figure", "slope", "points"], rows, made)


def slope(points: Sequence[tuple[float, float]]) -> float:
    """Return the exponent k of y ~ x^k.

    >>> round(slope([(1, 5), (10, 50), (100, 500)]), 6)
    1.0
    """
    logs = [(math.log(x), math.log(y)) for x, y in points]
    mean_x = sum(x for x, _ in logs) / len(logs)
    mean_y = sum(y for _, y in logs) / len(logs)
    return sum((x - mean_x) * (y - mean_y) for x, y in logs) / sum((x - mean_x) ** 2 for x, _ in logs)
