"""The road of the split: from Python's regex to all Rust, one step at a time.

Also what the white-space fix-up is for. In `x   y` the gpt2 pattern gives the last space to the
word (`x`, two spaces, ` y`) by the look-ahead `\\s+(?!\\S)`. A splitter that drops the look-ahead
is simpler and makes another vocabulary; how much other is counted here.
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
    ("all Rust, without the white-space fix-up (other pre-tokens)", "count", GPT2_WITHOUT_FIXUP),
    ("all Rust: `merganser.count`", "count", "gpt2"),
)


def sections(path: Path, vocab_size: int, threads: int, repeat: int, folder: Path) -> list[Section]:
    """The road in one table, the mismatch in another."""
    return [road(path, repeat), mismatch(path, vocab_size, threads, folder)]


def road(path: Path, repeat: int) -> Section:
    """Every step at 1, 2 and 8 threads."""
    jobs = [
        Job(label, task, values(path, pattern), threads)
        for label, task, pattern in STEPS
        for threads in THREADS
    ]
    records = [one.record() for one in measure.interleaved(jobs, repeat)]
    size = path.stat().st_size / 1e6
    rows = []
    for label, _, _ in STEPS:
        steps = [record for record in records if record["label"] == label]
        took = [record["seconds"] for record in steps]
        best = min((t for t in took if t), default=None)
        rows.append(
            [
                label,
                *map(seconds, took),
                number(size / best) if best else "–",
                number(steps[0].get("unique")),
            ]
        )
    note = (
        f"Seconds to split and count {size:,.1f} MB with the gpt2 pattern; MB/s of the best. "
        "Python's threads are processes (the GIL), and sending the counts back is part of it. "
        "More threads than cores show what over-subscription costs. The `regex` module may count "
        "a few pre-tokens differently: its Unicode version is not ours."
    )
    columns = ["step", *(f"{t} thread{'s' * (t > 1)}" for t in THREADS), "MB/s", "unique pre-tokens"]
    return Section("split_road", "The road of the split", note, columns, rows, records)


def values(path: Path, pattern: str | None) -> dict[str, str]:
    """The values of a step; Python's steps know their pattern."""
    return {"path": str(path)} | ({"pattern": pattern} if pattern else {})


def mismatch(path: Path, vocab_size: int, threads: int, folder: Path) -> Section:
    """Train with and without the look-ahead, and with it by backtracking; compare the tokens."""
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
    note = f"Tokens of the gpt2 vocabulary ({vocab_size:,}) that a vocabulary trained so lacks."
    columns = ["pattern", "tokens missing", "for example"]
    title = "What the white-space fix-up is for"
    return Section("fixup", title, note, columns, rows, records)
