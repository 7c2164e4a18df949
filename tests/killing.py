"""Kills a command at random moments and starts it again until it has finished."""

import random
import signal
import subprocess
import sys
import time
from pathlib import Path

#: What counts in little memory and writes down often what it has done.
SMALL = ("--memory", "16MB", "--checkpoint-every", "0.05", "--threads", "2")


_LETTERS = str.maketrans("0123456789", "ghijklmnop")


def word(number: int) -> str:
    """A word of letters for each number: one piece, and no other number's."""
    return f"{number:x}".translate(_LETTERS)


def write_corpus(path: Path, words: int, seed: int = 1) -> None:
    """Words of which most occur once, in documents of some thousand words."""
    chance = random.Random(seed)
    with path.open("w") as file:
        for nth in range(words):
            file.write(f"{word(chance.getrandbits(40))} the " if nth % 3 else "of a\n")
            if nth % 4000 == 3999:
                file.write("<|endoftext|>")


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-W", "error", "-m", "merganser", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


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
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
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
