"""File → ids on disk, and one million tokens compared with plain Python."""

from __future__ import annotations

import tempfile
from pathlib import Path

from benchmarks import measure
from benchmarks.encode import texts
from benchmarks.encode.goals import goal
from benchmarks.encode.plan import Plan, last_words
from benchmarks.encode.proof import Prover
from benchmarks.measure import Job
from benchmarks.report import Section, number, seconds, times

# A folder in memory: fsync is free there, so the speed of the disk does not matter.
MEMORY = Path("/dev/shm")


def section(plan: Plan, prover: Prover) -> Section:
    """Compare `encode_corpus` with merganser's speed in memory and with code that users of peers write."""
    path = texts.english(plan.disk)
    expected = str(prover.reference("file to disk", "gpt4", [path]))
    folder = str(MEMORY if MEMORY.is_dir() else tempfile.gettempdir())
    to_disk = {"path": str(path), "folder": folder, "expected": expected}
    jobs = []
    for threads in plan.thread_counts:
        jobs += [
            Job("merganser, in memory", "encode_in_memory", {"path": str(path)}, threads),
            Job("merganser, file to disk", "encode_corpus_to_disk", to_disk, threads),
            *(
                plan.job(peer, "encode_flat_to_disk", to_disk, threads, "flat, `tofile`")
                for peer in plan.names
                if peer != "merganser"
            ),
        ]
    measured = measure.interleaved(jobs, plan.rounds)
    size = path.stat().st_size / 1e6
    units = {one.job.threads: one.least("all") for one in measured if one.job.task == "encode_in_memory"}
    shares = {
        f"{one.job.threads} threads": unit / took if (unit := units[one.job.threads]) and took else None
        for one in measured
        if one.job.task == "encode_corpus_to_disk"
        for took in [one.least("all")]
    }
    plan.goals.append(goal("File to disk: its own speed in memory", 0.8, shares))
    rows = []
    for one in measured:
        if not one.error and not any(run["stages"] for run in one.runs):
            continue  # the peer has no flat output
        took = one.least("all")
        rows.append(
            [
                one.job.label,
                str(one.job.threads),
                seconds(took),
                number(size / took) if took else "–",
                times(units.get(one.job.threads), took),
                last_words(one),
            ]
        )
    note = (
        f"{size:.1f} MB of `english.txt`, cold, uint32. In memory: a list of documents → `encode_flat`. "
        f"To disk: `encode_corpus`, from the file to files in {folder}, where the final fsync costs nothing. "
        "No peer writes ids: for them, documents are read in Python (gigatoken reads the file itself), made "
        "flat, and written by `numpy.tofile`. Wanted: to disk at least 0.8 of in memory."
    )
    columns = ["", "threads", "seconds", "MB/s", "of in memory", ""]
    return Section("disk", "File → ids on disk", note, columns, rows, [m.record() for m in measured])


#: The encoders, their names in the table, and the seconds that the description of nanochat's tokenizer gives.
MILLION = {
    "naive_python": ("Python: `regex` and a dictionary of ranks", 30.0),
    "hf_tokenizers": ("Hugging Face tokenizers", 1.2),
    "tiktoken": ("tiktoken", 0.3),
    "merganser": ("merganser", None),
}


def million(plan: Plan) -> Section:
    """One million tokens beside Python, Hugging Face tokenizers and tiktoken."""
    path = texts.english(plan.half // 2)
    jobs = [plan.job(peer, "encode_million", {"path": str(path)}) for peer in MILLION]
    measured = measure.interleaved(jobs, min(plan.rounds, 2))
    found = {one.job.label: one.best["note"] for one in measured if one.best}
    tokens, expected = found.get("tiktoken", (None, None))
    per_token = [took / tokens if tokens and (took := one.least("all")) else None for one in measured]
    rows = []
    for one, cost in zip(measured, per_token, strict=True):
        title, described = MILLION[one.job.label]
        cores = one.best["cores"] if one.best else None
        ids = last_words(one) or ("equal" if found[one.job.label][1] == expected else "DIFFER")
        rows.append(
            [
                title,
                seconds(cost * 1e6 if cost else None),
                seconds(cost * 1e6 * cores if cost and cores else None),
                times(cost, per_token[-1]),
                seconds(described),
                ids,
            ]
        )
    note = (
        f"Seconds for a million tokens (measured on {number(tokens)}), one document at a time by the plain "
        "call, one thread, cold, cl100k_base. The ids of the timed run are compared with tiktoken's. "
        "Described: the seconds in the description of nanochat's tokenizer, which does not name the machine."
    )
    columns = ["encoder", "seconds", "processor s", "× merganser", "described", "ids"]
    return Section("million", "One million tokens", note, columns, rows, [m.record() for m in measured])
