"""Measure appends to a long text, beside encoding the whole text again.

    PYTHONPATH=python python3 benchmarks/compat/incremental.py [FOLDER ...]

For each tokenizer (a trained one, and folders or files that `merganser.load` reads): the median and the 99th
percentile of appending 1 KB to 1 MB, of a fork, of truncating by 1 KB, and of encoding all. Every encoder is
compared with the whole encoding before and after.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path

import merganser

SIZE, ADDED, ROUNDS = 1_000_000, 1_000, 300
DOCS = Path(__file__).resolve().parents[2] / "docs"


def timed(work: Callable[[], object]) -> float:
    """Return the time of one call in microseconds."""
    begun = time.perf_counter()
    work()
    return (time.perf_counter() - begun) * 1e6


def main(sources: list[str]) -> None:
    """Print a table."""
    prose = "\n".join(file.read_text() for file in sorted(DOCS.rglob("*.md")))
    text = (prose * (SIZE // len(prose) + 2))[: SIZE + 2 * ADDED * ROUNDS]
    trained = merganser.train([prose], 8000)
    tokenizers = {"trained, gpt4": trained} | {Path(name).name: merganser.load(name) for name in sources}
    print("| tokenizer | append 1 KB: median | 99 % | fork | truncate | encode 1 MB |")
    print("|---|---|---|---|---|---|")
    for name, tokenizer in tokenizers.items():
        base = tokenizer.incremental(disallowed_special=())
        base.append(text[:SIZE])
        assert base.ids == tokenizer.encode_ordinary(text[:SIZE])
        whole = min(
            timed(
                lambda tokenizer=tokenizer: tokenizer.count_tokens(
                    text[:SIZE], disallowed_special=(), threads=1
                )
            )
            for _ in range(3)
        )  # type: ignore[misc]
        appends, forks, cuts = [], [], []
        for turn in range(ROUNDS):
            new = text[SIZE + turn * ADDED : SIZE + (turn + 1) * ADDED]
            forks.append(timed(base.fork))
            encoder = base.fork()
            appends.append(timed(lambda encoder=encoder, new=new: encoder.append(new)))  # type: ignore[misc]
            cuts.append(timed(lambda encoder=encoder: encoder.truncate_to(SIZE)))  # type: ignore[misc]
            if turn % 100 == 0:
                assert encoder.ids == base.ids
        print(
            f"| {name} | {statistics.median(appends):.1f} µs | {sorted(appends)[-ROUNDS // 100]:.1f} µs "
            f"| {statistics.median(forks):.1f} µs | {statistics.median(cuts):.1f} µs "
            f"| {whole / 1000:.1f} ms |"
        )


if __name__ == "__main__":
    main(sys.argv[1:])
