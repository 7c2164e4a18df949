"""The machines of a Ray cluster.

The corpus becomes shards (`shards`), and a task counts each of them on any node, within its memory, and
leaves sorted runs in a storage that all nodes share. Other tasks merge the runs, part by part; this process
merges the parts. Ray carries only manifests of some hundred bytes: what is counted is in the storage as soon
as a task has ended, so neither a lost node nor a driver that was killed costs more than the shards that were
being counted. The merge loop of training runs here.

It loses against `Local` where the corpus is small: starting a cluster takes seconds.
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

#: How many parts there are where nobody says.
_PARTS = 16

#: What a cluster of ours keeps in memory for objects: the least that Ray takes, because manifests are small.
_OBJECTS = 80_000_000

#: A cluster has so many seconds to answer.
_PATIENCE = 5.0


@dataclass(frozen=True)
class Ray:
    """Counts on a Ray cluster; `pip install 'merganser[ray]'`.

    address: "local" starts a cluster on this machine, protected by a token, and stops it afterwards; "auto",
        "host:port" and "ray://host:port" are clusters that run. Where this process is connected already, that
        is used.
    storage: a folder or an fsspec address ("s3://bucket/folder") that all nodes share, for what was counted.
        One job at a time. Only "local" does without, and then nothing can be resumed. Emptied when the work
        has succeeded.
    parts: into how many parts the pre-tokens are shared out by their hash, to be merged in parallel; 16 if
    not
        given, or as many as there are shards.
    shard_size: how much text a task counts; what is done again at most where one is lost.
    memory: what a task may take. Ray places tasks accordingly.
    cpus: how many threads a task has.
    max_in_flight: how many tasks are handed to Ray at a time; twice what the cluster can run if not given.
    retries: how often a task is started again whose node or process was lost, or that could not write. Other
        errors are final.
    resume: go on from what an interrupted run of the same job has left in the storage; False starts afresh.
    keep_work: leave the storage as it is, for one who has yet to save the result; `clean` empties it.
    local: this machine, for merging and for what only this process can read, such as an iterable.
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
        for name, least in (("parts", 1), ("cpus", 1), ("max_in_flight", 1), ("retries", 0)):
            value = getattr(self, name)
            if value is not None and value < least:
                raise SettingsError(f"{name} must be at least {least}, not {value}")
        if self.parts is not None and self.parts > 1000:
            raise SettingsError(f"parts must be at most 1000, not {self.parts}")
        memory.parse(self.memory)
        self._shard_size  # noqa: B018  # is checked
        if self.storage is None and self.address != "local":
            raise SettingsError(
                f"the cluster {self.address} needs a storage that all its nodes share; pass storage=, "
                "a folder or an address such as s3://bucket/folder"
            )

    @property
    def threads(self) -> int | None:
        return self.local.threads

    @property
    def _shard_size(self) -> int:
        if isinstance(self.shard_size, int):
            if self.shard_size < 1:
                raise SettingsError(f"shard_size must be at least 1, not {self.shard_size}")
            return self.shard_size
        try:
            return memory.parse(self.shard_size)
        except SettingsError as error:
            raise SettingsError(str(error).replace("memory", "shard_size")) from None

    @property
    def _storage(self) -> str:
        address = os.fspath(self.storage or "")
        # Nodes have working directories of their own.
        return address if "://" in address else os.path.abspath(address)  # noqa: PTH100

    def clean(self) -> None:
        """Empties the storage of what this engine has left there."""
        if self.storage is not None:
            place = storage_at(self._storage)
            if there := place.read(_JOB):
                _remove(place, there)

    def check(self) -> None:
        """Raise a `WriteError` if the work folder of this machine cannot be written to."""
        self.local.check()

    def merging(self) -> Merging:
        """The merge loop runs here."""
        return self.local.merging()

    @contextmanager
    def counted(
        self, corpus: Corpus, settings: SplitSettings, progress: ProgressCallback | None
    ) -> Iterator[CountsFile]:
        """The counts of `corpus`, in a file that lasts as long as this."""
        with tempfile.TemporaryDirectory(prefix="merganser-") as folder:
            yield self.count_to(corpus, settings, Path(folder, work_folder.ALL), progress)

    def count_to(
        self, corpus: Corpus, settings: SplitSettings, out: Path, progress: ProgressCallback | None
    ) -> CountsFile:
        """Counts the text of `corpus` into a file and adds its counts; nothing is ever in memory as a
        whole."""
        if not shards.plan(corpus, settings, self._shard_size):
            return self.local.count_to(corpus, settings, out, progress)
        if self.storage is None:
            with tempfile.TemporaryDirectory(prefix="merganser-") as folder:
                return replace(self, storage=folder).count_to(corpus, settings, out, progress)
        with tempfile.TemporaryDirectory(prefix=".merganser-", dir=out.parent) as folder:
            scratch = Path(folder)
            place, job, plan = self._begin(corpus, settings)
            with self._connected() as ray:
                parts, sums = self._count_shards(ray, place, job, plan, progress)
            paths = [shards.fetched(place, part, scratch) for part in parts]
            for manifest in sums:
                corpus.skips.add(**manifest["skipped"])
            others = [file for file in corpus.counts if isinstance(file, Path)]
            if here := shards.rest(corpus):
                local = replace(self.local, work_dir=None)
                others.append(local.count_to(here, settings, scratch / "here.counts", progress).path)
            known = [CountsFile.open(path) for path in others]
            sums += [vars(file) for file in known]
            documents, invalid_bytes, _, total = _core.merge_counts([*paths, *others], [out], scratch)
            whole = {"documents": documents, "invalid_bytes": invalid_bytes, "total": total}
            shards.check_sums(str(out), sums, whole)
        if not self.keep_work:
            self.clean()
        return CountsFile.open(out)

    def _begin(self, corpus: Corpus, settings: SplitSettings) -> tuple[Storage, Job, list[Shard]]:
        """Plans the work, and goes on from what is in the storage or clears it away."""
        plan = shards.plan(corpus, settings, self._shard_size)
        parts = self.parts or min(_PARTS, len(plan))
        job = work_folder.describe(corpus, settings) | {"shard_size": self._shard_size, "parts": parts}
        place = storage_at(self._storage)
        there = place.read(_JOB)
        if there is not None and self.resume and job["files"] is not None:
            if what := work_folder.difference({**there, "id": None}, job):
                raise CountsError(
                    f"{place.address} holds work on {what}; "
                    "give another storage, or --no-resume (resume=False) to start afresh"
                )
            name = str(there.get("id"))
        else:
            if there is not None:
                _remove(place, there)
            name = secrets.token_hex(8)
            place.write(_JOB, job | {"id": name})
        size = memory.parse(self.memory)
        return place, Job(name, self._storage, settings, corpus.reading, parts, size, self.cpus), plan

    def _count_shards(
        self, ray: Any, place: Storage, job: Job, plan: list[Shard], progress: ProgressCallback | None
    ) -> tuple[list[Manifest], list[Manifest]]:
        """The parts, and the manifests of all shards."""
        options = {
            "num_cpus": self.cpus,
            "memory": job.memory,
            "max_retries": self.retries,
            "retry_exceptions": [WriteError],
        }
        self._warn_of_waiting(ray, job)
        total = sum(shards.size_of(shard) for shard in plan)
        done: dict[str, Manifest] = {}
        at_once = place.manifests(job.id)

        def told() -> None:
            if progress:
                progress("count", sum(manifest.get("bytes", 0) for manifest in done.values()), total)

        def run(task: Callable[..., Manifest], calls: dict[str, tuple[Any, ...]]) -> None:
            remote = ray.remote(**options)(task)
            for name in calls:
                if f"{name}.json" in at_once and (manifest := place.read(f"{job.id}/{name}.json")):
                    done[name] = manifest
            left = {name: call for name, call in calls.items() if name not in done}
            for name, manifest in self._results(ray, remote, left, told):
                done[name] = manifest
                told()

        told()
        counted = [f"shard-{number:06}" for number in range(len(plan))]
        run(shards.count_shard, {name: (job, n, plan[n]) for n, name in enumerate(counted)})
        told()
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
            # What was merged is no longer needed; its manifests stay.
            place.remove(*(run["name"] for runs in parts for run in runs))
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
        self, ray: Any, remote: Any, calls: dict[str, tuple[Any, ...]], told: Callable[[], None]
    ) -> Iterator[tuple[str, Manifest]]:
        """What the tasks return, as they end. Only so many are under way.

        Where one fails or the work is stopped, the others end with our connection. They are not cancelled one
        by one: a task that is cancelled while it ends makes Ray 2.60 abort the whole process. On a connection
        of the caller's they run to their end, and what they leave is there for the next time.
        """
        waiting = iter(calls.items())
        flying: dict[Any, str] = {}
        while True:
            for _ in range(self._room(ray) - len(flying)):
                if (call := next(waiting, None)) is not None:
                    flying[remote.remote(*call[1])] = call[0]
            if not flying:
                return
            ready, _ = ray.wait(list(flying), num_returns=1, timeout=1.0)
            for task in ready:
                name = flying.pop(task)
                yield name, self._result(ray, task, name)
            told()  # also where nothing was ready: a callback may stop the work

    def _room(self, ray: Any) -> int:
        """How many tasks may be under way: asked again and again, because a cluster may grow."""
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
                f"{name} was lost {self.retries + 1} times, for want of memory perhaps: "
                f"{str(error).strip()}; what is done is in the storage, start again to go on"
            ) from error
        return manifest

    def _warn_of_waiting(self, ray: Any, job: Job) -> None:
        fits = any(
            node["Alive"]
            and node["Resources"].get("CPU", 0) >= self.cpus
            and node["Resources"].get("memory", 0) >= job.memory
            for node in ray.nodes()
        )
        if not fits:
            message = (
                f"no node of the cluster has {self.cpus} CPUs and {job.memory:,} bytes of memory for a task "
                "now; unless the cluster grows, the work waits: ask for less memory or fewer cpus"
            )
            warnings.warn(message, MerganserWarning, stacklevel=2)

    @contextmanager
    def _connected(self) -> Iterator[Any]:
        """Ray, connected to the cluster; disconnected afterwards where it was not connected before."""
        ray = imported("ray", "ray", "the engine Ray")
        if ray.is_initialized():
            yield ray
            return
        settings: dict[str, Any] = {"log_to_driver": False, "logging_level": "WARNING"}
        ours = self.address == "local"
        if ours:
            settings |= {"include_dashboard": False, "object_store_memory": _OBJECTS}
        else:
            _knock(self.address)
        with _protected() if ours else nullcontext():
            try:
                ray.init(self.address, **settings)
            except Exception as error:  # Ray raises whatever its parts raise
                ray.shutdown()
                raise EngineError(f"cannot reach or start the Ray cluster {self.address}: {error}") from error
            try:
                yield ray
            finally:
                ray.shutdown()


