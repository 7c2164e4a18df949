"""Ids → text, from lists and from numpy arrays."""

from __future__ import annotations

from benchmarks import measure
from benchmarks.encode import texts
from benchmarks.encode.goals import goal
from benchmarks.encode.plan import Figures, Plan, ratio_rows, ratios
from benchmarks.encode.proof import Prover
from benchmarks.report import Section, number

KINDS = ("English", "Chinese")
MODES = {
    "array_to_str": "array → str",
    "list_to_str": "list → str",
    "array_to_bytes": "array → bytes",
    "list_to_bytes": "list → bytes",
}


def section(plan: Plan, prover: Prover) -> Section:
    """Decode the ids of a whole text as one sequence; a peer that does not return the text is not timed."""
    jobs = []
    sizes = {}
    for kind in KINDS:
        path = texts.halves(kind, plan.half).first
        ids = prover.reference(f"{kind}, decoding", "gpt4", [path])
        sizes[kind] = path.stat().st_size / 1e6
        values = {"ids": str(ids), "path": str(path), "repeat": 5}
        jobs += [plan.job(peer, "encode_decode", values, what=kind) for peer in plan.names]
    measured = measure.interleaved(jobs, plan.rounds)
    figures: Figures = {}
    for peer in plan.names:
        found = {kind: one for one in measured for kind in KINDS if one.job.label == f"{peer}, {kind}"}
        figures[peer] = [
            sizes[kind] / seconds if kind in found and (seconds := found[kind].least(mode)) else None
            for kind in KINDS
            for mode in MODES
        ]
    columns = [f"{kind}, {name}" for kind in KINDS for name in MODES.values()]
    if "merganser" in plan.names:
        against = dict(zip(columns, ratios(figures).get("best peer", []), strict=False))
        plan.goals.append(goal("Decoding: best peer", 3, against))
    rows = [[peer, *(number(value) for value in values)] for peer, values in figures.items()]
    return Section(
        "decode",
        "Decoding",
        f"MB/s of text: {sizes['English']:.1f} MB of English and {sizes['Chinese']:.1f} MB of Chinese, each "
        "as one sequence of ids, one thread. Peers that take no array are given `tolist()`, in the time. "
        "Wanted: 3× the best peer, from arrays and from lists.",
        ["encoder", *columns],
        rows + ratio_rows(figures),
        [one.record() for one in measured],
        figures=True,
    )
