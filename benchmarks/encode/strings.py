"""Single short strings: the cost of one call."""

from __future__ import annotations

from benchmarks import measure
from benchmarks.encode import texts
from benchmarks.encode.goals import goal
from benchmarks.encode.plan import Figures, Plan, ratio_rows, ratios
from benchmarks.encode.proof import Prover
from benchmarks.report import Section, number

TITLES = {"encode": "ordinary", "encode_checked": "checked for special tokens"}
CALLS = {
    "encode": "looking for no special tokens (`encode_ordinary` where it is called so)",
    "encode_checked": "with tiktoken's policy, an error for a special token in the text (`encode`)",
}


def sections(plan: Plan, prover: Prover) -> list[Section]:
    """Time the ordinary call of every peer, and the checked call of those that have one."""
    where = "short strings"
    prover.prove(where, "gpt4", [texts.short_documents(plan.short_documents).first], list(CALLS))
    jobs = [
        plan.job(peer, "encode_strings", {"call": call, "count": plan.strings}, what=call)
        for call in CALLS
        for peer in plan.names
        if prover.may_be_timed(peer, where, call)
    ]
    measured = measure.interleaved(jobs, plan.rounds)
    return [
        section(plan, call, {m.job.values["peer"]: m for m in measured if m.job.values["call"] == call})
        for call in CALLS
    ]


def section(plan: Plan, call: str, measured: dict[str, measure.Measured]) -> Section:
    """Build the table of microseconds for each length."""
    figures: Figures = {
        peer: [one.least(str(size)) for size in texts.STRING_BYTES] for peer, one in measured.items()
    }
    rows = [
        [peer, *(number(value * 1e6, 2) if value else "failed" for value in values)]
        for peer, values in figures.items()
    ]
    note = (
        f"µs for one call, text to list, {CALLS[call]}. Many different stretches of English, seen before. "
        "Wanted: no slower than the best peer."
    )
    columns = [f"{size} bytes" for size in texts.STRING_BYTES]
    if "merganser" in plan.names:
        found = ratios(figures, lower=True).get("best peer", [])
        plan.goals.append(
            goal(f"Short strings, {TITLES[call]}: best peer", 1, dict(zip(columns, found, strict=False)))
        )
    return Section(
        f"strings, {call}",
        f"Single short strings, {TITLES[call]}",
        note,
        ["encoder", *columns],
        rows + ratio_rows(figures, lower=True),
        [one.record() for one in measured.values()],
        figures=True,
    )