def _knock(address: str) -> None:
    """Whether anybody is there: Ray itself would try for minutes."""
    host, _, port = address.rpartition("://")[2].rpartition(":")
    if port.isdecimal():
        try:
            socket.create_connection((host.strip("[]"), int(port)), timeout=_PATIENCE).close()
        except OSError as error:
            raise EngineError(
                f"cannot reach the Ray cluster {address}: {error}; check the address and the cluster"
            ) from error


@contextmanager
def _protected() -> Iterator[None]:
    """A cluster of ours takes orders only from those who have its token, and reports to nobody.

    Whoever has set RAY_AUTH_MODE has decided for themselves.
    """
    ours = {"RAY_USAGE_STATS_ENABLED": "0"}
    if "RAY_AUTH_MODE" not in os.environ:
        ours |= {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": secrets.token_hex(32)}
    before = {name: os.environ.get(name) for name in ours}
    try:
        os.environ.update(ours)
        _reread_environment()
        yield
    finally:
        for name, value in before.items():
            os.environ.pop(name)
            if value is not None:
                os.environ[name] = value
        _reread_environment()


def _reread_environment() -> None:
    # Ray does so when it is imported, and that was earlier.
    raylet = imported("ray._raylet", "ray", "the engine Ray")
    raylet.Config.initialize("")
    raylet.AuthenticationTokenLoader.instance().reset_cache()


def _remove(place: Storage, job: dict[str, Any]) -> None:
    """The job first, because nothing may vouch for what is gone."""
    place.remove(_JOB)
    name = str(job.get("id", ""))
    if name.isalnum():
        place.remove(name)
