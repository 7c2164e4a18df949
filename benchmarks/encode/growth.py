"""Growth of time on strings that take a careless encoder far too long; merganser only."""

from __future__ import annotations

from benchmarks import measure
from benchmarks.encode.goals import goal
from benchmarks.encode.plan import Plan, last_words
from benchmarks.encode.texts import ADVERSARIAL
from benchmarks.measure import Job
from benchmarks.report import Section, number, seconds, times

PATTERNS = ("gpt4", "own words")


def section(plan: Plan) -> Section:
    """Encode n and 2n bytes of each kind, with a preset and with a custom pattern."""
    kinds = [(kind, pattern) for kind in ADVERSARIAL for pattern in PATTERNS]
    jobs = [
        Job(f"{kind}, {pattern}", "encode_growth", {"kind": kind, "size": size, "pattern": pattern})
        for kind, pattern in kinds
        for size in (plan.growth // 2, plan.growth)
    ]
    measured = measure.interleaved(jobs, plan.rounds)
    rows = []
    found: dict[str, float | None] = {}
    for (kind, pattern), one, two in zip(kinds, measured[::2], measured[1::2], strict=True):
        once, twice = one.least("all"), two.least("all")
        found[f"{kind}, {pattern}"] = twice / once if once and twice else None
        rows.append(
            [kind, pattern, seconds(once), seconds(twice), times(twice, once),
             number(plan.growth / twice / 1e6) if twice else "–", last_words(two) or last_words(one)]
        )  # fmt: skip
    plan.goals.append(goal("Twice the input: the time", 2.3, found, at_most=True))
    note = (
        f"merganser, cl100k_base's ranks, one string of n = {plan.growth // 2:,} and of 2n bytes → flat "
        "array, one thread, cold; the ids decode to the string. Wanted: ratio at most 2.3."
    )
    columns = ["string", "pattern", "s for n", "s for 2n", "ratio", "MB/s", ""]
    return Section("growth", "Adversarial strings", note, columns, rows, [m.record() for m in measured])
