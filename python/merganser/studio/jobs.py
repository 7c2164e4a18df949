"""Jobs: work that takes long, in a queue. One runs, a few wait, and what is too much is refused.

A job tells what happens in it as events, and the page hears them as server-sent events. They are kept while
the job is, and numbered: a page that lost its connection, or was opened later, hears those that it missed.

Costs a thread, and an eye on every listener twenty times a second.
"""

import asyncio
import atexit
import json
import secrets
import threading
from collections import deque
from collections.abc import AsyncIterator, Callable
from typing import Any, Literal

from starlette.exceptions import HTTPException
from starlette.responses import StreamingResponse

#: How many may wait, and how many that have ended are remembered.
WAITING, REMEMBERED = 8, 16

_LOOK = 0.05
_KEEP_ALIVE = 10.0

State = Literal["waiting", "running", "done", "cancelled", "failed"]


class Cancelled(Exception):
    """Somebody pressed the button."""


class Job:
    """One unit of work. `work` is called with it, and its result, an object, is what it is done with."""

    def __init__(self, work: Callable[["Job"], dict[str, Any]]) -> None:
        self.id = secrets.token_urlsafe(9)
        self.state: State = "waiting"
        self.events: list[tuple[str, Any]] = []
        #: How far it is. Only the newest counts, so that it is no event.
        self.progress: dict[str, Any] = {}
        self._work = work
        self._unwanted = threading.Event()
        #: Held while it leaves "waiting": it either starts or is cancelled.
        self._leaving = threading.Lock()

    @property
    def is_over(self) -> bool:
        return self.state not in ("waiting", "running")

    def tell(self, kind: str, what: Any) -> None:
        self.events.append((kind, what))

    def check(self) -> None:
        """To be called by the work, often: it ends here if it is not wanted any more."""
        if self._unwanted.is_set():
            raise Cancelled

    def cancel(self) -> None:
        self._unwanted.set()
        with self._leaving:
            if self.state == "waiting":
                self._end("cancelled", {})

    def run(self) -> None:
        with self._leaving:
            if self.is_over:
                return
            self.state = "running"
        try:
            self.check()
            self._end("done", self._work(self))
        except Cancelled:
            self._end("cancelled", {})
        except Exception as error:  # whatever it is, the page must hear of it
            self._end("failed", {"error": str(error) or type(error).__name__})

    def _end(self, state: State, what: dict[str, Any]) -> None:
        self.tell(state, what)
        self.state = state  # last: who sees that it is over must find all of its events


class Jobs:
    """Runs one job at a time, in a thread that is started with the first."""

    def __init__(self, waiting: int = WAITING) -> None:
        self._most = waiting
        self._jobs: dict[str, Job] = {}
        self._queue: deque[Job] = deque()
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None

    def start(self, work: Callable[[Job], dict[str, Any]]) -> Job:
        """The job that does it, now or later; refused (429) if too many wait already."""
        with self._changed:
            waiting = sum(job.state == "waiting" for job in self._queue)
            if waiting > self._most or (waiting == self._most and self._is_busy()):
                raise HTTPException(
                    429,
                    f"one job runs and {self._most} wait already; cancel one, or try again when one is done",
                    headers={"Retry-After": "5"},
                )
            job = Job(work)
            self._jobs[job.id] = job
            over = [known.id for known in self._jobs.values() if known.is_over]
            for old in over[:-REMEMBERED]:
                del self._jobs[old]
            self._queue.append(job)
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="studio jobs", daemon=True)
                self._thread.start()
                atexit.register(self.close)
            self._changed.notify()
        return job

    def find(self, id: str) -> Job:
        try:
            return self._jobs[id]
        except KeyError:
            raise HTTPException(404, "there is no such job any more; start it again") from None

    def ahead_of(self, job: Job) -> int:
        """How many are to be done before it."""
        before = 0
        for other in tuple(self._jobs.values()):
            if other is job:
                break
            before += not other.is_over
        return before

    def close(self) -> None:
        """Asks all to end, and waits a moment for the one that runs: native code must not outlive Python."""
        for job in tuple(self._jobs.values()):
            job.cancel()
        thread = self._thread
        if thread is not None and any(job.state == "running" for job in self._jobs.values()):
            for _ in range(40):
                if all(job.is_over for job in self._jobs.values()):
                    break
                thread.join(_LOOK)

    def listen(self, job: Job, heard: int) -> StreamingResponse:
        """The events of a job after the first `heard`, as they happen, until it is over."""
        return StreamingResponse(self._events(job, heard), media_type="text/event-stream")

    def _is_busy(self) -> bool:
        return any(job.state == "running" for job in self._jobs.values())

    def _run(self) -> None:
        while True:
            with self._changed:
                while not self._queue:
                    self._changed.wait()
                job = self._queue.popleft()
            job.run()

    async def _events(self, job: Job, heard: int) -> AsyncIterator[str]:
        shown: dict[str, Any] = {}
        silent = 0.0
        while True:
            over = job.is_over
            if job.state == "waiting":
                job.progress = {"waiting": self.ahead_of(job)}
            if job.progress != shown:
                shown = job.progress
                yield _event("progress", shown)
                silent = 0
            events = job.events[heard:]
            for kind, what in events:
                heard += 1
                yield _event(kind, what, heard)
                silent = 0
            if over:
                return
            if silent >= _KEEP_ALIVE:
                yield ": still here\n\n"
                silent = 0
            await asyncio.sleep(_LOOK)
            silent += _LOOK


def _event(kind: str, what: Any, number: int | None = None) -> str:
    """One event as the browser's EventSource reads it.

    >>> _event("done", {"name": "mine"}, 3)
    'id: 3\\nevent: done\\ndata: {"name": "mine"}\\n\\n'
    """
    id = "" if number is None else f"id: {number}\n"
    return f"{id}event: {kind}\ndata: {json.dumps(what)}\n\n"
