"""A ticking thread, which shows whether other threads run while the core works.

Measured in CPU time, which stops while other processes use the processors.
"""

import os
import threading
import time
from collections.abc import Callable
from itertools import pairwise

import processes


def ticks_during(work: Callable[[], object]) -> int:
    """Return the number of ticks of another thread during `work`; it must never be blocked for long."""
    ticks: list[float] = []
    done = threading.Event()

    def tick() -> None:
        while not done.wait(0.001):
            ticks.append(time.process_time())

    thread = threading.Thread(target=tick, daemon=True)
    thread.start()
    start = time.process_time()
    try:
        work()
    finally:
        end = time.process_time()
        done.set()
        processes.joined(thread)
    during = [at for at in ticks if start < at < end]
    long = 0.2 * (os.cpu_count() or 1)
    assert max(b - a for a, b in pairwise([start, *during, end])) < max(long, (end - start) / 2)
    return len(during)
