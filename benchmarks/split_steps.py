"""Splitting and counting step by step: from Python's regex to all Rust.

Also shows the purpose of the white-space fix-up. In `x   y` the look-ahead `\\s+(?!\\S)` of the gpt2
pattern assigns the last space to the word (`x`, two spaces, ` y`). A splitter without the look-ahead
is simpler but trains a different vocabulary; the second table counts the difference.
"""

from __future__ import annotations

from pathlib import Path

from benchmarks import equality, measure
from benchmarks.measure import Job
from benchmarks.patterns import GPT2_BACKTRACKING, GPT2_WITHOUT_FIXUP
from benchmarks.report import Section, number, seconds

THREADS = (1, 2, 8)

STEPS = (
    ("Python: `regex` splits, `Counter` counts", "python_split", None),
    ("Rust splits, Python counts", "rust_split_python_count", None),
    ("all Rust, backtracking engine", "count", GPT2_BACKTRACKING),
    ("all Rust, without the white-space fix-up (different pre-tokens)", "count", GPT2_WITHOUT_FIXUP),
    ("all Rust: `merganser.count`", "count", "gpt2"),
)


def sections(path: Path, vocab_size: int, threads: int, repeat: int, folder: Path) -> list[Section]:
    """Build both tables."""
    return [steps(path, repeat), mismatch(path, vocab_size, threads, folder)]


def steps(path: Path, repeat: int) -> Section:
    """Time every step at 1, 2 and 8 threads."""
    jobs = [
        Job(label, task, values(path, pattern), threads)
        for label, task, pattern in STEPS
        for threads in THREADS
    ]
    records = [one.record() for one in measure.interleaved(jobs, repeat)]
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
                number(runs[0].get("unique")),
            ]
        )
    note = (
        f"Seconds to split and count {size:,.1f} MB with the gpt2 pattern, and MB/s of the best. "
        "The Python steps use processes instead of threads (the GIL) and include the transfer of the "
        "counts. More threads than cores show the cost of oversubscription. The `regex` module may "
        "count a few pre-tokens differently because its Unicode version differs from ours."
    )
    columns = ["step", *(f"{t} thread{'s' * (t > 1)}" for t in THREADS), "MB/s", "unique pre-tokens"]
    return Section("split_steps", "Splitting and counting, step by step", note, columns, rows, records)


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
