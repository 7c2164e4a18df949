"""gigatoken's `train_bpe`, which reads the file itself and has the gpt2 pattern built in.

It prints the time of splitting and counting to standard error, from which the stages are computed. Threads
are set by RAYON_NUM_THREADS.
"""

from __future__ import annotations

import os
import re
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import gigatoken

from benchmarks.patterns import SEPARATOR
from benchmarks.peers import Trained

PACKAGE = "gigatoken"
TIES = {"huggingface": "huggingface", "ids": "raw_token_ids"}

UNITS = {"ns": 1e-9, "µs": 1e-6, "ms": 1e-3, "s": 1.0}


def train(path: Path, vocab_size: int, tie: str, threads: int) -> Trained:
    """Train on the file; the separator is removed and no special token is added."""
    start = time.perf_counter()
    with standard_error() as log:
        _, merges = gigatoken.train_bpe(
            str(path),
            vocab_size,
            special_tokens=[],
            tie_breaking=TIES[tie],
            separator=SEPARATOR.encode(),
        )
        seconds = time.perf_counter() - start
        log.seek(0)
        said = log.read().decode(errors="replace")
    stages = {}
    if found := re.search(r"Pretokenization took ([\d.]+)(ns|µs|ms|s)\b", said):
        counting = float(found[1]) * UNITS[found[2]]
        stages = {"split and count": counting, "merge": seconds - counting}
    return Trained(lambda: [(bytes(a), bytes(b)) for a, b in merges], stages)


@contextmanager
def standard_error() -> Iterator[IO[bytes]]:
    """Capture what native code writes to file descriptor 2."""
    with tempfile.TemporaryFile() as log:
        saved = os.dup(2)
        os.dup2(log.fileno(), 2)
        try:
            yield log
        finally:
            os.dup2(saved, 2)
            os.close(saved)
