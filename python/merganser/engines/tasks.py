"""Run tasks on an executor: a cluster, or the threads of this process.

A driver decides what runs next whenever there is room, so a plan of a million tasks is never queued as a
whole. A task is a function of this package, and its result a small manifest.
"""

from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from typing import Any, NamedTuple, Protocol

from merganser.engines.shards import Manifest


class Call(NamedTuple):
    """A task to run."""

    name: str
    task: Callable[..., Manifest]
    arguments: tuple[Any, ...]


class Shared(Protocol):
    """A large value that many tasks need."""

    def get(self) -> Any:
        """Return the value; a process that runs many tasks gets the same object each time."""


class Executor(Protocol):
    """What can run tasks: all that a new engine must provide to count or encode on many machines."""

    def capacity(self) -> int:
        """Return the number of tasks to keep in flight; it may change while tasks run."""

    def share(self, value: Any) -> Shared:
        """Return what to pass to tasks in place of a large value."""

    def submit(self, call: Call) -> Any:
        """Start a task; return a handle."""

    def wait(self, handles: list[Any]) -> list[Any]:
        """Return handles of finished tasks; wait about a second if there are none."""

    def result(self, handle: Any, name: str) -> Manifest:
        """Return the result of a finished task, or raise its error."""


def results(
    executor: Executor, next_call: Callable[[], Call | None], report: Callable[[], None]
) -> Iterator[tuple[str, Manifest]]:
    """Yield the results of tasks as they finish, until `next_call` returns None and none is in flight.

    `report` is called at least every second: the callback of the user may stop the run.
    """
    in_flight: dict[Any, str] = {}
    while True:
        while len(in_flight) < executor.capacity() and (call := next_call()) is not None:
            in_flight[executor.submit(call)] = call.name
        if not in_flight:
            return
        for handle in executor.wait(list(in_flight)):
            name = in_flight.pop(handle)
            yield name, executor.result(handle, name)
        report()


class Here(NamedTuple):
    """A value of this process."""

    value: Any

    def get(self) -> Any:
        return self.value


class Threads:
    """Run tasks on threads of this process: one can upload while another computes."""

    def __init__(self, workers: int = 2) -> None:
        self._pool = ThreadPoolExecutor(workers)
        self._workers = workers

    def __enter__(self) -> "Threads":
        return self

    def __exit__(self, *_: object) -> None:
        self._pool.shutdown(cancel_futures=True)

    def capacity(self) -> int:
        return self._workers

    def share(self, value: Any) -> Shared:
        return Here(value)

    def submit(self, call: Call) -> "Future[Manifest]":
        return self._pool.submit(call.task, *call.arguments)

    def wait(self, handles: "list[Future[Manifest]]") -> "list[Future[Manifest]]":
        return list(wait(handles, 1.0, FIRST_COMPLETED).done)

    def result(self, handle: "Future[Manifest]", name: str) -> Manifest:
        return handle.result()
