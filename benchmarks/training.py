"""Training by merganser and every peer: equality, time, memory, threads and stages."""

from __future__ import annotations

import importlib.metadata
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks import corpora, equality, measure, peers
from benchmarks.environment import say
from benchmarks.equality import Prover, Verdict
from benchmarks.measure import Job, Measured
from benchmarks.report import Section, number, seconds, times


@dataclass(frozen=True)
class Training:
    """The corpus and settings to time, and the corpus on which equality is proven first."""

    path: Path
    vocab_size: int
    proof_path: Path
    proof_vocab_size: int
    names: list[str]
    threads: int
    thread_counts: list[int]
    repeat: int
    folder: Path


def sections(plan: Training) -> list[Section]:
    """Prove equality, time the trainers, and build the tables."""
    prover = Prover(plan.folder, plan.threads)
    verdicts = prove(plan, prover)
    refused = {v.peer for v in verdicts if not v.may_be_timed and v.tie == timed_tie(v.peer)}
    if "merganser" in plan.names and isinstance(
        prover.reference(plan.proof_path, plan.proof_vocab_size, "ids"), str
    ):
        # merganser failed, so there is nothing to compare with; time the peers anyway.
        refused = set()
    names = [name for name in plan.names if name not in refused]
    for name in sorted(refused):
        say(f"{name} is not timed: its merges are not proven equal")
    measured = measure.interleaved(jobs(plan, names), plan.repeat)
    at_size = {name: verify(plan, prover, measured, name) for name in names if name != "merganser"}
    return [
        table(plan, measured, verdicts, at_size, refused),
        equality_table(verdicts),
        by_threads(plan, measured),
        by_stage(plan, measured),
    ]


def timed_tie(name: str) -> str:
    """Return the tie rule under which a peer is timed: the first of its rules."""
    return "ids" if name == "merganser" else next(iter(ties(name)))


def ties(name: str) -> dict[str, str]:
    """Return the tie rules that a peer shares with merganser."""
    return dict(peers.load(name).TIES)


def workload(plan: Training, name: str) -> tuple[Path, int, float]:
    """Return the file and vocabulary size for a peer, and the factor by which its time is scaled.

    A slow peer (`SLICE`) takes time proportional to corpus × merges; it gets less of both.
    """
    limit = getattr(peers.load(name), "SLICE", None) if name != "merganser" else None
    if limit is None or plan.path.stat().st_size <= limit[0]:
        return plan.path, plan.vocab_size, 1.0
    size, merges = limit
    path = corpora.corpus(f"{size // 1000}KB")
    merges = min(merges, plan.vocab_size - 256)
    factor = plan.path.stat().st_size / path.stat().st_size * (plan.vocab_size - 256) / merges
    return path, 256 + merges, factor


def prove(plan: Training, prover: Prover) -> list[Verdict]:
    """Compare every peer with merganser under every shared tie rule."""
    verdicts = []
    for name in plan.names:
        if name == "merganser":
            continue
        path, vocab_size, factor = workload(plan, name)
        if factor == 1.0:
            path, vocab_size = plan.proof_path, plan.proof_vocab_size
        for tie in ties(name):
            verdict = prover.compare(name, path, vocab_size, tie)
            say(f"{name}: {verdict}")
            verdicts.append(verdict)
    return verdicts


def jobs(plan: Training, names: list[str]) -> list[Job]:
    """Return a job for every trainer and thread count; scaled peers run at one thread count."""
    planned = []
    for name in names:
        path, vocab_size, factor = workload(plan, name)
        for threads in plan.thread_counts:
            if factor != 1.0 and threads != plan.threads:
                continue
            values = {
                "peer": name,
                "path": str(path),
                "vocab_size": vocab_size,
                "tie": timed_tie(name),
                "merges_to": str(merges_file(plan, name)),
            }
            planned.append(Job(name, "train", values, threads))
    return planned


def merges_file(plan: Training, name: str) -> Path:
    """Return the file to which a timed run writes its merges."""
    return plan.folder / f"timed-{name}.merges"


def verify(plan: Training, prover: Prover, measured: list[Measured], name: str) -> Verdict | None:
    """Compare the merges of the timed runs with merganser's."""
    if not any(m.job.label == name and m.runs for m in measured):
        return None
    path, vocab_size, _ = workload(plan, name)
    theirs = equality.read(merges_file(plan, name))
    verdict = prover.compare(name, path, vocab_size, timed_tie(name), theirs)
    say(f"{name}, as timed: {verdict}")
    return verdict


def version(name: str) -> str:
    """Return the version of a peer's package; `naive_python` is part of this checkout."""
    if name == "naive_python":
        return "here"
    package = {"hf_tokenizers": "tokenizers"}.get(name, name)
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return "–"


def find(measured: list[Measured], name: str, threads: int) -> Measured | None:
    """Return the measurement of a trainer at a thread count."""
    return next((m for m in measured if (m.job.label, m.job.threads) == (name, threads)), None)


def best_seconds(one: Measured | None) -> float | None:
    """Return the best time, or None."""
    return one.best["seconds"] if one and one.best else None


