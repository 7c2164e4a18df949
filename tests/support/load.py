"""Load: encode, decode, train, show, save, pickle and fork from many threads at once, and watch the memory.

    python tests/support/load.py --minutes 60 --threads 16

Every result is compared with the result of one thread before the load. The resident memory is sampled once a
second, or more often in a short run; after a warm-up of a quarter of the time it must stay flat. Prints the
figures as JSON. Exits with 1 if a result was wrong, a child hung or failed, or memory grew by more than 5%.
"""

import argparse
import json
import os
import pickle
import random
import re
import signal
import statistics
import sys
import tempfile
import threading
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import merganser

#: A forked child that takes longer than this hangs.
CHILD_SECONDS = 60.0

#: The share of the time that is warm-up, and the share at the end that is compared with what follows it.
WARM_UP, COMPARED = 0.25, 0.2

WORDS = (
    "the",
    "cat",
    "sat on",
    "a mat,",
    "naïve café:",
    "犬が好きです",
    "12,345",
    "👍🏽",
    "if (x) { y; }",
    "שלום",
    "\n\t",
)
SPECIAL = "<|end|>"


@dataclass
class Figures:
    """What was done, what went wrong, and the memory in bytes."""

    seconds: float = 0.0
    threads: int = 0
    operations: Counter[str] = field(default_factory=Counter)
    errors: list[str] = field(default_factory=list)
    memory_after_warm_up: int = 0
    memory_at_end: int = 0
    memory_peak: int = 0
    #: The median of each tenth of the time.
    memory_by_tenth: list[int] = field(default_factory=list)
    growth: float = 0.0


class Expected:
    """Inputs, with the results of a single thread."""

    def __init__(self, seed: int) -> None:
        chance = random.Random(seed)
        self.texts = [self._text(chance, size) for size in (5, 60, 1000, 20_000, 200_000, 1_200_000)]
        self.corpora = [[self._text(chance, 3000)] * 2 for _ in range(4)]
        self.tokenizers = [
            merganser.train(self.texts, 800 + 100 * n, pattern=pattern, special_tokens=[SPECIAL])
            for n, pattern in enumerate(["gpt2", "gpt4", r"\p{L}+|\p{N}{1,2}|[^\p{L}\p{N}]+"])
        ]
        self.ids = [[t.encode(text) for text in self.texts] for t in self.tokenizers]
        self.trained = [merganser.train(corpus, 300) for corpus in self.corpora]
        self.shown = [str(t.show(self.texts[2])) for t in self.tokenizers]

    @staticmethod
    def _text(chance: random.Random, size: int) -> str:
        random_words = [
            "".join(chance.choices("etaoinshrdlu", k=chance.randrange(1, 9))) for _ in range(3000)
        ]
        return " ".join(chance.choices([*WORDS, *random_words], k=size))[:size]


def operations(expected: Expected, folder: Path) -> dict[str, Callable[[random.Random], bool]]:
    """Return functions that do something once and return whether the result was right."""

    def some(chance: random.Random) -> tuple[int, merganser.Tokenizer]:
        n = chance.randrange(len(expected.tokenizers))
        return n, expected.tokenizers[n]

    def encode(chance: random.Random) -> bool:
        n, tokenizer = some(chance)
        m = min(chance.randrange(8), 5) if chance.random() < 0.1 else chance.randrange(4)
        return tokenizer.encode(expected.texts[m]) == expected.ids[n][m]

    def encode_batch(chance: random.Random) -> bool:
        n, tokenizer = some(chance)
        return tokenizer.encode_batch(expected.texts[:5]) == expected.ids[n][:5]

    def count_tokens(chance: random.Random) -> bool:
        n, tokenizer = some(chance)
        return list(tokenizer.count_tokens(expected.texts[:5])) == list(map(len, expected.ids[n][:5]))

    def decode(chance: random.Random) -> bool:
        n, tokenizer = some(chance)
        m = chance.randrange(5)
        return tokenizer.decode(expected.ids[n][m]) == expected.texts[m]

    def decode_batch(chance: random.Random) -> bool:
        n, tokenizer = some(chance)
        return tokenizer.decode_batch(expected.ids[n][:5]) == expected.texts[:5]

    def train(chance: random.Random) -> bool:
        m = chance.randrange(len(expected.corpora))
        return merganser.train(expected.corpora[m], 300) == expected.trained[m]

    def show(chance: random.Random) -> bool:
        n, tokenizer = some(chance)
        return str(tokenizer.show(expected.texts[2])) == expected.shown[n]

    def pickled(chance: random.Random) -> bool:
        n, tokenizer = some(chance)
        copy = pickle.loads(pickle.dumps(tokenizer))
        return copy == tokenizer and copy.encode(expected.texts[2]) == expected.ids[n][2]

    def saved(chance: random.Random) -> bool:
        _, tokenizer = some(chance)
        path = folder / f"{threading.get_ident()}.merganser"
        tokenizer.save(path)
        return merganser.load(path) == tokenizer

    def forked(chance: random.Random) -> bool:
        seed = chance.random()
        child = os.fork()
        if child:
            return _ended_well(child)
        # Only this thread exists here; locks that others held at the fork stay locked for ever.
        try:
            chance = random.Random(seed)
            is_right = all(do(chance) for do in (encode, encode_batch, decode, train, pickled, count_tokens))
            os._exit(0 if is_right else 1)
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(2)

    weighted = {encode: 12, decode: 6, encode_batch: 2, decode_batch: 2, count_tokens: 2, show: 2}
    weighted |= {train: 2, pickled: 2, saved: 1, forked: 1}
    return {f"{do.__name__}:{n}": do for do, weight in weighted.items() for n in range(weight)}


