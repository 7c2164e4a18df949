"""Commands that are killed at random moments and restarted, with checks of the result."""

import random
import signal
import sys
import time
from pathlib import Path
from subprocess import DEVNULL, TimeoutExpired

import processes
from merganser import Counts

#: Options that make a command use little memory and write checkpoints often.
SMALL = ("--memory", "16MB", "--checkpoint-every", "0.05", "--threads", "2")


_LETTERS = str.maketrans("0123456789", "ghijklmnop")


def word(number: int) -> str:
    """Return a word of letters for a number: always one pre-token, and different for every number."""
    return f"{number:x}".translate(_LETTERS)


def write_corpus(path: Path, words: int, seed: int = 1) -> None:
    """Write documents of several thousand words, most of which occur once."""
    chance = random.Random(seed)
    with path.open("w") as file:
        for nth in range(words):
            file.write(f"{word(chance.getrandbits(40))} the " if nth % 3 else "of a\n")
            if nth % 4000 == 3999:
                file.write("<|endoftext|>")


def run(*arguments: str) -> processes.Done:
    command = [sys.executable, "-W", "error", "-m", "merganser", *arguments]
    return processes.run(command)


def kill_and_resume(arguments: list[str], kills: int, output: Path) -> None:
    """Kill a command `kills` times at random moments, then let it finish."""
    start = time.perf_counter()
    done = run(*arguments)
    assert done.returncode == 0, done.stderr
    longest = time.perf_counter() - start
    output.unlink()
    chance = random.Random(kills)
    killed = 0
    while killed < kills:
        command = [sys.executable, "-W", "error", "-m", "merganser", *arguments]
        with processes.started(command) as process:
            time.sleep(chance.uniform(0.1, longest))
            process.send_signal(signal.SIGKILL)
            _, stderr = process.communicate()
        assert process.returncode in (0, -signal.SIGKILL), stderr
        killed += process.returncode != 0
        if output.exists():
            # It finished, or was killed during cleanup; the next run starts over.
            output.unlink()
    done = run(*arguments)
    assert done.returncode == 0, done.stderr


#: Large enough that training takes longer than starting Python.
VOCAB_SIZE = 60_000


def write_counts(folder: Path) -> None:
    """Write pre-tokens that take longer to merge than Python takes to start."""
    random.seed(4)
    letters = "abcdefghijklmnopqrst"
    weights = [1 / (n + 1) for n in range(len(letters))]
    words = {"".join(random.choices(letters, weights, k=random.randint(6, 24))) for _ in range(120_000)}
    Counts({word.encode(): 1 + len(word) * 7919 % 13 for word in words}).save(folder / "all.counts")


def training(out: str, *options: str) -> list[str]:
    training = ["train", "all.counts", "--vocab-size", str(VOCAB_SIZE), "--out", out, *options]
    return [sys.executable, "-W", "error", "-m", "merganser", *training]


def check_killed_trainings_resume(folder: Path, kills: int, seed: int) -> None:
    """Kill a training `kills` times at random moments; check that it resumes to the identical tokenizer.

    Whenever the output file exists, it must be complete.
    """
    write_counts(folder)
    start = time.perf_counter()
    processes.run(training("whole"), cwd=folder, check=True)
    takes = time.perf_counter() - start
    expected = (folder / "whole" / "tokenizer.merganser").read_bytes()
    result = folder / "out" / "tokenizer.merganser"
    moments = random.Random(seed)
    hits = 0
    while hits < kills:
        command = training("out", "--work-dir", "work", "--checkpoint-every", "0.001")
        with processes.started(command, cwd=folder, stdout=DEVNULL, stderr=DEVNULL) as process:
            try:
                process.wait(timeout=moments.uniform(0.05, 1.1) * takes)
                assert process.returncode == 0
            except TimeoutExpired:
                process.kill()
                process.wait()
                hits += 1
        if result.exists():
            assert result.read_bytes() == expected
            # The log contains all merges now; start over, so that kills interrupt merging too.
            result.unlink()
            (folder / "work" / "merges.log").unlink(missing_ok=True)
    last = processes.run(training("out", "--work-dir", "work"), cwd=folder)
    assert last.returncode == 0, last.stderr
    assert result.read_bytes() == expected
