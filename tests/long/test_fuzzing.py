"""Fuzzing for at least ten minutes, in a process with limited memory.

`python tests/long/test_fuzzing.py [SECONDS [READER…]]` prints how many files each reader refused and
accepted.
"""

import os
import random
import resource
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import fuzzing
import processes

#: Time for each reader.
SECONDS = 66


def run(seconds: float, names: list[str]) -> None:
    resource.setrlimit(resource.RLIMIT_AS, (fuzzing.MAX_BYTES, fuzzing.MAX_BYTES))
    first = random.randrange(10**12)
    print(f"numbers from {first} on", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        for name in names or fuzzing.readers():
            results: Counter[str] = Counter()
            end = time.monotonic() + seconds
            while time.monotonic() < end:
                results[fuzzing.attempt(Path(folder, name), name, first + results.total())] += 1
            peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
            print(f"{name}: {dict(results)}, at most {peak} MB so far", flush=True)


def test_readers_never_panic_hang_or_exhaust_memory() -> None:
    paths = [str(Path(__file__).parents[1] / "support"), *filter(None, [os.environ.get("PYTHONPATH")])]
    done = processes.run(
        [sys.executable, __file__, str(SECONDS)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
        limit=SECONDS * 20,
    )
    assert done.returncode == 0, done.stdout + done.stderr


if __name__ == "__main__":
    run(float(sys.argv[1]) if len(sys.argv) > 1 else SECONDS, sys.argv[2:])
