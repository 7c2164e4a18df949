"""What the approximate re-sort saves and costs: `python3 benchmarks/ladder/approximation.py`.

Trains on the first 2 MB of english.txt (5,000 tokens) with the top tenth cached, and again with all pairs
sorted in every round, which is exact. Records the processor time of sorting, the first merge that is wrong,
and the tokens that both vocabularies need for the training text and for the 2 MB that follow it.
Everything but the times is deterministic; `--check` computes it again and compares it with the record. Takes
three minutes, the check five seconds.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timezone
from itertools import pairwise
from pathlib import Path
from typing import Any

if __name__ == "__main__":  # as a script, Python looks for modules in this folder
    sys.path[0] = str(Path(__file__).resolve().parent.parent.parent)

import merganser
from merganser import Tokenizer
from merganser.learn.ladder import Merges, approximate
from merganser.learn.ladder.running import first_difference
from merganser.learn.ladder.settings import LadderSettings
from merganser.learn.ladder.words import PATTERN, TIE_BREAK, visible

from benchmarks import corpora
from benchmarks.environment import REPOSITORY
from benchmarks.report import commit, replace

RECORD = REPOSITORY / "benchmarks" / "records" / "ladder-approximate.json"
MEGABYTES, VOCAB_SIZE = 2.0, 5_000


@dataclass(frozen=True)
class Settings(LadderSettings):
    """Settings that keep the counters of a step."""

    counters: dict[str, float] = field(default_factory=dict)

    def log(self, **counters: float) -> None:
        self.counters.update(counters)


def sort_all(
    cached: list[approximate.Entry], updated: set[int], counts: Mapping[int, int]
) -> list[approximate.Entry]:
    """Sort all pairs, in place of `approximate.resort`."""
    return approximate.sort_pairs(counts, counts)


def texts() -> tuple[str, str]:
    """Return the training text and the text after it."""
    shared = corpora.shared()
    path = shared / "english.txt" if shared else corpora.corpus("mixed")
    size = int(MEGABYTES * 1e6)
    with path.open("rb") as file:
        return tuple(file.read(size).decode(errors="ignore") for _ in range(2))  # type: ignore[return-value]


def pair_counts(text: str, merges: Merges) -> dict[tuple[bytes, bytes], int]:
    """Count the adjacent pairs of a text after these merges."""
    counts: dict[tuple[bytes, bytes], int] = {}
    tokenizer = tokenizer_of(merges)
    token = tokenizer.decode_bytes
    words = approximate.count_types(text, LadderSettings())
    for word, times in words.items():
        tokens = [token([id]) for id in tokenizer.encode(word.decode(errors="surrogateescape"))]
        for pair in pairwise(tokens):
            counts[pair] = counts.get(pair, 0) + times
    return counts


def tokenizer_of(merges: Merges) -> Tokenizer:
    ranks = {bytes([byte]): byte for byte in range(256)}
    ranks |= {left + right: 256 + nth for nth, (left, right) in enumerate(merges)}
    return Tokenizer(ranks, pattern=PATTERN)


def train_exactly(text: str) -> Merges:
    """Return the merges of the core, which every exact step of the ladder learns as well."""
    trained = merganser.train([text], VOCAB_SIZE, pattern=PATTERN, tie_break=TIE_BREAK, separator=None)
    return list(trained.merges)


def deterministic(training: str, held_out: str, wrong: Merges) -> dict[str, Any]:
    """Compare the approximate merges with the exact ones."""
    exact = train_exactly(training)
    at = first_difference(wrong, exact)
    tokens = {
        name: {
            text_name: tokenizer_of(merges).count_tokens(text)
            for text_name, text in (("training", training), ("held-out", held_out))
        }
        for name, merges in (("exact", exact), ("approximate", wrong))
    }
    result: dict[str, Any] = {"first_wrong": at, "common": len(set(wrong) & set(exact)), "tokens": tokens}
    if at is not None:
        counts = pair_counts(training, exact[:at])
        for name, merges in (("right", exact), ("wrong", wrong)):
            result[name] = {"pair": [visible(token) for token in merges[at]], "count": counts[merges[at]]}
    return result


def table(record: dict[str, Any]) -> list[str]:
    """The record in Markdown."""
    exact, wrong = record["tokens"]["exact"], record["tokens"]["approximate"]
    lines = [
        f"| {record['megabytes']:g} MB, {record['vocab_size']:,} tokens | all pairs sorted (exact) "
        "| approximate re-sort (not exact) | |",
        "|---|---:|---:|---:|",
        f"| processor s, sorting alone | {record['sort_seconds']['exact']:.1f} "
        f"| {record['sort_seconds']['approximate']:.1f} "
        f"| {record['sort_seconds']['exact'] / record['sort_seconds']['approximate']:.1f} times as fast |",
        f"| merges in common | {record['merges']:,} | {record['common']:,} "
        f"| {record['merges'] - record['common']:,} others |",
    ]
    for name, what in (("training", "tokens of the training text"), ("held-out", "tokens of held-out text")):
        change = f"{wrong[name] / exact[name] - 1:+.3%}".replace("-", "−")
        lines.append(f"| {what} | {exact[name]:,} | {wrong[name]:,} | {change} |")
    if record["first_wrong"] is not None:
        right, chosen = record["right"], record["wrong"]
        lines.append(
            f"| merge {record['first_wrong'] + 1:,}, the first that is wrong "
            f"| `{' + '.join(right['pair'])}`, {right['count']:,} times "
            f"| `{' + '.join(chosen['pair'])}`, {chosen['count']:,} times | |"
        )
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--check", action="store_true", help="compare with the record, except for the times")
    options = parser.parse_args()
    training, held_out = texts()
    settings = Settings(VOCAB_SIZE)
    wrong = approximate.train(training, settings)
    found = deterministic(training, held_out, wrong)
    if options.check:
        record = json.loads(RECORD.read_text("utf-8"))
        stale = {
            name: (record.get(name), value) for name, value in found.items() if record.get(name) != value
        }
        if stale:
            raise SystemExit(f"{RECORD.name} is out of date: {stale}; run benchmarks/ladder/approximation.py")
        return
    sorting = Settings(VOCAB_SIZE)
    approximate.resort = sort_all
    exact = approximate.train(training, sorting)
    if exact != train_exactly(training):
        raise SystemExit("sorting all pairs in every round must be exact")
    record = {
        "date": datetime.now(timezone.utc).strftime("%Y-%m-%d"),
        "commit": commit(),
        "machine": f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}",
        "megabytes": MEGABYTES,
        "vocab_size": VOCAB_SIZE,
        "merges": len(exact),
        "sort_seconds": {
            "exact": sorting.counters["sort_seconds"],
            "approximate": settings.counters["sort_seconds"],
        },
        **found,
    }
    replace(RECORD, json.dumps(record, indent=1, ensure_ascii=False) + "\n")
    print("\n".join(table(record)))


if __name__ == "__main__":
    main()
