"""The tables: speed beside owner and peers, growth on hostile texts, training on characters."""

from __future__ import annotations

from pathlib import Path
from typing import Any, TypeAlias

from benchmarks import corpora, measure
from benchmarks.encode import texts
from benchmarks.kinds.libraries import owner_of, peers_of
from benchmarks.kinds.texts import HOSTILE
from benchmarks.measure import Job, Measured
from benchmarks.peers import documents
from benchmarks.report import Section, number, seconds, times

STAGES = ("cold", "held-out", "repeat")
Speed: TypeAlias = "float | str | None"


def name(file: Path) -> str:
    return f"{file.parent.name}/{file.name}"


def encode(files: list[Path], half: int, rounds: int) -> list[Section]:
    """Time every file with every library that opens it, one thread, lists of ids."""
    kinds = {kind: texts.halves(kind, half) for kind in texts.KINDS}
    paths = {kind: [str(text.first), str(text.second)] for kind, text in kinds.items()}
    sizes = {
        f"{kind}, {stage}": megabytes(text.first if stage == "cold" else text.second)
        for kind, text in kinds.items()
        for stage in STAGES
    }
    jobs = [
        Job(
            f"{library}, {name(file)}",
            "kinds_encode",
            {"library": library, "file": str(file), "texts": paths},
            rounds=1 if library == owner_of(file) else rounds,
        )
        for file in files
        for library in ("merganser", owner_of(file), *peers_of(file))
    ]
    measured = {one.job.label: one for one in measure.interleaved(jobs, rounds)}
    return [_speeds(files, stage, measured, sizes) for stage in ("held-out", "repeat")]


def _speeds(files: list[Path], stage: str, measured: dict[str, Measured], sizes: dict[str, float]) -> Section:
    rows, records = [], []
    for file in files:
        owner = measured[f"{owner_of(file)}, {name(file)}"]
        digests = {kind: owner.runs[0]["note"][f"{kind}, held-out"] for kind in texts.KINDS}
        for kind in texts.KINDS:
            column = f"{kind}, {stage}"

            found = {
                library: _speed(
                    measured.get(f"{library}, {name(file)}"), digests[kind], column, sizes[column]
                )
                for library in ("merganser", owner_of(file), "gigatoken", "fastokens")
            }
            ours, theirs = found["merganser"], found[owner_of(file)]
            peers = {peer: found[peer] for peer in ("gigatoken", "fastokens")}
            best = max((value for value in peers.values() if isinstance(value, float)), default=None)
            rows.append(
                [
                    name(file),
                    kind,
                    shown(ours),
                    shown(theirs, 1),
                    ratio(ours, theirs),
                    *(shown(value) for value in peers.values()),
                    ratio(ours, best),
                ]
            )
            records.append(
                {
                    "file": name(file),
                    "text": kind,
                    "stage": stage,
                    "merganser": ours,
                    "owner": theirs,
                    **peers,
                }
            )
    note = (
        "MB/s of UTF-8, one thread, lists of ids; the ids equal the owner's (tokenizers for tokenizer.json, "
        "sentencepiece for models), or the cell says that they differ. Wanted: 10× the owner, and 1.5× the "
        "best of gigatoken and fastokens for kinds that are not plain byte-level BPE."
    )
    columns = ["file", "text", "merganser", "owner", "× owner", "gigatoken", "fastokens", "× best peer"]
    return Section(f"encode-{stage}", f"Every kind, {stage}", note, columns, rows, records, figures=True)


def _speed(one: Measured | None, digest: str, column: str, megabytes: float) -> Speed:
    """Return MB/s, or why there is no figure."""
    if one is None:
        return None
    if one.error:
        return "failed"
    if "refused" in one.runs[0]:
        return "refuses"
    kind = column.partition(",")[0]
    if one.runs[0]["note"][f"{kind}, held-out"] != digest:
        return "differs"
    best = one.least(column)
    return megabytes / best if best else None


def shown(value: float | str | None, digits: int = 0) -> str:
    return value if isinstance(value, str) else number(value, digits)


def ratio(ours: Any, theirs: Any) -> str:
    return times(ours, theirs) if isinstance(ours, float) and isinstance(theirs, float) else "–"


def megabytes(path: Path) -> float:
    return sum(len(text.encode()) for text in documents(path)) / 1e6


def growth(files: list[Path], rounds: int, size: int = 500_000) -> Section:
    """Encode n and 2n characters of each hostile text."""
    jobs = [
        Job(name(file), "kinds_growth", {"file": str(file), "size": size}, rounds=rounds) for file in files
    ]
    measured = measure.interleaved(jobs, rounds)
    rows = []
    for one in measured:
        row = [one.job.label]
        for text in HOSTILE:
            once, twice = one.least(f"{text}, {size}"), one.least(f"{text}, {2 * size}")
            row.append(f"{times(twice, once)} ({seconds(twice)} s)" if once and twice else "failed")
        rows.append(row)
    note = (
        f"merganser: processor time for {2 * size:,} characters over that for {size:,}, and the former. "
        "Wanted: at most 2.3."
    )
    return Section(
        "growth",
        "Hostile texts",
        note,
        ["file", *HOSTILE],
        rows,
        [m.record() for m in measured],
        figures=True,
    )


def train(size: int, rounds: int, vocab_size: int = 32_000) -> Section:
    """Train SentencePiece's kind of BPE beside sentencepiece."""
    path = corpora.cached(f"kinds-lines-{size}.txt", lambda target: _write_lines(target, size))
    values = {"path": str(path), "vocab_size": vocab_size}
    jobs = [
        Job("merganser", "kinds_train", {"trainer": "merganser", "memory": None, **values}, threads=2),
        Job(
            "merganser, 256 MB",
            "kinds_train",
            {"trainer": "merganser", "memory": "256MB", **values},
            threads=2,
        ),
        Job(
            "sentencepiece",
            "kinds_train",
            {"trainer": "sentencepiece", "memory": None, **values},
            threads=2,
            rounds=1,
        ),
    ]
    measured = measure.interleaved(jobs, rounds)
    ours = measured[0].best
    rows = []
    for one in measured:
        best = one.best
        if best is None:
            rows.append([one.job.label, "failed", "–", "–", one.error.splitlines()[-1] if one.error else ""])
            continue
        same = "the same" if ours and best["note"] == ours["note"] else f"others: {best['note'][0]:,}"
        rows.append([
            one.job.label, seconds(best["seconds"]), times(best["seconds"], ours and ours["seconds"]),
            number(max(run["peak_mb"] for run in one.runs)), same,
        ])  # fmt: skip
    note = (
        f"{path.stat().st_size / 1e6:,.0f} MB of `mixed`, {vocab_size:,} tokens, identity normalization, "
        "full coverage, two threads. Wanted: 10× sentencepiece, also within 256 MB."
    )
    columns = ["trainer", "seconds", "× merganser", "peak MB", "pieces"]
    return Section("train", "Training on characters", note, columns, rows, [m.record() for m in measured])


def _write_lines(target: Path, size: int) -> None:
    """Write lines of `mixed`: SentencePiece's documents are lines."""
    with target.open("w", encoding="utf-8") as out:
        for text in documents(corpora.corpus(f"{size // 10**6}MB")):
            out.writelines(f"{line}\n" for line in text.split("\n") if line)
