"""A thread that ticks: whether others run while the core works."""

import threading
import time
from collections.abc import Callable
from itertools import pairwise


def ticks_during(work: Callable[[], object]) -> int:
    """How often another thread ticked, which was never kept waiting for long."""
    ticks: list[float] = []
    done = threading.Event()

    def tick() -> None:
        while not done.wait(0.001):
            ticks.append(time.perf_counter())

    thread = threading.Thread(target=tick)
    thread.start()
    start = time.perf_counter()
    work()
    end = time.perf_counter()
    done.set()
    thread.join()
    during = [at for at in ticks if start < at < end]
    assert max(b - a for a, b in pairwise([start, *during, end])) < max(0.2, (end - start) / 2)
    return len(during)
