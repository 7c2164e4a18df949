"""Splitting and counting step by step: from Python's regex to all Rust.

Also the white-space fix-up: its cost, with and without it on the same engine, and its purpose. In `x   y` the
look-ahead `\\s+(?!\\S)` of the gpt2 pattern assigns the last space to the word (`x`, two spaces, ` y`). A
splitter without the look-ahead is simpler but trains a different vocabulary; the last table counts the
difference.
"""

from __future__ import annotations

from pathlib import Path

from benchmarks import equality, measure
from benchmarks.measure import Job, Measured
from benchmarks.patterns import (
    GPT2_BACKTRACKING,
    GPT2_BACKTRACKING_WITHOUT_FIXUP,
    GPT2_DFA,
    GPT2_DFA_WITHOUT_FIXUP,
    GPT2_WITHOUT_FIXUP,
)
from benchmarks.report import Section, number, seconds

THREADS = (1, 2, 8)

PYTHON = "Python: `regex` splits, `Counter` counts"
RUST_SPLIT = "Rust splits, Python counts"
RUST = "all Rust: `merganser.count`"
STEPS = (
    (PYTHON, "python_split", None),
    (RUST_SPLIT, "rust_split_python_count", None),
    ("all Rust, backtracking engine", "count", GPT2_BACKTRACKING),
    ("all Rust, DFA", "count", GPT2_DFA),
    (RUST, "count", "gpt2"),
)

#: By engine: the pattern with and without the look-ahead.
FIXUP = {
    "DFA, which gives back the last character": (GPT2_DFA, GPT2_DFA_WITHOUT_FIXUP),
    "backtracking engine, with the look-ahead": (GPT2_BACKTRACKING, GPT2_BACKTRACKING_WITHOUT_FIXUP),
}


def sections(path: Path, vocab_size: int, threads: int, repeat: int, folder: Path) -> list[Section]:
    """Build all tables."""
    jobs = [
        Job(label, task, values(path, pattern), threads)
        for label, task, pattern in STEPS
        for threads in THREADS
    ]
    split_alone = Job("all Rust, split alone", "split_only", values(path, "gpt2"), 1)
    *measured, alone = measure.interleaved([*jobs, split_alone], repeat)
    return [
        steps(path, measured),
        apart(path, measured, alone),
        fixup_cost(path, repeat),
        mismatch(path, vocab_size, threads, folder),
    ]


def steps(path: Path, measured: list[Measured]) -> Section:
    """Every step at 1, 2 and 8 threads."""
    records = [one.record() for one in measured]
    size = path.stat().st_size / 1e6
    rows = []
    for label, _, _ in STEPS:
        runs = [record for record in records if record["label"] == label]
        took = [record["seconds"] for record in runs]
        best = min((t for t in took if t), default=None)
        rows.append(
            [
                label,
                *map(seconds, took),
                number(size / best) if best else "–",
                seconds(runs[0]["processor"]),
                number(runs[0].get("unique")),
            ]
        )
    note = (
        f"Seconds to split and count {size:,.1f} MB with the gpt2 pattern, MB/s of the best, and the "
        "processor seconds of one thread. The Python steps use processes instead of threads (the GIL) and "
        "include the transfer of the counts. More threads than cores show the cost of oversubscription. The "
        "`regex` module may count a few pre-tokens differently because its Unicode version differs from ours."
    )
    columns = [
        "step",
        *(f"{t} thread{'s' * (t > 1)}" for t in THREADS),
        "MB/s",
        "processor s",
        "unique pre-tokens",
    ]
    return Section("split_steps", "Splitting and counting, step by step", note, columns, rows, records)


def apart(path: Path, measured: list[Measured], alone: Measured) -> Section:
    """Split and count, timed separately, in one process."""
    rows = []
    for label in (PYTHON, RUST_SPLIT):
        one = next(one for one in measured if (one.job.label, one.job.threads) == (label, 1))
        rows.append([label, *map(seconds, (one.least("split"), one.least("count"), one.processor))])
    rust = next(one for one in measured if (one.job.label, one.job.threads) == (RUST, 1))
    split, total = alone.processor, rust.processor
    counting = total - split if total and split else None
    rows.append([RUST, *map(seconds, (split, counting, total))])
    note = (
        f"Processor seconds for {path.stat().st_size / 1e6:,.1f} MB in one process. Python's total includes "
        "reading the file. In Rust both happen in one pass: the split alone is measured; the count is the "
        "difference."
    )
    columns = ["step", "split", "count", "total"]
    return Section("split_apart", "Split and count, apart", note, columns, rows, [alone.record()])


