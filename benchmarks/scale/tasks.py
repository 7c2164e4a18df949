"""The timed tasks, one function each; every task runs alone in a worker process.

Both wall time and CPU time (user and system, all threads) are measured, because CPU time depends less on
other load of the machine. Without `memory`, there is no limit.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.memory import peak_mb

Result = dict[str, Any]

# More than any machine has, so that nothing is spilled to disk.
UNLIMITED = "1TB"


def scale_count(*, path: str, out: str, memory: str | None, threads: int) -> Result:
    """Count a text: text → `.counts` file."""
    import merganser

    engine = merganser.Local(threads=threads, memory=memory or UNLIMITED)
    before = peak_mb()
    processor, wall = time.process_time(), time.perf_counter()
    counts = merganser.count(path, out=out, engine=engine)
    return {
        "seconds": time.perf_counter() - wall,
        "processor": time.process_time() - processor,
        "peak_mb": peak_mb(),
        "imported_mb": before,
        "unique": len(counts),
        "digest": hashlib.sha256(Path(out).read_bytes()).hexdigest(),
    }


def scale_add(*, paths: list[str], out: str, memory: str | None, threads: int) -> Result:
    """Add up several `.counts` files, as after counting on many machines."""
    import merganser

    engine = merganser.Local(threads=threads, memory=memory or UNLIMITED)
    processor, wall = time.process_time(), time.perf_counter()
    counts = merganser.count([Path(path) for path in paths], out=out, engine=engine)
    return {
        "seconds": time.perf_counter() - wall,
        "processor": time.process_time() - processor,
        "peak_mb": peak_mb(),
        "unique": len(counts),
        "digest": hashlib.sha256(Path(out).read_bytes()).hexdigest(),
    }


def scale_train(*, path: str, vocab_size: int, memory: str | None, threads: int) -> Result:
    """Train a tokenizer on a `.counts` file."""
    import merganser

    engine = merganser.Local(threads=threads, memory=memory or UNLIMITED)
    before = peak_mb()
    processor, wall = time.process_time(), time.perf_counter()
    tokenizer = merganser.train(path, vocab_size, engine=engine)
    return {
        "seconds": time.perf_counter() - wall,
        "processor": time.process_time() - processor,
        "peak_mb": peak_mb(),
        "imported_mb": before,
        "merges": len(tokenizer.merges),
        "digest": hashlib.sha256(repr(tokenizer.merges).encode()).hexdigest(),
    }


def scale_command(*, path: str, vocab_size: int, memory: str | None, threads: int) -> Result:
    """Run `merganser train` as a user would: text → tokenizer on disk, including the start of Python."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "merganser", "train", path, "--json", "--out", folder]
        command += ["--vocab-size", str(vocab_size), "--threads", str(threads)]
        command += ["--memory", memory or UNLIMITED]
        wall = time.perf_counter()
        with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
            assert process.stdout
            said = process.stdout.read()
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
        seconds = time.perf_counter() - wall
        if process.returncode:
            raise SystemExit(f"merganser train ended with code {process.returncode}")
        told = json.loads(said)
        return {
            "seconds": seconds,
            "processor": usage.ru_utime + usage.ru_stime,
            "peak_mb": usage.ru_maxrss * (1 if sys.platform == "darwin" else 1024) / 1e6,
            "stages": told["seconds"],
            "digest": hashlib.sha256(Path(told["tokenizer"]).read_bytes()).hexdigest(),
        }


TASKS: dict[str, Callable[..., Result]] = {
    "scale_count": scale_count,
    "scale_add": scale_add,
    "scale_train": scale_train,
    "scale_command": scale_command,
}
