"""Trainings that are killed: a command to run in a process of its own, and what must be true afterwards."""

import random
import subprocess
import sys
import time
from pathlib import Path

from merganser import Counts

VOCAB_SIZE = 60_000


def write_counts(folder: Path) -> None:
    """Pieces that take longer to merge than Python to start."""
    random.seed(4)
    letters = "abcdefghijklmnopqrst"
    weights = [1 / (n + 1) for n in range(len(letters))]
    words = {"".join(random.choices(letters, weights, k=random.randint(6, 24))) for _ in range(120_000)}
    Counts({word.encode(): 1 + len(word) * 7919 % 13 for word in words}).save(folder / "all.counts")


def command(out: str, *options: str) -> list[str]:
    training = ["train", "all.counts", "--vocab-size", str(VOCAB_SIZE), "--out", out, *options]
    return [sys.executable, "-W", "error", "-m", "merganser", *training]


def check_killed_trainings_go_on(folder: Path, kills: int, seed: int) -> None:
    """Kills at random moments until so many have hit; each time the next run goes on, and the last one ends
    with the very file of a training that nobody disturbed. A tokenizer that can be seen is a whole one.
    """
    write_counts(folder)
    start = time.perf_counter()
    subprocess.run(command("whole"), cwd=folder, check=True, capture_output=True)
    takes = time.perf_counter() - start
    expected = (folder / "whole" / "tokenizer.merganser").read_bytes()
    result = folder / "out" / "tokenizer.merganser"
    moments = random.Random(seed)
    hits = 0
    while hits < kills:
        process = subprocess.Popen(
            command("out", "--work-dir", "work", "--checkpoint-every", "0.001"),
            cwd=folder,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            process.wait(timeout=moments.uniform(0.05, 1.1) * takes)
            assert process.returncode == 0
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            hits += 1
        if result.exists():
            assert result.read_bytes() == expected
            # All merges are in the log by now: begin anew, so that kills hit the merging too.
            result.unlink()
            (folder / "work" / "merges.log").unlink(missing_ok=True)
    last = subprocess.run(
        command("out", "--work-dir", "work"), cwd=folder, check=False, capture_output=True, text=True
    )
    assert last.returncode == 0, last.stderr
    assert result.read_bytes() == expected
