"""Divide a corpus into shards that any node can count, and merge the counts.

The plan depends only on the corpus and the settings. Small files are grouped. A large plain-text file is
split into ranges at positions that do not change the pre-tokens, and one of JSON lines at line breaks
(`crates/core/src/corpus/shards.rs`); Parquet is split by row groups. Any other file is one shard, whatever
its size: JSON, CSV, compressed files and files at URLs.

The counts of a shard are written as one sorted run for each of P parts, by the hash of the pre-token. All
counts of a pre-token are therefore in the runs of one part, and the parts are merged independently, at most
`FAN_IN` runs at a time. A manifest in the storage records the size, checksum and sums of each file: a task
whose manifest exists has nothing to do, and a task that reads a file verifies it. The files of a job are
stored under its id, so that a straggler of an earlier job cannot overwrite them.

No task exceeds its memory budget, or needs more local disk than the runs of one shard or one merge.
"""

import os
import platform
import secrets
import tempfile
import time
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from merganser import _core
from merganser.corpus import Corpus, TableDocuments
from merganser.corpus.binary import text_of
from merganser.corpus.read_options import ReadOptions
from merganser.corpus.remote import RemoteFile
from merganser.corpus.skipped import Skips
from merganser.corpus.split_settings import SplitSettings
from merganser.corpus.tables import ParquetFile
from merganser.engines import memory
from merganser.engines.storage import Storage, storage_at
from merganser.errors import CorpusError, CountsError, InternalError, SettingsError

#: The number of runs that a task merges; larger numbers are merged as a tree.
FAN_IN = 32

Manifest = dict[str, Any]
_SUMS = ("documents", "invalid_bytes", "total")


@dataclass(frozen=True)
class Range:
    """A byte range of a file. The size of the file lets a node detect that it sees a different file."""

    path: str
    start: int
    end: int
    file_size: int
    in_document: bool = False

    @property
    def is_whole(self) -> bool:
        return self.start == 0 and self.end == self.file_size


#: Input that any node can read.
Part = Range | RemoteFile | ParquetFile

#: One large part of the corpus, or several small ones.
Shard = tuple[Part, ...]


@dataclass(frozen=True)
class Job:
    """The settings of a job, which every task receives."""

    id: str
    storage: str
    settings: SplitSettings
    reading: ReadOptions
    parts: int
    memory: int
    threads: int

    def open(self) -> Storage:
        """Open the storage on this node, and check that it is the driver's storage."""
        storage = storage_at(self.storage)
        job = storage.read("job.json")
        if job is None or job.get("id") != self.id:
            raise SettingsError(
                f"the node {platform.node()} does not see the driver's files in {self.storage}; "
                "storage must be a folder that all nodes share, or a URL such as s3://bucket/folder"
            )
        return storage


def plan(corpus: Corpus, settings: SplitSettings, size: int) -> list[Shard]:
    """Return the shards of a corpus in order, without input that only this process can read."""
    shards: list[Shard] = []
    small: list[Part] = []
    tables = corpus.documents.tables if isinstance(corpus.documents, TableDocuments) else ()
    parquet = [
        part for table in tables if isinstance(table, ParquetFile) for part in _row_groups(table, size)
    ]
    parts: list[Part] = [*_ranges(corpus, settings, size), *corpus.streams, *parquet]
    for part in parts:
        if small and size_of((*small, part)) > size:
            shards.append(tuple(small))
            small = []
        small.append(part)
    return [*shards, tuple(small)] if small else shards


def local_only(corpus: Corpus) -> Corpus | None:
    """Return the input that only this process can read, if any: standard input, iterables, datasets."""
    documents = corpus.documents
    if isinstance(documents, TableDocuments):
        tables = tuple(table for table in documents.tables if not isinstance(table, ParquetFile))
        documents = replace(documents, tables=tables) if tables else None
    local = replace(corpus, files=(), streams=(), counts=(), documents=documents)
    return local if local.has_text else None


def size_of(shard: Shard) -> int:
    """Return the bytes to read, where the size is known."""
    return sum(_size(part) for part in shard)


def _size(part: Part) -> int:
    return part.end - part.start if isinstance(part, Range) else part.size or 0


def _row_groups(table: ParquetFile, size: int) -> list[ParquetFile]:
    return table.divided(size) if table.size > size else [table]


def _ranges(corpus: Corpus, settings: SplitSettings, size: int) -> Iterator[Range]:
    for file in corpus.files:
        name = os.path.abspath(file)  # noqa: PTH100  # keeps links, unlike resolve()
        try:
            length = file.stat().st_size
        except OSError as error:
            raise CorpusError(f"cannot read {file}: {error.strerror}") from error
        cuts: list[tuple[int, bool]] = []
        if length > size:
            cuts = _core.shard_cuts(
                file, size, settings.pattern, list(settings.special_tokens), settings.separator
            )
        ends = [*(start for start, _ in cuts), length]
        for (start, in_document), end in zip([(0, False), *cuts], ends, strict=True):
            yield Range(name, start, end, length, in_document)


