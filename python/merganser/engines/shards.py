"""Shards: a corpus cut into parts, each of which any machine can count; and the sum of what they have
counted.

The plan depends on the corpus and the settings alone. Small files go together; a large file of plain text is
cut into ranges where a cut changes nothing (`crates/core/src/corpus/shards.rs`); any other file is a shard of
its own, whatever its size.

A shard becomes one sorted run for each of P parts, by the hash of the pre-token. So all that there is of a
pre-token lies in the runs of one part, and the parts are merged apart from each other, at most `FAN_IN` runs
at a time. What a task has done is vouched for by a manifest in the storage, with the size, the checksum and
the sums of every file: a task that finds its manifest there has nothing to do, and one that reads a file
checks it. The files of a job lie below its id, so that a straggler of an earlier job never writes among them.

No task needs more memory than it is given, nor more of its own disk than the runs of one shard, or one merge
from an address, take.
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

#: How many runs a task merges; a tree of them takes any number.
FAN_IN = 32

#: What has a structure or is compressed, and cannot be cut just anywhere.
_NOT_PLAIN = {".json", ".jsonl", ".ndjson", ".csv", ".tsv", ".parquet", ".gz", ".zst", ".zstd", ".xz", ".bz2"}

Manifest = dict[str, Any]
_SUMS = ("documents", "invalid_bytes", "total")


@dataclass(frozen=True)
class Range:
    """Some of a file. Its whole size tells a node that sees another file of the same name."""

    path: str
    start: int
    end: int
    file_size: int
    in_document: bool = False

    @property
    def is_whole(self) -> bool:
        return self.start == 0 and self.end == self.file_size


#: What a task can read by itself: some of a file, or a whole one at an address or of rows.
Part = Range | RemoteFile | ParquetFile

#: One large part of the corpus, or several small ones.
Shard = tuple[Part, ...]


@dataclass(frozen=True)
class Job:
    """What every task is told."""

    id: str
    storage: str
    settings: SplitSettings
    reading: ReadOptions
    parts: int
    memory: int
    threads: int

    def open(self) -> Storage:
        """The storage, seen from here: an error where it is another one than the driver's."""
        storage = storage_at(self.storage)
        there = storage.read("job.json")
        if there is None or there.get("id") != self.id:
            raise SettingsError(
                f"the node {platform.node()} does not find in {self.storage} what the driver has put there: "
                "storage must be a folder that all nodes share, or an address such as s3://bucket/folder"
            )
        return storage


def plan(corpus: Corpus, settings: SplitSettings, size: int) -> list[Shard]:
    """The shards of a corpus, in the order of its parts; without what only this process can read."""
    shards: list[Shard] = []
    small: list[Part] = []
    tables = corpus.documents.tables if isinstance(corpus.documents, TableDocuments) else ()
    parquet = [table for table in tables if isinstance(table, ParquetFile)]
    parts: list[Part] = [*_ranges(corpus, settings, size), *corpus.streams, *parquet]
    for part in parts:
        if small and size_of((*small, part)) > size:
            shards.append(tuple(small))
            small = []
        small.append(part)
    return [*shards, tuple(small)] if small else shards


def rest(corpus: Corpus) -> Corpus | None:
    """What only this process can read, if there is anything: standard input, iterables, live data sets."""
    documents = corpus.documents
    if isinstance(documents, TableDocuments):
        tables = tuple(table for table in documents.tables if not isinstance(table, ParquetFile))
        documents = replace(documents, tables=tables) if tables else None
    left = replace(corpus, files=(), streams=(), counts=(), documents=documents)
    return left if left.has_text else None


def size_of(shard: Shard) -> int:
    """How many bytes there are to read, as far as is known."""
    return sum(_size(part) for part in shard)


def _size(part: Part) -> int:
    if isinstance(part, Range):
        return part.end - part.start
    file = part.file if isinstance(part, ParquetFile) else part
    return (file.size or 0) if isinstance(file, RemoteFile) else file.stat().st_size