def table(
    plan: Training,
    measured: list[Measured],
    verdicts: list[Verdict],
    at_size: dict[str, Verdict | None],
    refused: set[str],
) -> Section:
    """Build the main table: time, memory, and whether the vocabulary is the same."""
    unit = best_seconds(find(measured, "merganser", plan.threads))
    rows: list[list[str]] = []
    records: list[dict[str, Any]] = []
    for name in plan.names:
        one = find(measured, name, plan.threads)
        proven = next((v for v in verdicts if (v.peer, v.tie) == (name, timed_tie(name))), None)
        verdict = at_size.get(name) or proven
        factor = workload(plan, name)[2]
        took = best_seconds(one)
        scaled = took * factor if took else None
        # A different vocabulary is not the same work, so there is no ratio.
        comparable = name == "merganser" or (verdict is not None and verdict.may_be_timed)
        about = "≈ " if factor != 1.0 else ""
        peak = one.record()["peak_mb"] if one else None
        equal = "the reference" if name == "merganser" else str(verdict or "not compared")
        if name in refused:
            equal = f"not timed; {equal}"
        if one and one.error:
            equal = "failed: " + one.error.splitlines()[-1]
        if factor != 1.0:
            equal += f"; scaled ×{factor:,.0f} from that slice"
        rows.append(
            [
                name,
                version(name),
                about + seconds(scaled),
                about + times(scaled, unit) if comparable else "–",
                number(peak) if factor == 1.0 else "–",
                equal,
            ]
        )
        records.append(
            {
                **(one.record() if one else {"label": name, "error": "not timed"}),
                "version": version(name),
                "scaled_by": factor,
                "scaled_seconds": scaled,
                "times_merganser": scaled / unit if scaled and unit and comparable else None,
                "proven": proven.record() if proven else None,
                "as_timed": verdict.record() if verdict else None,
            }
        )
    size = plan.path.stat().st_size / 1e6
    note = (
        f"{size:,.1f} MB on disk → {plan.vocab_size:,} tokens, `gpt2` pattern, "
        f"{plan.threads} threads. Peak MB is the process's high-water mark, mapped pages included."
    )
    columns = ["trainer", "version", "seconds", "× merganser", "peak MB", "merges equal?"]
    return Section("training", "Training: file → vocabulary", note, columns, rows, records)


def equality_table(verdicts: list[Verdict]) -> Section:
    """Build the table of all proven tie rules, not only the timed ones."""
    rows = [
        [
            v.peer,
            v.tie,
            ties(v.peer)[v.tie] or "fixed",
            v.where,
            "equal" if v.equal else str(v),
        ]
        for v in verdicts
    ]
    note = "Proven before timing: the ordered lists of merges are equal."
    columns = ["trainer", "merganser's `tie_break`", "the peer's setting", "on", "verdict"]
    records = [v.record() for v in verdicts]
    return Section("equality", "Equality of merges", note, columns, rows, records)


def by_threads(plan: Training, measured: list[Measured]) -> Section:
    """Build the table by number of threads."""
    rows = []
    for name in plan.names:
        if workload(plan, name)[2] != 1.0:
            continue
        took = [best_seconds(find(measured, name, threads)) for threads in plan.thread_counts]
        rows.append([name, *map(seconds, took)])
    columns = ["trainer", *(f"{t} thread{'s' * (t > 1)}" for t in plan.thread_counts)]
    records = [m.record() for m in measured]
    note = (
        "Seconds, file → vocabulary. Threads are set by RAYON_NUM_THREADS for the peers, and by "
        "`Local(threads=…)` for merganser."
    )
    return Section("threads", "Training by number of threads", note, columns, rows, records)


def by_stage(plan: Training, measured: list[Measured]) -> Section:
    """Build the table of time by stage, for trainers that report it."""
    rows = []
    records = []
    if "merganser" in plan.names:
        values = {"path": str(plan.path), "pattern": "gpt2"}
        with_size = {**values, "vocab_size": plan.vocab_size}
        ours, split = measure.interleaved(
            [
                Job("merganser, stage by stage", "stages", with_size, plan.threads),
                Job("merganser, split alone, 1 thread", "split_only", values, 1),
            ],
            plan.repeat,
        )
        stages = ours.record()["stages"]
        counting, merging = stages.get("split and count"), stages.get("merge")
        alone = best_seconds(split)
        rows.append(
            ["merganser", seconds(alone), seconds(counting), seconds(merging),
             seconds(best_seconds(ours))]
        )  # fmt: skip
        records += [ours.record(), split.record()]
    for name in plan.names:
        one = find(measured, name, plan.threads)
        if not one or not one.best or not one.best.get("stages"):
            continue
        stages = one.best["stages"]
        counting, merging = stages.get("split and count"), stages.get("merge")
        rows.append([name, "–", seconds(counting), seconds(merging), seconds(best_seconds(one))])
        records.append(one.record())
    note = (
        "Seconds. merganser: `count`, then `train` from its Counts; the split alone runs on one "
        "thread and discards the pre-tokens. gigatoken: from its log. rustbpe and HF tokenizers do "
        "not report stages."
    )
    columns = ["trainer", "split", "split and count", "merge", "total"]
    return Section("stages", "Time by stage", note, columns, rows, records)
