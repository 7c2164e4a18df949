"""Count on a Ray cluster.

The corpus is divided into shards (`shards`). A task on any node counts a shard within its memory budget and
writes sorted runs to a storage that all nodes share. Other tasks merge the runs of each part, and this
process merges the parts. Ray transfers only manifests of a few hundred bytes: the counts are in the storage
when a task ends, so a lost node or a killed driver loses only the shards that were being counted. The merge
loop of training runs in this process.

For a small corpus `Local` is faster: starting a cluster takes seconds.
"""

import os
import secrets
import socket
import tempfile
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from merganser import _core
from merganser.corpus import Corpus
from merganser.corpus.split_settings import SplitSettings
from merganser.counts import CountsFile
from merganser.engines import memory, shards, work_folder
from merganser.engines.local import Local, Merging, ProgressCallback
from merganser.engines.shards import FAN_IN, Job, Manifest, Shard
from merganser.engines.storage import Storage, storage_at
from merganser.errors import (
    CountsError,
    EngineError,
    MerganserError,
    MerganserWarning,
    SettingsError,
    WriteError,
)
from merganser.extras import imported

_JOB = "job.json"

#: The default number of parts.
_PARTS = 16

#: The object store of a local cluster in bytes: Ray's minimum, because manifests are small.
_OBJECTS = 80_000_000

#: The timeout for connecting to a cluster, in seconds.
_TIMEOUT = 5.0