def count_shard(job: Job, number: int, shard: Shard) -> Manifest:
    """Count a shard, and write its runs and manifest to the storage."""
    storage = job.open()
    name = f"{job.id}/shard-{number:06}"
    if done := storage.read(f"{name}.json"):
        return done
    began = time.time()
    with tempfile.TemporaryDirectory(prefix="merganser-") as folder:
        scratch = Path(folder)
        counter = _core.Counter(
            job.settings.pattern, list(job.settings.special_tokens), job.settings.separator, job.threads, None
        )
        try:
            counter.spill_to(scratch / "spill", memory.for_tables(job.memory), None, "{}\n")
            limit = memory.for_records(job.memory, job.threads, memory.COUNTING)
            counter.limit_records(job.reading.record_limit(limit))
            skips = Skips()
            for part in shard:
                _add(counter, part, job.reading, skips)
            skips.add(*counter.skipped())
            counter.finish_to(scratch / "all.counts", [])
        finally:
            counter.abandon()
        names = [_unique(f"{name}.{part:03}") for part in range(job.parts)]
        manifest = _merge(storage, [scratch / "all.counts"], names, scratch, job.threads)
    manifest |= {
        "skipped": asdict(skips.skipped),
        "bytes": size_of(shard),
        "node": platform.node(),
        "began": began,
        "ended": time.time(),
    }
    storage.write(f"{name}.json", manifest)
    return manifest


def _add(counter: _core.Counter, part: Part, reading: ReadOptions, skips: Skips) -> None:
    if isinstance(part, RemoteFile):
        return counter.add_stream(*text_of(part, reading, skips), reading._native())
    if isinstance(part, ParquetFile):
        for buffer in part.buffers(skips):
            counter.add_documents(buffer)
        return None
    return add_range(counter, part, reading)


def add_range(worker: _core.Counter | _core.TokenWriter, part: Range, reading: ReadOptions) -> None:
    """Pass a file, or a range of it, to a counter or writer."""
    path = Path(part.path)
    try:
        size = path.stat().st_size
    except OSError as error:
        raise CorpusError(
            f"the node {platform.node()} cannot read {path}: {error.strerror}; "
            "all nodes must see the corpus under the same path"
        ) from error
    if size != part.file_size:
        raise CorpusError(
            f"{path} has {size:,} bytes on the node {platform.node()}, but {part.file_size:,} on the driver; "
            "do not change the corpus while it is read, and make sure that all nodes see the same files"
        )
    if part.is_whole:
        return worker.add_files([path], reading._native())
    return worker.add_range(path, part.start, part.end, part.in_document, reading._native())


def merge_part(job: Job, name: str, runs: list[Manifest]) -> Manifest:
    """Merge runs of one part into one file, and write its manifest to the storage."""
    storage = job.open()
    if done := storage.read(f"{job.id}/{name}.json"):
        return done
    with tempfile.TemporaryDirectory(prefix="merganser-") as folder:
        scratch = Path(folder)
        paths = [fetch_verified(storage, run, scratch) for run in runs]
        manifest = _merge(storage, paths, [_unique(f"{job.id}/{name}")], scratch, job.threads)
    check_sums(name, runs, manifest)
    storage.write(f"{job.id}/{name}.json", manifest)
    return manifest


def _unique(name: str) -> str:
    """Return a file name unique to this attempt, since an attempt presumed lost may still be writing."""
    return f"{name}.{secrets.token_hex(4)}.counts"


def _merge(storage: Storage, paths: list[Path], names: list[str], scratch: Path, threads: int) -> Manifest:
    """Merge files into one stored file per part, by hash of the pre-token; return the manifest."""
    outs = [storage.local_path(name, scratch) for name in names]
    documents, invalid_bytes, _, total = _core.merge_counts(paths, outs, scratch, threads=threads)
    runs = []
    for name, out in zip(names, outs, strict=True):
        numbers = dict(
            zip(
                ("documents", "invalid_bytes", "pretokens", "total"),
                _core.CountsReader(out).totals,
                strict=True,
            )
        )
        runs.append({"name": name, "bytes": out.stat().st_size, "crc32": _checksum(out), **numbers})
        storage.store(out, name)
    manifest = {"runs": runs, "documents": documents, "invalid_bytes": invalid_bytes, "total": total}
    check_sums(names[0], runs, manifest)
    return manifest


def fetch_verified(storage: Storage, run: Manifest, scratch: Path) -> Path:
    """Return a run as a local file, after verifying its size and checksum."""
    path = storage.fetch(run["name"], scratch)
    if path.stat().st_size != run["bytes"] or _checksum(path) != run["crc32"]:
        raise CountsError(
            f"{storage.address}/{run['name']}, which holds the counts of an earlier run, is corrupt: "
            "its checksum does not match; start over with --no-resume (resume=False)"
        )
    return path


def _checksum(path: Path) -> int:
    checksum = 0
    with path.open("rb") as file:
        while chunk := file.read(1 << 20):
            checksum = zlib.crc32(chunk, checksum)
    return checksum


def check_sums(name: str, parts: Iterable[Manifest], whole: Manifest) -> None:
    """Raise an `InternalError` unless the sums of the parts equal those of the whole."""
    parts = list(parts)
    for what in _SUMS:
        if (expected := sum(part[what] for part in parts)) != whole[what]:
            raise InternalError(
                f"{name} has {what}={whole[what]:,}, but its parts add up to {expected:,}; "
                "please report this bug"
            )
