"""Pool: threads for work that must not run on the event loop, with limits on number and time.

There are three pools, so that slow requests delay only requests of their kind: `quick` for work whose time
depends on the size of the request alone, `custom` for texts of tokenizers with a custom pattern, which can be
quadratic, and `slow` for reports, maps and searches by regular expression.

A thread cannot be stopped. A request that exceeds the time limit is answered (503), and its thread remains
occupied until the work ends. A call costs 50 µs.
"""

import asyncio
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from starlette.exceptions import HTTPException

T = TypeVar("T")

#: Calls that may wait for a thread.
MAX_WAITING = 64

#: In seconds.
TIME_LIMIT, SLOW_TIME_LIMIT = 10.0, 120.0


class BoundedPool:
    """Runs functions in threads, with a limit on running calls, on waiting calls and on time."""

    def __init__(self, running: int, waiting: int = MAX_WAITING, seconds: float = TIME_LIMIT) -> None:
        self._threads = ThreadPoolExecutor(running, thread_name_prefix="studio")
        self._size = running + waiting
        self._room = threading.BoundedSemaphore(self._size)
        self._seconds = seconds

    async def run(self, function: Callable[..., T], *arguments: Any) -> T:
        """Call `function` in a thread; reject the call (503) if too many are waiting or it takes too long."""
        if not self._room.acquire(blocking=False):
            raise HTTPException(503, "too many requests at once; try again", headers={"Retry-After": "1"})
        work = self._threads.submit(function, *arguments)
        work.add_done_callback(lambda _: self._room.release())
        answer = asyncio.wrap_future(work)
        done, _ = await asyncio.wait([answer], timeout=self._seconds)
        if not done:
            work.cancel()  # removes it from the queue if it has not started
            answer.cancel()
            raise HTTPException(
                503,
                f"this takes longer than {self._seconds:.0f} s; shorten the text, or try again later",
                headers={"Retry-After": "5"},
            )
        return answer.result()

    def close(self, seconds: float) -> bool:
        """Drop waiting calls, wait for the running ones, and return whether all have ended."""
        self._threads.shutdown(wait=False, cancel_futures=True)
        end = time.monotonic() + seconds
        return all(self._room.acquire(timeout=max(0.0, end - time.monotonic())) for _ in range(self._size))
