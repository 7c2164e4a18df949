"""Growth of training time with pre-tokens, with unrelated pre-tokens, and with pathological text."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from benchmarks import corpora, measure, zipf
from benchmarks.environment import REPOSITORY
from benchmarks.measure import Job
from benchmarks.report import Section, number, seconds, times

RUN_KINDS = (*corpora.RUNS, "one line")


def counts_file(name: str, base: int, unrelated: int = 0) -> Path:
    """Return a `.counts` file of generated pre-tokens, written in a separate process to free its memory."""
    tsv = corpora.cached(f"{name}.tsv", lambda target: zipf.write_tsv(target, base, unrelated))

    def convert(target: Path) -> None:
        code = (
            "import sys; from pathlib import Path; from benchmarks import zipf; "
            "zipf.write_counts(Path(sys.argv[1]), Path(sys.argv[2]))"
        )
        command = [sys.executable, "-c", code, str(tsv), str(target)]
        subprocess.run(command, cwd=REPOSITORY, check=True)

    return corpora.cached(f"{name}.counts", convert)


def train_job(label: str, path: Path, vocab_size: int, threads: int) -> Job:
    """Train from a `.counts` file."""
    return Job(label, "train_counts", {"path": str(path), "vocab_size": vocab_size}, threads)


def pretokens(n: int, vocab_size: int, threads: int, repeat: int) -> Section:
    """Train from n unique pre-tokens, and from 10% and 30% of them."""
    sizes = sorted({n // 10, 3 * n // 10, n})
    jobs = [train_job(f"{size:,}", counts_file(f"zipf-{size}", size), vocab_size, threads) for size in sizes]
    records = [one.record() for one in measure.interleaved(jobs, repeat)]
    rows = [
        [
            record["label"],
            seconds(record["stages"].get("load")),
            seconds(record["stages"].get("merge")),
            seconds(record["seconds"]),
            number(record["peak_mb"]),
            record["error"].splitlines()[-1] if record["error"] else "",
        ]
        for record in records
    ]
    note = (
        f"Unique pre-tokens with Zipf counts, mean length 9 bytes → {vocab_size:,} tokens, "
        f"{threads} threads, from a `.counts` file. Goal for 10 million: under 15 s and 2,500 MB."
    )
    columns = ["pretokens", "load s", "merge s", "total s", "peak MB", ""]
    return Section("zipf", "Training from counts", note, columns, rows, records)


def unrelated(n: int, vocab_size: int, threads: int, repeat: int) -> Section:
    """Learn the same merges among a growing number of pre-tokens without any of the merged pairs."""
    base = n // 10
    extras = (0, 3 * base, 9 * base)
    jobs = []
    for extra in extras:
        path = counts_file(f"zipf-{base}-unrelated-{extra}", base, extra)
        # With one merge, nearly all time is setup. The difference is the cost of the merges.
        jobs.append(train_job(f"+{extra:,}, start", path, 257, threads))
        jobs.append(train_job(f"+{extra:,}", path, vocab_size, threads))
    records = [one.record() for one in measure.interleaved(jobs, repeat)]
    rows = []
    costs = []
    for extra, start, whole in zip(extras, records[::2], records[1::2], strict=True):
        before, after = start["stages"].get("merge"), whole["stages"].get("merge")
        done = (whole.get("merges") or 0) - (start.get("merges") or 0)
        costs.append((after - before) / done * 1e6 if before and after and done else None)
        rows.append(
            [f"{base:,} + {extra:,}", seconds(before), seconds(after), number(done),
             number(costs[-1], 2), times(costs[-1], costs[0])]
        )  # fmt: skip
    note = (
        "The added pre-tokens share no pair with the base and are too rare to be merged, so every row "
        "learns the same merges. The time per merge (training minus training of one merge) should "
        "not grow."
    )
    columns = ["pretokens", "one merge, s", "merge s", "merges", "µs per merge", "ratio"]
    return Section("unrelated", "Unrelated pre-tokens", note, columns, rows, records)


def pathological(n: int, threads: int, repeat: int) -> Section:
    """Check that twice the input takes at most 2.3 times as long, whatever the text."""
    jobs = []
    for kind in RUN_KINDS:
        smaller = 2 * n if kind == "one line" else n
        for size in (smaller, 2 * smaller):
            values = {
                "peer": "merganser",
                "path": str(corpora.run_of(kind, size)),
                "vocab_size": 1000,
                "tie": "ids",
            }
            jobs.append(Job(f"{kind}, {size / 1e6:g} MB", "train", values, threads))
    records = [one.record() for one in measure.interleaved(jobs, repeat)]
    rows = []
    for kind, one, two in zip(RUN_KINDS, records[::2], records[1::2], strict=True):
        error = one["error"] or two["error"]
        rows.append(
            [f"{kind} ({two['label'].split(', ')[1]} = 2n)", seconds(one["seconds"]),
             seconds(two["seconds"]), times(two["seconds"], one["seconds"]),
             number(two["peak_mb"]), error.splitlines()[-1] if error else ""]
        )  # fmt: skip
    note = f"merganser, `gpt2` pattern, 1,000 tokens, {threads} threads. Goal: a ratio of at most 2.3."
    columns = ["one run of", "s for n", "s for 2n", "ratio", "peak MB", ""]
    return Section("pathological", "Pathological text", note, columns, rows, records)
