"""A batch of documents → ids: cold, held-out and repeat, as lists and as flat arrays."""

from __future__ import annotations

from dataclasses import dataclass

from benchmarks import measure
from benchmarks.encode import texts
from benchmarks.encode.goals import Goal, goal
from benchmarks.encode.plan import Figures, Plan, ratio_rows, ratios
from benchmarks.encode.proof import Prover
from benchmarks.encode.texts import Text
from benchmarks.encode.vocabularies import OWN_WORDS
from benchmarks.measure import Job, Measured
from benchmarks.peers import documents
from benchmarks.report import Section, number

STAGES = ("cold", "held-out", "repeat")
ALIKE = dict.fromkeys(STAGES, 1.5)
CUSTOM = {"cold": 3.0, "held-out": 4.0, "repeat": 4.0}
MODES = {"flat": "flat arrays", "lists": "lists"}


@dataclass(frozen=True)
class Case:
    """A text and a pattern: three columns of a table."""

    name: str
    text: Text
    pattern: str

    def megabytes(self, stage: str) -> float:
        """Return the size of the text that a stage encodes, without separators."""
        path = self.text.first if stage == "cold" else self.text.second
        return sum(len(text.encode()) for text in documents(path)) / 1e6


def by_language(plan: Plan, prover: Prover) -> list[Section]:
    """Encode three kinds of text with cl100k_base and its own pattern."""
    cases = [Case(kind, texts.halves(kind, plan.half), "gpt4") for kind in plan.kinds]
    note = "Wanted: 1.5× the best peer in every column, 10× tiktoken."
    return sections(plan, prover, cases, "Batch of documents", note, ALIKE)


def by_pattern(plan: Plan, prover: Prover) -> list[Section]:
    """Encode with the same ranks and with patterns that are not presets of the peers."""
    text = texts.halves("English", plan.half)
    cases = [Case(pattern, text, pattern) for pattern in plan.patterns]
    note = (
        "cl100k_base's ranks on English, split by nanochat's pattern (`\\p{N}{1,2}`), by the same with "
        f"`{{1,4}}` and by `{OWN_WORDS}`. Wanted: 4× the best exact peer on held-out and repeat, 3× cold."
    )
    return sections(plan, prover, cases, "A pattern of one's own", note, CUSTOM)


def of_short_documents(plan: Plan, prover: Prover) -> list[Section]:
    """Encode many documents of a few hundred bytes."""
    text = texts.short_documents(plan.short_documents)
    note = "English, 200 to 600 bytes each. Wanted: 1.5× the best peer, 10× tiktoken."
    cases = [Case(text.name, text, "gpt4")]
    return sections(plan, prover, cases, "Batch of short documents", note, ALIKE)


def sections(
    plan: Plan, prover: Prover, cases: list[Case], title: str, note: str, wanted: dict[str, float]
) -> list[Section]:
    """Prove equality, time, and build a table for each kind of output and number of threads."""
    for case in cases:
        prover.prove(case.name, case.pattern, [case.text.first, case.text.second], list(MODES))
    measured = measure.interleaved(jobs(plan, prover, cases), plan.rounds)
    sizes = {(case.name, stage): case.megabytes(stage) for case in cases for stage in STAGES}
    made = []
    for mode, output in MODES.items():
        for threads in plan.thread_counts:
            chosen = {
                (one.job.values["peer"], case.name): one
                for one in measured
                for case in cases
                if one.job.threads == threads and values(case, mode).items() <= one.job.values.items()
            }
            name = f"{title} to {output}, {threads} thread{'s' if threads > 1 else ''}"
            columns = [f"{case.name}, {stage}" for case in cases for stage in STAGES]
            rows, figures = table(plan, prover, cases, mode, chosen, sizes)
            records = [record(one, case, sizes) for (_, case), one in chosen.items()]
            made.append(
                Section(name, name, f"MB/s. {note}", ["encoder", *columns], rows, records, figures=True)
            )
            if "merganser" in plan.names:
                plan.goals.extend(goals(name, figures, columns, wanted))
    return made


def goals(name: str, figures: Figures, columns: list[str], wanted: dict[str, float]) -> list[Goal]:
    """Return the targets of each stage relative to the best peer, and the target of 10× tiktoken."""
    found = {title: dict(zip(columns, values, strict=True)) for title, values in ratios(figures).items()}
    made = []
    for factor in sorted(set(wanted.values())):
        stages = [stage for stage in STAGES if wanted[stage] == factor]
        against = {c: v for c, v in found.get("best peer", {}).items() if c.rsplit(", ")[-1] in stages}
        made.append(goal(f"{name}, {' and '.join(stages)}: best peer", factor, against))
    return [*made, goal(f"{name}: tiktoken", 10, found.get("tiktoken", {}))]


def values(case: Case, mode: str) -> dict[str, str]:
    """Return the arguments of the task, the same for every peer."""
    first, second = str(case.text.first), str(case.text.second)
    return {"pattern": case.pattern, "mode": mode, "first": first, "second": second}


def jobs(plan: Plan, prover: Prover, cases: list[Case]) -> list[Job]:
    """Return the jobs, with all peers of a case next to each other."""
    return [
        plan.job(peer, "encode_batch", values(case, mode), threads, f"{case.name} to {mode}")
        for case in cases
        for mode in MODES
        for threads in plan.thread_counts
        for peer in plan.names
        if prover.may_be_timed(peer, case.name, mode)
    ]


def speeds(one: Measured, case: str, sizes: dict[tuple[str, str], float]) -> list[float | None]:
    """Return the MB/s of the three stages, each the best of all rounds."""
    return [
        sizes[case, stage] / seconds if (seconds := one.least(stage)) is not None else None
        for stage in STAGES
    ]


def table(
    plan: Plan,
    prover: Prover,
    cases: list[Case],
    mode: str,
    chosen: dict[tuple[str, str], Measured],
    sizes: dict[tuple[str, str], float],
) -> tuple[list[list[str]], Figures]:
    """Return the rows, with the ratios of merganser to the peers at the end, and the figures themselves."""
    made = []
    figures: Figures = {}
    for peer in plan.names:
        if all(prover.verdicts[peer, case.name, mode].outcome == "none" for case in cases):
            continue
        cells: list[str] = []
        figures[peer] = []
        for case in cases:
            one = chosen.get((peer, case.name))
            if one is None:
                found: list[float | None] = [None] * len(STAGES)
                cells += [prover.excuse(peer, case.name, mode), *["–"] * (len(STAGES) - 1)]
            else:
                found = speeds(one, case.name, sizes)
                cells += ["failed" if one.error else number(value, 1) for value in found]
            figures[peer] += found
        made.append([peer, *cells])
    return made + ratio_rows(figures), figures


def record(one: Measured, case: str, sizes: dict[tuple[str, str], float]) -> dict[str, object]:
    """Return the JSON record; `cores` shows whether a peer respected its thread count."""
    return {
        **one.record(),
        "peer": one.job.values["peer"],
        "case": case,
        "mode": one.job.values["mode"],
        "MB/s": dict(zip(STAGES, speeds(one, case, sizes), strict=True)),
        "all_stages": [run["stages"] for run in one.runs],
    }