def _ended_well(child: int) -> bool:
    """Wait for a child; kill it if it hangs."""
    end = time.monotonic() + CHILD_SECONDS
    while time.monotonic() < end:
        pid, status = os.waitpid(child, os.WNOHANG)
        if pid:
            return status == 0
        time.sleep(0.005)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    raise TimeoutError("a forked child hangs")


def resident() -> int:
    """Return the resident memory of this process in bytes (Linux only)."""
    found = re.search(r"VmRSS:\s*(\d+)", Path("/proc/self/status").read_text())
    assert found
    return int(found[1]) * 1024


def run(seconds: float, threads: int = 16, seed: int = 1) -> Figures:
    """Put load on merganser and return the figures."""
    expected = Expected(seed)
    figures = Figures(threads=threads)
    lock = threading.Lock()
    start = time.monotonic()
    end = start + seconds

    def work(nth: int, table: dict[str, Callable[[random.Random], bool]]) -> None:
        chance = random.Random(1000 * seed + nth)
        names = list(table)
        while time.monotonic() < end:
            name = chance.choice(names)
            try:
                error = None if table[name](chance) else "the result is wrong"
            except Exception as failure:
                error = f"{type(failure).__name__}: {failure}"
            with lock:
                figures.operations[name.partition(":")[0]] += 1
                if error is not None:
                    figures.errors.append(f"{name.partition(':')[0]}: {error}")

    sizes: list[int] = []
    with tempfile.TemporaryDirectory(prefix="merganser-load-") as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # Python 3.12 warns of forks beside threads
        table = operations(expected, Path(folder))
        workers = [threading.Thread(target=work, args=(nth, table)) for nth in range(threads)]
        for worker in workers:
            worker.start()
        while any(worker.is_alive() for worker in workers):
            sizes.append(resident())
            time.sleep(min(1.0, seconds / 50))
        for worker in workers:
            worker.join()
    figures.seconds = round(time.monotonic() - start, 1)
    first, part = int(WARM_UP * len(sizes)), max(1, int(COMPARED * len(sizes)))
    figures.memory_after_warm_up = int(statistics.median(sizes[first : first + part]))
    figures.memory_at_end = int(statistics.median(sizes[-part:]))
    figures.memory_peak = max(sizes)
    tenths = [sizes[len(sizes) * n // 10 : len(sizes) * (n + 1) // 10] for n in range(10)]
    figures.memory_by_tenth = [int(statistics.median(tenth)) for tenth in tenths if tenth]
    figures.growth = round(figures.memory_at_end / figures.memory_after_warm_up - 1, 4)
    return figures


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--minutes", type=float, default=60.0)
    parser.add_argument("--threads", type=int, default=16)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    figures = run(60 * options.minutes, options.threads, options.seed)
    report: dict[str, Any] = vars(figures) | {"errors": figures.errors[:20], "failed": len(figures.errors)}
    print(json.dumps(report, indent=2))
    return 1 if figures.errors or figures.growth > 0.05 else 0


if __name__ == "__main__":
    sys.exit(main())
