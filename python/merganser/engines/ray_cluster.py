"""The connection to a Ray cluster, and tasks on it.

A cluster that is started here requires a token and reports no usage statistics.
"""

import os
import secrets
import socket
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from functools import lru_cache
from typing import Any, NamedTuple

from merganser.engines.shards import Manifest
from merganser.engines.tasks import Call, Shared
from merganser.errors import EngineError, MerganserError, MerganserWarning
from merganser.extras import imported

#: The object store of a local cluster in bytes: Ray's minimum, because manifests are small.
_OBJECTS = 80_000_000

#: The timeout for connecting to a cluster, in seconds.
_TIMEOUT = 5.0


class _Stored(NamedTuple):
    """A value in Ray's object store; each process fetches it once."""

    reference: Any

    def get(self) -> Any:
        return _fetched(self.reference)


@lru_cache(1)
def _fetched(reference: Any) -> Any:
    return imported("ray", "ray", "the engine Ray").get(reference)


class Cluster:
    """Runs tasks on a Ray cluster (see `tasks.Executor`).

    If one fails or the run is stopped, the others end with our connection. They are not canceled one by one,
    because Ray 2.60 aborts the whole process if a task is canceled while it ends. On the caller's connection
    they run to the end, and the next run finds their results.

    options: Ray's options for all tasks.
    max_in_flight: the number of tasks in flight; by default twice as many as the cluster can run.
    """

    def __init__(self, ray: Any, options: dict[str, Any], max_in_flight: int | None) -> None:
        self._ray = ray
        self._options = options
        self._max_in_flight = max_in_flight
        self._remote: dict[Callable[..., Manifest], Any] = {}

    def capacity(self) -> int:
        if self._max_in_flight is not None:
            return self._max_in_flight
        # Not computed once, because a cluster may grow.
        return max(2 * int(self._ray.cluster_resources().get("CPU", 1) // self._options["num_cpus"]), 2)

    def share(self, value: Any) -> Shared:
        return _Stored(self._ray.put(value))

    def submit(self, call: Call) -> Any:
        if call.task not in self._remote:
            self._remote[call.task] = self._ray.remote(**self._options)(call.task)
        return self._remote[call.task].remote(*call.arguments)

    def wait(self, handles: list[Any]) -> list[Any]:
        ready, _ = self._ray.wait(handles, num_returns=1, timeout=1.0)
        return list(ready)

    def result(self, handle: Any, name: str) -> Manifest:
        try:
            manifest: Manifest = self._ray.get(handle)
        except self._ray.exceptions.RayTaskError as error:
            if isinstance(error.cause, MerganserError):
                raise error.cause from None
            raise EngineError(f"{name} failed on the cluster: {error.cause!r}") from error
        except self._ray.exceptions.RayError as error:
            raise EngineError(
                f"{name} was lost {self._options['max_retries'] + 1} times, possibly out of memory: "
                f"{str(error).strip()}; finished shards are in the storage, run it again to resume"
            ) from error
        return manifest

    def warn_if_unschedulable(self) -> None:
        cpus, memory = self._options["num_cpus"], self._options["memory"]
        fits = any(
            node["Alive"]
            and node["Resources"].get("CPU", 0) >= cpus
            and node["Resources"].get("memory", 0) >= memory
            for node in self._ray.nodes()
        )
        if not fits:
            message = (
                f"no node of the cluster has {cpus} CPUs and {memory:,} bytes of memory for a task; "
                "the run waits until the cluster grows: reduce memory or cpus"
            )
            warnings.warn(message, MerganserWarning, stacklevel=2)


@contextmanager
def connected(address: str) -> Iterator[Any]:
    """Yield Ray, connected to the cluster; disconnect afterwards unless it was connected before."""
    ray = imported("ray", "ray", "the engine Ray")
    if ray.is_initialized():
        yield ray
        return
    settings: dict[str, Any] = {"log_to_driver": False, "logging_level": "WARNING"}
    is_local = address == "local"
    if is_local:
        settings |= {"include_dashboard": False, "object_store_memory": _OBJECTS}
    else:
        _check_reachable(address)
    with _token_protected() if is_local else nullcontext():
        try:
            ray.init(address, **settings)
        except Exception as error:  # raised by Ray's many parts
            ray.shutdown()
            raise EngineError(f"cannot reach or start the Ray cluster {address}: {error}") from error
        try:
            yield ray
        finally:
            ray.shutdown()


def _check_reachable(address: str) -> None:
    """Raise an `EngineError` if nothing listens at the address; Ray itself would retry for minutes."""
    host, _, port = address.rpartition("://")[2].rpartition(":")
    if port.isdecimal():
        try:
            socket.create_connection((host.strip("[]"), int(port)), timeout=_TIMEOUT).close()
        except OSError as error:
            raise EngineError(
                f"cannot reach the Ray cluster {address}: {error}; check the address, and that it is running"
            ) from error


@contextmanager
def _token_protected() -> Iterator[None]:
    """Set the environment so that a local cluster requires a token and reports no usage statistics.

    An existing RAY_AUTH_MODE is respected.
    """
    variables = {"RAY_USAGE_STATS_ENABLED": "0"}
    if "RAY_AUTH_MODE" not in os.environ:
        variables |= {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": secrets.token_hex(32)}
    before = {name: os.environ.get(name) for name in variables}
    try:
        os.environ.update(variables)
        _reread_environment()
        yield
    finally:
        for name, value in before.items():
            os.environ.pop(name)
            if value is not None:
                os.environ[name] = value
        _reread_environment()


def _reread_environment() -> None:
    # Ray reads the environment only when it is imported.
    raylet = imported("ray._raylet", "ray", "the engine Ray")
    raylet.Config.initialize("")
    raylet.AuthenticationTokenLoader.instance().reset_cache()