def _ranges(corpus: Corpus, settings: SplitSettings, size: int) -> Iterator[Range]:
    for file in corpus.files:
        name = os.path.abspath(file)  # noqa: PTH100  # a link stays the link that was named
        try:
            length = file.stat().st_size
        except OSError as error:
            raise CorpusError(f"cannot read {file}: {error.strerror}") from error
        cuts: list[tuple[int, bool]] = []
        if length > size and not _NOT_PLAIN & {suffix.lower() for suffix in file.suffixes}:
            words = (settings.pattern, list(settings.special_tokens), settings.separator)
            cuts = _core.shard_cuts(file, size, *words)
        ends = [*(start for start, _ in cuts), length]
        for (start, in_document), end in zip([(0, False), *cuts], ends, strict=True):
            yield Range(name, start, end, length, in_document)


def count_shard(job: Job, number: int, shard: Shard) -> Manifest:
    """Counts a shard and leaves its runs and its manifest in the storage."""
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
            skips = Skips()
            for part in shard:
                _add(counter, part, job.reading, skips)
            skips.add(*counter.skipped())
            counter.finish_to(scratch / "all.counts", [])
        finally:
            counter.abandon()
        names = [_fresh(f"{name}.{part:03}") for part in range(job.parts)]
        manifest = _merge(storage, [scratch / "all.counts"], names, scratch)
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
    path = Path(part.path)
    try:
        size = path.stat().st_size
    except OSError as error:
        raise CorpusError(
            f"the node {platform.node()} cannot read {path}: {error.strerror}; "
            "all nodes must see the corpus under the same name"
        ) from error
    if size != part.file_size:
        raise CorpusError(
            f"{path} has {size:,} bytes on the node {platform.node()}, and had {part.file_size:,} when "
            "the work was shared out; leave the corpus as it is while it is counted, and let all nodes see "
            "the same one"
        )
    if part.is_whole:
        return counter.add_files([path], reading._native())
    return counter.add_range(path, part.start, part.end, part.in_document)


def merge_part(job: Job, name: str, runs: list[Manifest]) -> Manifest:
    """Merges runs of one part into one file and leaves its manifest in the storage."""
    storage = job.open()
    if done := storage.read(f"{job.id}/{name}.json"):
        return done
    with tempfile.TemporaryDirectory(prefix="merganser-") as folder:
        scratch = Path(folder)
        paths = [fetched(storage, run, scratch) for run in runs]
        manifest = _merge(storage, paths, [_fresh(f"{job.id}/{name}")], scratch)
    check_sums(name, runs, manifest)
    storage.write(f"{job.id}/{name}.json", manifest)
    return manifest


def _fresh(name: str) -> str:
    """A name that no other attempt has: one that was given up for lost may still be writing."""
    return f"{name}.{secrets.token_hex(4)}.counts"


def _merge(storage: Storage, paths: list[Path], names: list[str], scratch: Path) -> Manifest:
    """Merges files into others, by the hash of the pre-token, and keeps those. Gives their manifest."""
    outs = [storage.place(name, scratch) for name in names]
    documents, invalid_bytes, _, total = _core.merge_counts(paths, outs, scratch)
    runs = []
    for name, out in zip(names, outs, strict=True):
        numbers = dict(
            zip(
                ("documents", "invalid_bytes", "pretokens", "total"),
                _core.CountsReader(out).numbers,
                strict=True,
            )
        )
        runs.append({"name": name, "bytes": out.stat().st_size, "crc32": _checksum(out), **numbers})
        storage.keep(out, name)
    manifest = {"runs": runs, "documents": documents, "invalid_bytes": invalid_bytes, "total": total}
    check_sums(names[0], runs, manifest)
    return manifest


def fetched(storage: Storage, run: Manifest, scratch: Path) -> Path:
    """A run as a file on this machine, after a look whether it is what its manifest says."""
    path = storage.fetch(run["name"], scratch)
    if path.stat().st_size != run["bytes"] or _checksum(path) != run["crc32"]:
        raise CountsError(
            f"{storage.address}/{run['name']}, which holds what was counted before, is damaged: its "
            "checksum is not the one it was written with; start afresh with --no-resume (resume=False)"
        )
    return path


def _checksum(path: Path) -> int:
    checksum = 0
    with path.open("rb") as file:
        while chunk := file.read(1 << 20):
            checksum = zlib.crc32(chunk, checksum)
    return checksum


def check_sums(name: str, parts: Iterable[Manifest], whole: Manifest) -> None:
    """What goes in must come out."""
    parts = list(parts)
    for what in _SUMS:
        if (there := sum(part[what] for part in parts)) != whole[what]:
            raise InternalError(
                f"{name} has {whole[what]:,} as {what}, and its parts have {there:,}: please report it"
            )
