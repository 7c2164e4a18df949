"""The landmark: an exact training on text of any size, generated as a stream, within a memory budget.

    cargo build --release -p merganser-core --example growing_text
    python -m benchmarks.scale.landmark 150 FOLDER --memory 4GB --threads 2

Trains 32,000 tokens on 150 GB of `growing://` text (`growing.py`), with checkpoints in FOLDER. Run the same
command again after an interruption of any kind: it resumes, and the figures are those of all runs together.
Every two seconds, FOLDER/samples.jsonl receives the stage, the processor time of this process and of the
generator, the peak memory since the stage began, and the disk in use, with deleted but open files. A gap of
more than ten seconds between two samples of one process is a pause (SIGSTOP) and not counted.

The result is FOLDER/result.json: figures by stage, and the checksum of the tokenizer. `extrapolate.py` turns
the results of several sizes into a record.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import resource
import stat
import sys
import threading
import time
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import merganser

from benchmarks.memory import peak_mb
from benchmarks.report import commit, cpu_name
from benchmarks.scale import growing

VOCAB_SIZE = 32_000
EVERY, PAUSE = 2.0, 10.0
Sample = dict[str, Any]


class Sampler:
    """Appends samples of this process to a file until it is stopped."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._stage, self._done, self._total = "start", 0, 0
        self._stopped = threading.Event()
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def progress(self, stage: str, done: int, total: int) -> None:
        """Note how far the work is; the callback of `merganser.train`."""
        if stage != self._stage:
            self._write()
            self._stage = stage
            Path("/proc/self/clear_refs").write_text("5", encoding="ascii")  # resets the peak
            self._write()
        self._done, self._total = done, total

    def stop(self) -> None:
        self._stopped.set()
        self._thread.join()
        self._write()

    def _run(self) -> None:
        while not self._stopped.wait(EVERY):
            self._write()

    def _write(self) -> None:
        used, generator = (
            resource.getrusage(resource.RUSAGE_SELF),
            resource.getrusage(resource.RUSAGE_CHILDREN),
        )
        sample = {
            "at": time.time(),
            "process": os.getpid(),
            "stage": self._stage,
            "done": self._done,
            "total": self._total,
            "processor": used.ru_utime + used.ru_stime,
            "system": used.ru_stime,
            "generator": generator.ru_utime + generator.ru_stime,
            "peak_mb": peak_mb(),
            "disk_mb": disk_mb(self._folder / "work"),
        }
        with self._lock, (self._folder / "samples.jsonl").open("a", encoding="utf-8") as file:
            file.write(json.dumps(sample) + "\n")


def disk_mb(folder: Path) -> float:
    """Return the disk that a folder takes, and the deleted files that this process holds open."""
    size = sum(status.st_blocks for status in _statuses(folder.glob("**/*")) if stat.S_ISREG(status.st_mode))
    for status in _statuses(Path("/proc/self/fd").iterdir()):
        if stat.S_ISREG(status.st_mode) and status.st_nlink == 0:
            size += status.st_blocks
    return size * 512 / 1e6


def _statuses(paths: Iterator[Path]) -> Iterator[os.stat_result]:
    for path in paths:
        try:
            yield path.stat()
        except OSError:  # removed meanwhile
            continue


def by_stage(samples: list[Sample]) -> dict[str, dict[str, float]]:
    """Add up what the processes spent in each stage."""
    stages: dict[str, dict[str, float]] = {}
    for before, after in pairwise(samples):
        stage = stages.setdefault(
            before["stage"],
            dict.fromkeys(
                ("seconds", "paused", "processor", "system", "generator", "peak_mb", "disk_mb"), 0.0
            ),
        )
        stage["disk_mb"] = max(stage["disk_mb"], before["disk_mb"])
        if before["stage"] == after["stage"]:
            stage["peak_mb"] = max(stage["peak_mb"], after["peak_mb"])
        if before["process"] != after["process"]:
            continue
        gap = after["at"] - before["at"]
        stage["paused" if gap > PAUSE else "seconds"] += gap
        for name in ("processor", "system", "generator"):
            stage[name] += after[name] - before[name]
    return stages


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("gigabytes", type=int)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--memory", default="4GB")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--vocab-size", type=int, default=VOCAB_SIZE)
    parser.add_argument("--checkpoint-every", type=float, default=300)
    options = parser.parse_args()
    folder: Path = options.folder
    folder.mkdir(parents=True, exist_ok=True)
    growing.register()
    sampler = Sampler(folder)
    engine = merganser.Local(
        threads=options.threads,
        memory=options.memory,
        work_dir=folder / "work",
        checkpoint_every=options.checkpoint_every,
    )
    try:
        tokenizer = merganser.train(
            f"growing:///{options.gigabytes}", options.vocab_size, engine=engine, progress=sampler.progress
        )
    finally:
        sampler.stop()
    saved = folder / "trained.json"
    tokenizer.save(saved)
    samples = [
        json.loads(line) for line in (folder / "samples.jsonl").read_text(encoding="utf-8").splitlines()
    ]
    result = {
        "gigabytes": options.gigabytes,
        "command": "python -m benchmarks.scale.landmark " + " ".join(sys.argv[1:]),
        "commit": os.environ.get("LANDMARK_COMMIT") or commit(),
        "machine": f"{cpu_name()}, {os.cpu_count()} cores",
        "training": dict(tokenizer.training),
        "sha256": hashlib.sha256(saved.read_bytes()).hexdigest(),
        "processes": len({sample["process"] for sample in samples}),
        "stages": by_stage(samples),
    }
    (folder / "result.json").write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    print(json.dumps(result, indent=1))


if __name__ == "__main__":
    main()
