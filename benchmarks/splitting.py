"""Split and count by pattern: a pattern without a preset should not be slow."""

from __future__ import annotations

from pathlib import Path

from benchmarks import measure
from benchmarks.measure import Job
from benchmarks.patterns import CUSTOM
from benchmarks.report import Section, number, seconds, times

PATTERNS = {
    "gpt2": "gpt2",
    "gpt4": "gpt4",
    "o200k": "o200k",
    "custom: nanochat's with `{1,4}`": CUSTOM,
}


def section(path: Path, threads: int, repeat: int) -> Section:
    """Time `merganser.count` with each pattern, as a multiple of the time with gpt2."""
    jobs = [
        Job(name, "count", {"path": str(path), "pattern": pattern}, threads)
        for name, pattern in PATTERNS.items()
    ]
    measured = measure.interleaved(jobs, repeat)
    size = path.stat().st_size / 1e6
    records = [one.record() for one in measured]
    unit = records[0]["seconds"]
    rows = [
        [
            record["label"],
            seconds(record["seconds"]),
            number(size / record["seconds"]) if record["seconds"] else "–",
            times(record["seconds"], unit),
            number(record.get("unique")),
            number(record["peak_mb"]),
        ]
        for record in records
    ]
    note = (
        f"`merganser.count` on {size:,.1f} MB, {threads} threads. Goal: gpt4 and o200k within "
        "1.3× of gpt2, the custom pattern within 2×."
    )
    columns = ["pattern", "seconds", "MB/s", "× gpt2", "unique pre-tokens", "peak MB"]
    return Section("patterns", "Split and count by pattern", note, columns, rows, records)
