"""Before and after, for 1 billion tokens of text with 10 million unique pre-tokens and 50,000 tokens.

`python3 benchmarks/scale/described.py`, with the Python of an environment that has merganser. `before` is the
plain Python trainer whose bottlenecks docs/scale.md lists: a dictionary of tuples of bytes that every merge
scans and copies. It is run for a few merges on one million of the pre-tokens, and scaled: memory by
pre-tokens, time by pre-tokens × merges. `after` is `merganser train` on 4 GB of generated text, run once
without a limit and once with `--memory 256MB`. Each runs in a fresh process; processor seconds, wall seconds
and the peak of resident memory are recorded in `records/scale-described.json`. Takes five minutes and 4 GB of
disk; `--megabytes 40` tries it out, and prints the record instead.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections import Counter
from datetime import datetime, timezone
from itertools import islice, pairwise
from pathlib import Path
from typing import Any

if __name__ == "__main__":  # as a script, Python looks for modules in this folder
    sys.path[0] = str(Path(__file__).resolve().parent.parent.parent)

from benchmarks.environment import REPOSITORY, say
from benchmarks.memory import peak_mb
from benchmarks.report import commit, cpu_name, replace

RECORD = REPOSITORY / "benchmarks" / "records" / "scale-described.json"
MEGABYTES, UNIQUE, VOCAB_SIZE = 4_000, 10_000_000, 50_000
SAMPLE, SAMPLE_MERGES = 1_000_000, 5

Pretoken = tuple[bytes, ...]


def merge_all(counts: dict[Pretoken, int], pairs: Counter[tuple[bytes, bytes]]) -> dict[Pretoken, int]:
    """One merge as the plain trainer does it: scan every pre-token, and build the dictionary anew.

    Pair counts are kept up to date only for the pre-tokens that change.
    """
    left, right = max(pairs, key=lambda pair: (pairs[pair], pair))
    merged_counts: dict[Pretoken, int] = {}
    for pretoken, times in counts.items():
        if (left, right) not in pairwise(pretoken):
            merged_counts[pretoken] = times
            continue
        tokens: list[bytes] = []
        at = 0
        while at < len(pretoken):
            if pretoken[at] == left and at + 1 < len(pretoken) and pretoken[at + 1] == right:
                tokens.append(left + right)
                at += 2
            else:
                tokens.append(pretoken[at])
                at += 1
        for pair in pairwise(pretoken):
            pairs[pair] -= times
        for pair in pairwise(tokens):
            pairs[pair] += times
        merged_counts[tuple(tokens)] = times
    return merged_counts


def before(path: str) -> dict[str, float]:
    """Load counted pre-tokens and merge a few times; runs in a fresh process."""
    start_mb = peak_mb()
    single = [bytes([byte]) for byte in range(256)]
    counts: dict[Pretoken, int] = {}
    pairs: Counter[tuple[bytes, bytes]] = Counter()
    with Path(path).open("rb") as file:
        for line in file:
            word, _, times = line.rpartition(b"\t")
            pretoken = tuple(single[byte] for byte in word)
            counts[pretoken] = int(times)
            for pair in pairwise(pretoken):
                pairs[pair] += int(times)
    start = time.process_time()
    for _ in range(SAMPLE_MERGES):
        counts = merge_all(counts, pairs)
    seconds = time.process_time() - start
    return {
        "pretokens": len(counts),
        "bytes_per_pretoken": (peak_mb() - start_mb) * 1e6 / len(counts),
        "seconds_per_visit": seconds / SAMPLE_MERGES / len(counts),
    }


def run(command: list[str]) -> dict[str, float]:
    """Run a program; return its times and peak memory."""
    start = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    assert process.stderr
    said = process.stderr.read()
    _, status, used = os.wait4(process.pid, 0)
    if status:
        raise SystemExit(f"{' '.join(command)} failed: {said.decode(errors='replace')[-2000:]}")
    return {
        "seconds": time.perf_counter() - start,
        "cpu_seconds": used.ru_utime + used.ru_stime,
        "peak_mb": used.ru_maxrss * 1024 / 1e6,
    }


def measure(megabytes: float) -> dict[str, Any]:
    """Measure both sides; `megabytes` below 4,000 scales everything down."""
    import merganser

    factor = megabytes / MEGABYTES
    unique, vocab_size = round(UNIQUE * factor), max(round(VOCAB_SIZE * factor), 300)
    with tempfile.TemporaryDirectory(prefix="merganser-described-") as name:
        folder = Path(name)
        text, counts_file = folder / "text.txt", folder / "text.counts"
        say(f"generating {megabytes:g} MB")
        generate = [sys.executable, str(REPOSITORY / "benchmarks" / "scale" / "generate.py"), str(text)]
        run([*generate, "--megabytes", f"{megabytes:g}", "--unique", str(unique)])
        after = {}
        for budget in ("", "256MB"):
            say(f"merganser train, {budget or 'no limit'}")
            out = folder / f"out-{budget}"
            options = ["--vocab-size", str(vocab_size), "--out", str(out)]
            command = [sys.executable, "-m", "merganser", "train", str(text), *options]
            after[budget or "no limit"] = run(command + ["--memory", budget] * bool(budget))
        say("the plain trainer")
        counts = merganser.count(text, out=counts_file)
        facts = {"bytes": text.stat().st_size, "unique": len(counts), "pretokens": counts.total}
        tokens = merganser.load(out).training
        sample = folder / "sample.tsv"
        with sample.open("wb") as file:
            every = max(len(counts) // SAMPLE, 1)
            pretokens = (pair for batch in counts.batches() for pair in batch)
            for pretoken, times in islice(pretokens, 0, None, every):
                if b"\n" not in pretoken and b"\t" not in pretoken:
                    file.write(b"%s\t%d\n" % (pretoken, times))
        code = (
            "import json, sys; from benchmarks.scale.described import before; "
            "print(json.dumps(before(sys.argv[1])))"
        )
        done = subprocess.run(
            [sys.executable, "-c", code, str(sample)],
            cwd=REPOSITORY,
            capture_output=True,
            text=True,
            check=True,
        )
    return {
        "date": datetime.now(timezone.utc).strftime("%Y-%m-%d"),
        "commit": commit(),
        "machine": f"{cpu_name()}, {os.cpu_count()} cores, Python {platform.python_version()}",
        **facts,
        "merges": tokens["merges"],
        "before": scaled(json.loads(done.stdout), facts["unique"], tokens["merges"]),
        "after": after,
    }


def scaled(sample: dict[str, float], unique: int, merges: int) -> dict[str, float]:
    """Scale the plain trainer from its sample to all pre-tokens and merges."""
    visits = unique * merges
    return sample | {
        "visits": visits,
        "gigabytes": sample["bytes_per_pretoken"] * unique / 1e9,
        "days": sample["seconds_per_visit"] * visits / 86_400,
    }


def table(record: dict[str, Any]) -> list[str]:
    """The totals in Markdown, for docs/scale.md."""
    before, after = record["before"], record["after"]
    free, within = after["no limit"], after["256MB"]
    return [
        f"| {record['bytes'] / 1e9:.0f} GB, {record['unique'] / 1e6:.0f} million unique pre-tokens, "
        f"{record['merges']:,} merges | before: described | before: sampled and scaled | after: measured "
        "| after: measured, `--memory 256MB` |",
        "|---|---:|---:|---:|---:|",
        f"| peak memory | 50 to 100 GB | {before['gigabytes']:.1f} GB | {free['peak_mb'] / 1e3:.1f} GB "
        f"| {within['peak_mb']:.0f} MB |",
        f"| pre-tokens visited by merges | 500 billion | {before['visits'] / 1e9:,.0f} billion "
        "| about 0.2 billion (derived) | the same |",
        f"| processor time | days to weeks | {before['days']:.1f} days | {free['cpu_seconds']:.0f} s "
        f"| {within['cpu_seconds']:.0f} s |",
    ]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--megabytes", type=float, default=MEGABYTES, help="less than 4,000 to try it out")
    options = parser.parse_args()
    record = measure(options.megabytes)
    text = json.dumps(record, indent=1) + "\n"
    if options.megabytes == MEGABYTES:
        replace(RECORD, text)
        print("\n".join(table(record)))
    else:
        print(text)


if __name__ == "__main__":
    main()
