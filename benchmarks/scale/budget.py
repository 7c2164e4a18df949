"""A text whose counts need 2 GB, trained by the command within 256 MB: the cost in time and memory.

Targets: counting peaks at 1.25 times the budget or less, and takes at most three times as long as without a
limit.
"""

from __future__ import annotations

from typing import Any

from benchmarks import measure
from benchmarks.measure import Job
from benchmarks.report import Section, number, seconds, times
from benchmarks.scale import series
from benchmarks.scale.plan import BUDGET, Plan


def section(plan: Plan) -> Section:
    """Compare counting alone and the whole command, without a limit and within the budget."""
    heavy = plan.heavy
    rows: list[list[str]] = []
    records: list[dict[str, Any]] = []
    with heavy.made(plan.keep) as path:
        for task in ("scale_count", "scale_command"):
            values: dict[str, Any] = {"path": str(path)}
            if task == "scale_count":
                values["out"] = str(plan.folder / "heavy.counts")
            else:
                values["vocab_size"] = plan.vocab_size
            jobs = [
                Job(f"{task}, {budget or 'no limit'}", task, values | {"memory": budget}, plan.threads)
                for budget in (None, BUDGET)
            ]
            done = series.same(measure.interleaved(jobs, plan.turns(heavy)))
            free, within = (series.record(one) for one in done)
            free["stages"], within["stages"] = (min_stages(one.runs) for one in done)
            label = "counting alone" if task == "scale_count" else "`merganser train`"
            for one in (free, within):
                rows.append(
                    [label, one["memory"] or "no limit", seconds(one["seconds"]),
                     times(one["seconds"], free["seconds"]), seconds(one["processor"]),
                     times(one["processor"], free["processor"]), number(one["peak_mb"]),
                     ", ".join(f"{name} {taken:.1f}" for name, taken in one["stages"].items())]
                )  # fmt: skip
            records += [free, within]
    note = (
        f"{heavy.size / 1e6:,.0f} MB of generated text, {heavy.unique / 1e6:,.1f} million unique pre-tokens, "
        f"{plan.vocab_size:,} tokens, {plan.threads} threads; the tokenizers are the same, byte for byte. "
        "Wanted: at most 320 MB for counting, at most 3 times the time in all."
    )
    columns = ["what", "memory", "s", "× no limit", "CPU s", "× no limit", "peak MB", "stages, s"]
    return Section(
        "budget", "Counts that need 2 GB, within 256 MB", note, columns, rows, records, figures=True
    )


def min_stages(runs: list[dict[str, Any]]) -> dict[str, float]:
    """Return the shortest time of every stage, if there are stages."""
    stages = runs[0].get("stages", {})
    return {name: min(run["stages"][name] for run in runs) for name in stages}
