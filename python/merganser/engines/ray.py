"""Count and encode on a Ray cluster.

The corpus is divided into shards (`shards`). A task on any node counts a shard within its memory budget and
writes sorted runs to a storage that all nodes share. Other tasks merge the runs of each part, and this
process merges the parts. Ray transfers only manifests of a few hundred bytes: the counts are in the storage
when a task ends, so a lost node or a killed driver loses only the shards that were being counted. The merge
loop of training runs in this process. Encoding is in `encoding`.

For a small corpus `Local` is faster: starting a cluster takes seconds.
"""

import os
import secrets
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from merganser import _core
from merganser.corpus import Corpus
from merganser.corpus.split_settings import SplitSettings
from merganser.counts import CountsFile
from merganser.engines import encoding, memory, pieces, shards, work_folder
from merganser.engines.local import Local, Merging, ProgressCallback
from merganser.engines.pieces import JOB
from merganser.engines.ray_cluster import Cluster, connected
from merganser.engines.shards import FAN_IN, Job, Manifest, Shard
from merganser.engines.storage import Storage, storage_at
from merganser.engines.tasks import Call, Executor, results
from merganser.engines.token_files import StartPosition, TokenSettings
from merganser.errors import CountsError, SettingsError, WriteError
from merganser.extras import imported
from merganser.files import locked_folder

#: The default number of parts.
_PARTS = 16


@dataclass(frozen=True)
class Ray:
    """Count and encode on a Ray cluster. Needs `pip install 'merganser[ray]'`.

    Pass it as `engine` to `merganser.count`, `merganser.train` or `Tokenizer.encode_corpus`.

    Parameters
    ----------
    address : str
        "local" starts a cluster on this machine, protected by a token, and stops it afterwards. "auto",
        "host:port" and "ray://host:port" connect to a running cluster. An existing connection of this process
        is used as it is.
    storage : path-like or str, optional
        A folder or URL ("s3://bucket/folder") that all nodes share, for intermediate counts and tokens. It
        serves one job at a time and is emptied after success. Optional for "local", which then cannot resume
        counting.
    parts : int, optional
        The number of parts, by hash of the pre-token, that are merged in parallel. By default 16, or the
        number of shards if that is less.
    shard_size : int or str
        The amount of text that a task counts or encodes, and so the most that is repeated if it is lost.
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
            encoding.remove_job(storage_at(self._storage))

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
            with self._connected(job.memory) as cluster:
                parts, sums = self._count_shards(cluster, storage, job, plan, progress)
            paths = [shards.fetch_verified(storage, part, scratch) for part in parts]
            for manifest in sums:
                corpus.skips.add(**manifest["skipped"])
            others = [file for file in corpus.counts if isinstance(file, Path)]
            if local_corpus := shards.local_only(corpus):
                local = replace(self.local, work_dir=None)
                others.append(local.count_to(local_corpus, settings, scratch / "here.counts", progress).path)
            sums += [vars(CountsFile.open(path)) for path in others]
            documents, invalid_bytes, _, total = _core.merge_counts(
                [*paths, *others], [out], scratch, threads=self.local._threads
            )
            whole = {"documents": documents, "invalid_bytes": invalid_bytes, "total": total}
            shards.check_sums(str(out), sums, whole)
        if not self.keep_work:
            self.clean()
        return CountsFile.open(out)

    def encode(
        self,
        corpus: Corpus,
        tokenizer: _core.Tokenizer,
        settings: TokenSettings,
        out: str,
        begin: Callable[[], StartPosition | None],
        progress: ProgressCallback | None,
        *,
        resume: bool,
    ) -> None:
        """Encode a corpus and write the ids to `out`, a folder that all nodes share, or a URL.

        See `Local.encode`. `resume` False removes pieces of an earlier run from the storage.
        """
        if not shards.plan(corpus, SplitSettings(), 1 << 62):
            self.local.encode(corpus, tokenizer, settings, out, begin, progress, resume=resume)
            return
        pieces.check(tokenizer, settings)
        size = memory.parse(self.memory)
        with ExitStack() as stack:
            if "://" not in out:
                out = os.path.abspath(out)  # noqa: PTH100  # the nodes have other working directories
                stack.enter_context(locked_folder(Path(out)))
            start = begin()
            if start is None:
                return
            if self.storage is None:
                storage = stack.enter_context(tempfile.TemporaryDirectory(prefix="merganser-"))
            else:
                storage = self._storage
            resources = encoding.Resources(
                storage, self._shard_size, size, self.cpus, self.resume and resume, self.keep_work
            )
            cluster = self._connected(size)
            encoding.encode(corpus, tokenizer, settings, out, start, progress, resources, cluster)

    def _begin(self, corpus: Corpus, settings: SplitSettings) -> tuple[Storage, Job, list[Shard]]:
        """Plan the shards, and resume or remove the job in the storage."""
        plan = shards.plan(corpus, settings, self._shard_size)
        parts = self.parts or min(_PARTS, len(plan))
        job = work_folder.describe(corpus, settings) | {"shard_size": self._shard_size, "parts": parts}
        storage = storage_at(self._storage)
        old_job = storage.read(JOB)
        if old_job is not None and self.resume and job["files"] is not None:
            if what := work_folder.difference({**old_job, "id": None}, job):
                raise CountsError(
                    f"{storage.address} belongs to a different job ({what}); "
                    "choose another storage, or start over with --no-resume (resume=False)"
                )
            name = str(old_job.get("id"))
        else:
            encoding.remove_job(storage)
            name = secrets.token_hex(8)
            storage.write(JOB, job | {"id": name})
        size = memory.parse(self.memory)
        return storage, Job(name, self._storage, settings, corpus.reading, parts, size, self.cpus), plan

    def _count_shards(
        self,
        cluster: Executor,
        storage: Storage,
        job: Job,
        plan: list[Shard],
        progress: ProgressCallback | None,
    ) -> tuple[list[Manifest], list[Manifest]]:
        """Count and merge; return the merged parts and the manifests of all shards."""
        total = sum(shards.size_of(shard) for shard in plan)
        done: dict[str, Manifest] = {}
        finished_before = storage.manifests(job.id)

        def report() -> None:
            if progress:
                progress("count", sum(manifest.get("bytes", 0) for manifest in done.values()), total)

        def run(task: Callable[..., Manifest], calls: dict[str, tuple[Any, ...]]) -> None:
            for name in calls:
                if f"{name}.json" in finished_before and (manifest := storage.read(f"{job.id}/{name}.json")):
                    done[name] = manifest
            remaining = (Call(name, task, call) for name, call in calls.items() if name not in done)
            for name, manifest in results(cluster, lambda: next(remaining, None), report):
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

    @contextmanager
    def _connected(self, size: int) -> Iterator[Cluster]:
        """Yield the cluster, for tasks with a memory budget of `size` bytes."""
        with connected(self.address) as ray:
            options = {
                "num_cpus": self.cpus,
                "memory": size,
                "max_retries": self.retries,
                "retry_exceptions": [WriteError],
            }
            cluster = Cluster(ray, options, self.max_in_flight)
            cluster.warn_if_unschedulable()
            yield cluster
