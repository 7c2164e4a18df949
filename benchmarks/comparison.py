"""Training beside a minbpe-style trainer, Hugging Face tokenizers and rustbpe, all in full.

The table of `training.py` scales the Python baseline from a slice. Here every trainer runs on the whole file,
with a vocabulary small enough for the baseline to finish: 512 tokens of 10 MB take it about a quarter of an
hour. minbpe itself is not on PyPI; `peers/naive_python.py` is the algorithm that it teaches (regex chunks, a
list of ids for every occurrence, all pairs recounted after every merge), with ties broken by ids so that
its merges can be compared.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from benchmarks import equality, measure
from benchmarks.equality import Prover
from benchmarks.measure import Job
from benchmarks.report import Section, number, seconds, times
from benchmarks.training import timed_tie, version

#: The trainers, their names in the table, and the seconds that the description of nanochat's tokenizer gives.
TRAINERS = {
    "naive_python": ("minbpe-style Python", 300.0),
    "hf_tokenizers": ("Hugging Face tokenizers", 15.0),
    "rustbpe": ("rustbpe", 8.0),
    "merganser": ("merganser", None),
}


@dataclass(frozen=True)
class Comparison:
    """The corpus and the settings."""

    path: Path
    vocab_size: int
    threads: int
    repeat: int
    folder: Path


def section(plan: Comparison) -> Section:
    """Time each trainer on the whole file, and compare the merges of the timed runs."""
    jobs = [
        Job(
            name,
            "train",
            {
                "peer": name,
                "path": str(plan.path),
                "vocab_size": plan.vocab_size,
                "tie": timed_tie(name),
                "merges_to": str(plan.folder / f"compared-{name}.merges"),
            },
            plan.threads,
            rounds=1 if name == "naive_python" else None,
        )
        for name in TRAINERS
    ]
    measured = measure.interleaved(jobs, plan.repeat)
    prover = Prover(plan.folder, plan.threads)
    unit = next(one.processor for one in measured if one.job.label == "merganser")
    rows, records = [], []
    for one in measured:
        name = one.job.label
        title, described = TRAINERS[name]
        if not one.best:
            rows.append([title, version(name), *"–––", "–", seconds(described), one.error or "failed"])
            continue
        verdict = "the reference"
        if name != "merganser":
            theirs = equality.read(Path(one.job.values["merges_to"]))
            compared = prover.compare(name, plan.path, plan.vocab_size, timed_tie(name), theirs)
            verdict = str(compared)
        took = one.best["seconds"]
        rows.append(
            [
                title,
                version(name),
                seconds(took),
                seconds(one.processor),
                times(one.processor, unit),
                number(one.record()["peak_mb"]),
                seconds(described),
                verdict,
            ]
        )
        records.append({**one.record(), "described_seconds": described, "merges_equal": verdict})
    note = (
        f"{plan.path.stat().st_size / 1e6:,.1f} MB → {plan.vocab_size:,} tokens, `gpt2` pattern, "
        f"{plan.threads} threads (Python: one); nothing is scaled. The factor is that of the "
        "processor times. Described: the seconds for 10 MB in the "
        "description of nanochat's tokenizer, which does not give the vocabulary size or the machine."
    )
    columns = [
        "trainer",
        "version",
        "seconds",
        "processor s",
        "× merganser",
        "peak MB",
        "described",
        "merges equal?",
    ]
    return Section("comparison", "Training in full, beside Python", note, columns, rows, records)
