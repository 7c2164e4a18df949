"""benchmarks/scale/described.py runs, and docs/scale.md has its totals."""

import json
import sys
from importlib import import_module
from itertools import pairwise
from pathlib import Path
from typing import Any

import merganser
import processes
import pytest

ROOT = Path(__file__).parents[1]


@pytest.fixture
def described(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(ROOT))
    return import_module("benchmarks.scale.described")


def test_it_runs_at_a_thousandth_of_the_size() -> None:
    command = [sys.executable, "-W", "error", "benchmarks/scale/described.py", "--megabytes", "4"]
    done = processes.run(command, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    record = json.loads(done.stdout)
    assert record["unique"] == pytest.approx(10_000, rel=0.1)
    assert record["before"]["visits"] == record["unique"] * record["merges"]
    assert record["before"]["bytes_per_pretoken"] > 100
    assert all(run["cpu_seconds"] > 0 and run["peak_mb"] > 10 for run in record["after"].values())


def test_the_plain_trainer_merges_like_the_core(described: Any) -> None:
    words = {b"low": 5, b"lower": 2, b"newest": 6, b"widest": 3}
    counts = {tuple(bytes([byte]) for byte in word): times for word, times in words.items()}
    pairs = described.Counter()
    for pretoken, times in counts.items():
        for pair in pairwise(pretoken):
            pairs[pair] += times
    for _ in range(4):
        counts = described.merge_all(counts, pairs)
    tokenizer = merganser.train(merganser.Counts(words), 260, tie_break="bytes")
    assert {b"".join(pretoken): list(pretoken) for pretoken in counts} == {
        word: [tokenizer.decode_bytes([id]) for id in tokenizer.encode(word.decode())] for word in words
    }


def test_the_guide_has_the_recorded_totals(described: Any) -> None:
    record = json.loads(described.RECORD.read_text("utf-8"))
    assert "\n".join(described.table(record)) in (ROOT / "docs" / "scale.md").read_text("utf-8")