@dataclass(frozen=True)
class Ray:
    """Count on a Ray cluster. Needs `pip install 'merganser[ray]'`.

    Pass it as `engine` to `merganser.count` or `merganser.train`.

    Parameters
    ----------
    address : str
        "local" starts a cluster on this machine, protected by a token, and stops it afterwards. "auto",
        "host:port" and "ray://host:port" connect to a running cluster. An existing connection of this process
        is used as it is.
    storage : path-like or str, optional
        A folder or URL ("s3://bucket/folder") that all nodes share, for intermediate counts. It serves one
        job at a time and is emptied after success. Optional for "local", which then cannot resume.
    parts : int, optional
        The number of parts, by hash of the pre-token, that are merged in parallel. By default 16, or the
        number of shards if that is less.
    shard_size : int or str
        The amount of text that a task counts, and so the most that is repeated if it is lost.
    memory : int or str
        The memory budget of a task. Ray schedules tasks accordingly.
    cpus : int
        The number of threads of a task.
    max_in_flight : int, optional
        The number of tasks submitted at a time; by default twice as many as the cluster can run.
    retries : int
        How often a task is retried if its node or process was lost, or if it could not write. Other errors
        are not retried.
    resume : bool
        Resume an interrupted run of the same job from the storage; False starts over.
    keep_work : bool
        Keep the storage after success, until `clean` is called. Useful if the result is yet to be saved.
    local : Local
        The engine for merging, and for input that only this process can read, such as an iterable.

    Raises
    ------
    SettingsError
        If a value is out of range, or `storage` is missing.
    ImportError
        If Ray is not installed.

    Examples
    --------
    >>> import merganser
    >>> engine = merganser.Ray("ray://head:10001", storage="s3://bucket/work", memory="2GB")
    >>> tokenizer = merganser.train("s3://bucket/texts/", 32_000, engine=engine)  # doctest: +SKIP
    """

    address: str = "local"
    storage: str | os.PathLike[str] | None = None
    parts: int | None = None
    shard_size: int | str = "256MB"
    memory: int | str = "1GB"
    cpus: int = 1
    max_in_flight: int | None = None
    retries: int = 3
    resume: bool = True
    keep_work: bool = False
    local: Local = field(default_factory=Local)

    def __post_init__(self) -> None:
        imported("ray", "ray", "the engine Ray")
        for name, minimum in (("parts", 1), ("cpus", 1), ("max_in_flight", 1), ("retries", 0)):
            value = getattr(self, name)
            if value is not None and value < minimum:
                raise SettingsError(f"{name} must be at least {minimum}, got {value}")
        if self.parts is not None and self.parts > 1000:
            raise SettingsError(f"parts must be at most 1000, got {self.parts}")
        memory.parse(self.memory)
        self._shard_size  # noqa: B018  # checks the value
        if self.storage is None and self.address != "local":
            raise SettingsError(
                f"the cluster {self.address} needs storage that all its nodes share; pass storage=, "
                "a folder or a URL such as s3://bucket/folder"
            )

    @property
    def threads(self) -> int | None:
        return self.local.threads

    @property
    def _shard_size(self) -> int:
        if isinstance(self.shard_size, int):
            if self.shard_size < 1:
                raise SettingsError(f"shard_size must be at least 1, got {self.shard_size}")
            return self.shard_size
        try:
            return memory.parse(self.shard_size)
        except SettingsError as error:
            raise SettingsError(str(error).replace("memory", "shard_size")) from None

    @property
    def _storage(self) -> str:
        address = os.fspath(self.storage or "")
        # The nodes have other working directories.
        return address if "://" in address else os.path.abspath(address)  # noqa: PTH100

    def clean(self) -> None:
        """Remove this engine's files from the storage."""
        if self.storage is not None:
            storage = storage_at(self._storage)
            if old_job := storage.read(_JOB):
                _remove(storage, old_job)

    def check(self) -> None:
        """Raise a `WriteError` if the work folder of this machine is not writable."""
        self.local.check()

    def merging(self) -> Merging:
        """Return the settings of the merge loop, which runs in this process."""
        return self.local.merging()

    @contextmanager
    def counted(
        self, corpus: Corpus, settings: SplitSettings, progress: ProgressCallback | None
    ) -> Iterator[CountsFile]:
        """Count a corpus; yield the counts in a temporary file."""
        with tempfile.TemporaryDirectory(prefix="merganser-") as folder:
            yield self.count_to(corpus, settings, Path(folder, work_folder.ALL), progress)

    def count_to(
        self, corpus: Corpus, settings: SplitSettings, out: Path, progress: ProgressCallback | None
    ) -> CountsFile:
        """Count a corpus into a file, without holding all counts in memory."""
        if not shards.plan(corpus, settings, self._shard_size):
            return self.local.count_to(corpus, settings, out, progress)
        if self.storage is None:
            with tempfile.TemporaryDirectory(prefix="merganser-") as folder:
                return replace(self, storage=folder).count_to(corpus, settings, out, progress)
        with tempfile.TemporaryDirectory(prefix=".merganser-", dir=out.parent) as folder:
            scratch = Path(folder)
            storage, job, plan = self._begin(corpus, settings)
            with self._connected() as ray:
                parts, sums = self._count_shards(ray, storage, job, plan, progress)
            paths = [shards.fetch_verified(storage, part, scratch) for part in parts]
            for manifest in sums:
                corpus.skips.add(**manifest["skipped"])
            others = [file for file in corpus.counts if isinstance(file, Path)]
            if local_corpus := shards.local_only(corpus):
                local = replace(self.local, work_dir=None)
                others.append(local.count_to(local_corpus, settings, scratch / "here.counts", progress).path)
            sums += [vars(CountsFile.open(path)) for path in others]
            documents, invalid_bytes, _, total = _core.merge_counts([*paths, *others], [out], scratch)
            whole = {"documents": documents, "invalid_bytes": invalid_bytes, "total": total}
            shards.check_sums(str(out), sums, whole)
        if not self.keep_work:
            self.clean()
        return CountsFile.open(out)

    def _begin(self, corpus: Corpus, settings: SplitSettings) -> tuple[Storage, Job, list[Shard]]:
        """Plan the shards, and resume or remove the job in the storage."""
        plan = shards.plan(corpus, settings, self._shard_size)
        parts = self.parts or min(_PARTS, len(plan))
        job = work_folder.describe(corpus, settings) | {"shard_size": self._shard_size, "parts": parts}
        storage = storage_at(self._storage)
        old_job = storage.read(_JOB)
        if old_job is not None and self.resume and job["files"] is not None:
            if what := work_folder.difference({**old_job, "id": None}, job):
                raise CountsError(
                    f"{storage.address} belongs to a different job ({what}); "
                    "choose another storage, or start over with --no-resume (resume=False)"
                )
            name = str(old_job.get("id"))
        else:
            if old_job is not None:
                _remove(storage, old_job)
            name = secrets.token_hex(8)
            storage.write(_JOB, job | {"id": name})
        size = memory.parse(self.memory)
        return storage, Job(name, self._storage, settings, corpus.reading, parts, size, self.cpus), plan

    def _count_shards(
        self, ray: Any, storage: Storage, job: Job, plan: list[Shard], progress: ProgressCallback | None
    ) -> tuple[list[Manifest], list[Manifest]]:
        """Count and merge; return the merged parts and the manifests of all shards."""
        options = {
            "num_cpus": self.cpus,
            "memory": job.memory,
            "max_retries": self.retries,
            "retry_exceptions": [WriteError],
        }
        self._warn_if_unschedulable(ray, job)
        total = sum(shards.size_of(shard) for shard in plan)
        done: dict[str, Manifest] = {}
        finished_before = storage.manifests(job.id)

        def report() -> None:
            if progress:
                progress("count", sum(manifest.get("bytes", 0) for manifest in done.values()), total)

        def run(task: Callable[..., Manifest], calls: dict[str, tuple[Any, ...]]) -> None:
            remote = ray.remote(**options)(task)
            for name in calls:
                if f"{name}.json" in finished_before and (manifest := storage.read(f"{job.id}/{name}.json")):
                    done[name] = manifest
            remaining = {name: call for name, call in calls.items() if name not in done}
            for name, manifest in self._results(ray, remote, remaining, report):
                done[name] = manifest
                report()

        report()
        counted = [f"shard-{number:06}" for number in range(len(plan))]
        run(shards.count_shard, {name: (job, n, plan[n]) for n, name in enumerate(counted)})
        report()
        manifests = [done[name] for name in counted]
        parts = [[manifest["runs"][part] for manifest in manifests] for part in range(job.parts)]
        level = 0
        while any(len(runs) > 1 for runs in parts):
            calls: dict[str, tuple[Any, ...]] = {}
            names: list[list[str]] = []
            for part, runs in enumerate(parts):
                groups = [runs[at : at + FAN_IN] for at in range(0, len(runs), FAN_IN)]
                names.append([f"merge-{level}-{part:03}-{group:06}" for group in range(len(groups))])
                calls |= {name: (job, name, group) for name, group in zip(names[-1], groups, strict=True)}
            run(shards.merge_part, calls)
            # The merged runs are no longer needed; their manifests are kept.
            storage.remove(*(run["name"] for runs in parts for run in runs))
            parts = [[done[name]["runs"][0] for name in group] for group in names]
            level += 1
        merged = [runs[0] for runs in parts]
        sums = {
            what: sum(manifest[what] for manifest in manifests)
            for what in ("documents", "invalid_bytes", "total")
        }
        shards.check_sums("the sum of all shards", merged, sums)
        return merged, manifests

    def _results(
        self, ray: Any, remote: Any, calls: dict[str, tuple[Any, ...]], report: Callable[[], None]
    ) -> Iterator[tuple[str, Manifest]]:
        """Yield the results of the tasks as they finish, with a limited number in flight.

        If one fails or the run is stopped, the others end with our connection. They are not canceled one by
        one, because Ray 2.60 aborts the whole process if a task is canceled while it ends. On the caller's
        connection they run to the end, and the next run finds their results.
        """
        pending = iter(calls.items())
        in_flight: dict[Any, str] = {}
        while True:
            for _ in range(self._max_in_flight(ray) - len(in_flight)):
                if (call := next(pending, None)) is not None:
                    in_flight[remote.remote(*call[1])] = call[0]
            if not in_flight:
                return
            ready, _ = ray.wait(list(in_flight), num_returns=1, timeout=1.0)
            for task in ready:
                name = in_flight.pop(task)
                yield name, self._result(ray, task, name)
            report()  # even if no task finished: the callback may stop the run

    def _max_in_flight(self, ray: Any) -> int:
        """Return the number of tasks to keep in flight; evaluated repeatedly, because a cluster may grow."""
        if self.max_in_flight is not None:
            return self.max_in_flight
        return max(2 * int(ray.cluster_resources().get("CPU", 1) // self.cpus), 2)

    def _result(self, ray: Any, task: Any, name: str) -> Manifest:
        try:
            manifest: Manifest = ray.get(task)
        except ray.exceptions.RayTaskError as error:
            if isinstance(error.cause, MerganserError):
                raise error.cause from None
            raise EngineError(f"{name} failed on the cluster: {error.cause!r}") from error
        except ray.exceptions.RayError as error:
            raise EngineError(
                f"{name} was lost {self.retries + 1} times, possibly out of memory: {str(error).strip()}; "
                "finished shards are in the storage, run it again to resume"
            ) from error
        return manifest

    def _warn_if_unschedulable(self, ray: Any, job: Job) -> None:
        fits = any(
            node["Alive"]
            and node["Resources"].get("CPU", 0) >= self.cpus
            and node["Resources"].get("memory", 0) >= job.memory
            for node in ray.nodes()
        )
        if not fits:
            message = (
                f"no node of the cluster has {self.cpus} CPUs and {job.memory:,} bytes of memory for a task; "
                "the run waits until the cluster grows: reduce memory or cpus"
            )
            warnings.warn(message, MerganserWarning, stacklevel=2)

    @contextmanager
    def _connected(self) -> Iterator[Any]:
        """Yield Ray, connected to the cluster; disconnect afterwards unless it was connected before."""
        ray = imported("ray", "ray", "the engine Ray")
        if ray.is_initialized():
            yield ray
            return
        settings: dict[str, Any] = {"log_to_driver": False, "logging_level": "WARNING"}
        is_local = self.address == "local"
        if is_local:
            settings |= {"include_dashboard": False, "object_store_memory": _OBJECTS}
        else:
            _check_reachable(self.address)
        with _token_protected() if is_local else nullcontext():
            try:
                ray.init(self.address, **settings)
            except Exception as error:  # raised by Ray's many parts
                ray.shutdown()
                raise EngineError(f"cannot reach or start the Ray cluster {self.address}: {error}") from error
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


def _remove(storage: Storage, job: dict[str, Any]) -> None:
    """Remove a job; its description first, so that it never refers to files that are gone."""
    storage.remove(_JOB)
    name = str(job.get("id", ""))
    if name.isalnum():
        storage.remove(name)
