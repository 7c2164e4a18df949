"""Commands that are killed at random moments and started again, and what must be true afterwards."""

import random
import signal
import sys
import time
from pathlib import Path
from subprocess import DEVNULL, TimeoutExpired

import processes
from merganser import Counts

#: What counts in little memory and writes down often what it has done.
SMALL = ("--memory", "16MB", "--checkpoint-every", "0.05", "--threads", "2")


_LETTERS = str.maketrans("0123456789", "ghijklmnop")


def word(number: int) -> str:
    """A word of letters for each number: one pre-token, and no other number's."""
    return f"{number:x}".translate(_LETTERS)


def write_corpus(path: Path, words: int, seed: int = 1) -> None:
    """Words of which most occur once, in documents of some thousand words."""
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
    """Kills a command `kills` times, each at a moment when it may be doing anything, then lets it finish."""
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
            # It has finished, or was killed while it cleaned up: the next one starts over.
            output.unlink()
    done = run(*arguments)
    assert done.returncode == 0, done.stderr


#: Of a training that takes longer than Python to start.
VOCAB_SIZE = 60_000


def write_counts(folder: Path) -> None:
    """Pre-tokens that take longer to merge than Python to start."""
    random.seed(4)
    letters = "abcdefghijklmnopqrst"
    weights = [1 / (n + 1) for n in range(len(letters))]
    words = {"".join(random.choices(letters, weights, k=random.randint(6, 24))) for _ in range(120_000)}
    Counts({word.encode(): 1 + len(word) * 7919 % 13 for word in words}).save(folder / "all.counts")


def training(out: str, *options: str) -> list[str]:
    training = ["train", "all.counts", "--vocab-size", str(VOCAB_SIZE), "--out", out, *options]
    return [sys.executable, "-W", "error", "-m", "merganser", *training]


def check_killed_trainings_go_on(folder: Path, kills: int, seed: int) -> None:
    """Kills at random moments until so many have hit; each time the next run goes on, and the last one ends
    with the very file of a training that nobody disturbed. A tokenizer that can be seen is a whole one.
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
            # All merges are in the log by now: begin anew, so that kills hit the merging too.
            result.unlink()
            (folder / "work" / "merges.log").unlink(missing_ok=True)
    last = processes.run(training("out", "--work-dir", "work"), cwd=folder)
    assert last.returncode == 0, last.stderr
    assert result.read_bytes() == expected