def fixup_cost(path: Path, repeat: int) -> Section:
    """Time each engine with and without the fix-up at 1, 2 and 8 threads, and the split alone."""
    jobs = []
    for engine, patterns in FIXUP.items():
        for pattern in patterns:
            jobs.append(Job(engine, "split_only", values(path, pattern), 1))
            jobs += [Job(engine, "count", values(path, pattern), threads) for threads in THREADS]
    measured = measure.interleaved(jobs, repeat)
    width = 1 + len(THREADS)
    rows = []
    for nth, engine in enumerate(FIXUP):
        first = 2 * nth * width
        having, lacking = measured[first : first + width], measured[first + width : first + 2 * width]
        rows.append([f"{engine}: with the fix-up", *(seconds(one.processor) for one in having)])
        rows.append(["the same without (different pre-tokens)", *(seconds(one.processor) for one in lacking)])
        rows.append(["cost of the fix-up", *map(cost, having, lacking)])
    note = (
        f"Processor seconds for {path.stat().st_size / 1e6:,.1f} MB, the gpt2 pattern with and without "
        "`\\s+(?!\\S)` on the same engine. The first column is the split alone on one thread; the others "
        "split and count, where without the fix-up there are other pre-tokens to count. A difference smaller "
        "than between two runs of the same job is given as none."
    )
    columns = ["engine", "split", *(f"{t} thread{'s' * (t > 1)}" for t in THREADS)]
    records = [one.record() for one in measured]
    title = "Cost of the white-space fix-up"
    return Section("fixup_cost", title, note, columns, rows, records)


def cost(having: Measured, lacking: Measured) -> str:
    """Format the difference of the least times, or "none" if it is within the spread of the runs."""
    if not having.best or not lacking.best:
        return "–"
    sides = [[run["processor"] for run in one.runs] for one in (having, lacking)]
    difference = min(sides[0]) / min(sides[1]) - 1
    spread = max(max(side) / min(side) - 1 for side in sides)
    if len(sides[0]) > 1 and abs(difference) <= spread:
        return f"none ({difference:+.1%}, spread {spread:.1%})"
    return f"{difference:+.1%}"


def values(path: Path, pattern: str | None) -> dict[str, str]:
    """Return the arguments of a step; the Python steps have a fixed pattern."""
    return {"path": str(path)} | ({"pattern": pattern} if pattern else {})


def mismatch(path: Path, vocab_size: int, threads: int, folder: Path) -> Section:
    """Train with the look-ahead, with it by backtracking, and without it; compare the tokens."""
    patterns = {
        "gpt2": "gpt2",
        "gpt2 by backtracking": GPT2_BACKTRACKING,
        "gpt2 without `\\s+(?!\\S)`": GPT2_WITHOUT_FIXUP,
    }
    tokens: dict[str, set[bytes]] = {}
    rows: list[list[str]] = []
    records = []
    for number_, (name, pattern) in enumerate(patterns.items()):
        target = folder / f"pattern-{number_}.merges"
        outcome = measure.run(
            Job(
                name,
                "train",
                {
                    "peer": "merganser",
                    "path": str(path),
                    "vocab_size": vocab_size,
                    "tie": "ids",
                    "pattern": pattern,
                    "merges_to": str(target),
                },
                threads,
            )
        )
        if "error" in outcome:
            rows.append([name, "–", outcome["error"].splitlines()[-1]])
            continue
        tokens[name] = {left + right for left, right in equality.read(target)}
        lost = tokens["gpt2"] - tokens[name] if "gpt2" in tokens else set()
        examples = ", ".join(repr(t.decode(errors="replace")) for t in sorted(lost)[:6])
        rows.append([name, f"{len(lost):,} of {len(tokens[name]):,}", examples or "none"])
        records.append({"pattern": name, "missing": len(lost), "tokens": len(tokens[name])})
    note = f"Tokens of the gpt2 vocabulary ({vocab_size:,}) that the other vocabularies lack."
    columns = ["pattern", "missing tokens", "examples"]
    title = "Purpose of the white-space fix-up"
    return Section("fixup", title, note, columns, rows, records)
