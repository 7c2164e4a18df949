"""Jobs: a queue for long work. One job runs, a few wait, and further ones are rejected.

A job emits events, which the page receives as server-sent events. Events are numbered and kept for as long as
the job, so a page that reconnects or opens later receives those that it missed.

Costs one thread, and a check of every open stream 20 times a second.
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

#: How many jobs may wait, how many finished jobs are kept, and how many streams of events may be open.
MAX_WAITING, MAX_FINISHED, MAX_STREAMS = 8, 16, 32

_POLL_SECONDS = 0.05
_KEEP_ALIVE_SECONDS = 10.0

JobState = Literal["waiting", "running", "done", "cancelled", "failed"]


class Cancelled(Exception):
    """Raised inside a job that was cancelled."""


class Job:
    """One unit of work. `work` is called with the job; the dictionary it returns is sent with "done"."""

    def __init__(self, work: Callable[["Job"], dict[str, Any]]) -> None:
        self.id = secrets.token_urlsafe(9)
        self.state: JobState = "waiting"
        self.events: list[tuple[str, Any]] = []
        #: The current progress. Only the newest value matters, so it is not kept as an event.
        self.progress: dict[str, Any] = {}
        self._work = work
        self._cancel_requested = threading.Event()
        #: Held while the state changes from "waiting": a job either starts or is cancelled.
        self._starting = threading.Lock()

    @property
    def is_over(self) -> bool:
        return self.state not in ("waiting", "running")

    def emit(self, kind: str, data: Any) -> None:
        self.events.append((kind, data))

    def check(self) -> None:
        """Raise `Cancelled` if cancellation was requested. `work` calls this often."""
        if self._cancel_requested.is_set():
            raise Cancelled

    def cancel(self) -> None:
        self._cancel_requested.set()
        with self._starting:
            if self.state == "waiting":
                self._end("cancelled", {})

    def run(self) -> None:
        with self._starting:
            if self.is_over:
                return
            self.state = "running"
        try:
            self.check()
            self._end("done", self._work(self))
        except Cancelled:
            self._end("cancelled", {})
        except Exception as error:  # whatever it is, the page must show it
            self._end("failed", {"error": str(error) or type(error).__name__})

    def _end(self, state: JobState, data: dict[str, Any]) -> None:
        self.emit(state, data)
        self.state = state  # last: a reader that sees the job is over must find all of its events


class Jobs:
    """Runs one job at a time, in a thread that starts with the first job."""

    def __init__(self, waiting: int = MAX_WAITING) -> None:
        self._max_waiting = waiting
        self._jobs: dict[str, Job] = {}
        self._queue: deque[Job] = deque()
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None
        self._streams = 0

    def start(self, work: Callable[[Job], dict[str, Any]]) -> Job:
        """Queue a job and return it; reject it (429) if the queue is full."""
        with self._changed:
            waiting = sum(job.state == "waiting" for job in self._queue)
            if waiting > self._max_waiting or (waiting == self._max_waiting and self.is_busy):
                raise HTTPException(
                    429,
                    f"the queue is full (1 job running, {self._max_waiting} waiting); "
                    "cancel a job or try again later",
                    headers={"Retry-After": "5"},
                )
            job = Job(work)
            self._jobs[job.id] = job
            finished = [other.id for other in self._jobs.values() if other.is_over]
            for old in finished[:-MAX_FINISHED]:
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
            raise HTTPException(404, "this job no longer exists; start it again") from None

    def ahead_of(self, job: Job) -> int:
        """Count the unfinished jobs before this one."""
        before = 0
        for other in tuple(self._jobs.values()):
            if other is job:
                break
            before += not other.is_over
        return before

    def close(self) -> None:
        """Cancel all jobs and wait up to 2 s for the running one: native code must not outlive Python."""
        for job in tuple(self._jobs.values()):
            job.cancel()
        thread = self._thread
        if thread is not None and any(job.state == "running" for job in self._jobs.values()):
            for _ in range(40):
                if all(job.is_over for job in self._jobs.values()):
                    break
                thread.join(_POLL_SECONDS)

    def stream(self, job: Job, received: int) -> StreamingResponse:
        """Stream the events of a job after the first `received`; reject it (503) if too many are open."""
        if self._streams >= MAX_STREAMS:
            raise HTTPException(
                503,
                f"{MAX_STREAMS} pages follow jobs already; close some of them",
                headers={"Retry-After": "5"},
            )
        return StreamingResponse(self._events(job, received), media_type="text/event-stream")

    @property
    def is_busy(self) -> bool:
        return any(job.state == "running" for job in self._jobs.values())

    def _run(self) -> None:
        while True:
            with self._changed:
                while not self._queue:
                    self._changed.wait()
                job = self._queue.popleft()
            job.run()

    async def _events(self, job: Job, received: int) -> AsyncIterator[str]:
        self._streams += 1
        try:
            async for event in self._new_events(job, received):
                yield event
        finally:
            self._streams -= 1

    async def _new_events(self, job: Job, received: int) -> AsyncIterator[str]:
        """Yield events until the job is over."""
        sent_progress: dict[str, Any] = {}
        silent = 0.0
        while True:
            over = job.is_over
            if job.state == "waiting":
                job.progress = {"waiting": self.ahead_of(job)}
            if job.progress != sent_progress:
                sent_progress = job.progress
                yield _event("progress", sent_progress)
                silent = 0
            for kind, data in job.events[received:]:
                received += 1
                yield _event(kind, data, received)
                silent = 0
            if over:
                return
            if silent >= _KEEP_ALIVE_SECONDS:
                yield ": keep-alive\n\n"
                silent = 0
            await asyncio.sleep(_POLL_SECONDS)
            silent += _POLL_SECONDS


def _event(kind: str, data: Any, number: int | None = None) -> str:
    """Format one event for the browser's EventSource.

    >>> _event("done", {"name": "mine"}, 3)
    'id: 3\\nevent: done\\ndata: {"name": "mine"}\\n\\n'
    """
    id = "" if number is None else f"id: {number}\n"
    return f"{id}event: {kind}\ndata: {json.dumps(data)}\n\n"
