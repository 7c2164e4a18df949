"""The tasks of encoding a corpus on many machines: encode a piece of it, join a shard from pieces.

A piece is the ids of one shard of the corpus (`shards`), with a row for every document that ends in it
(`crates/core/src/tokens/piece.rs`). A task writes it to the storage under a name of its own and then its
manifest. Another task writes a shard of the result from ranges of pieces (`crates/core/src/tokens/join.rs`),
with the code that writes shards on one machine; every block that it reads is verified.

A task whose manifest exists has nothing to do. An attempt that was presumed lost may still be running: it
writes other names, or the same bytes.
"""

import json
import platform
import secrets
import tempfile
import time
from collections.abc import Iterator
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
from merganser.engines import memory, shards
from merganser.engines.feeding import feed
from merganser.engines.shards import Manifest, Part, Range
from merganser.engines.storage import Storage, storage_at
from merganser.engines.tasks import Shared
from merganser.engines.token_files import StartPosition, TokenSettings
from merganser.errors import SettingsError

JOB = "job.json"


@dataclass(frozen=True)
class EncodeJob:
    """The settings of a job, which every task receives."""

    id: str
    storage: str
    out: str
    #: The checksum in `tokens.json`, by which a node recognizes the driver's folder.
    seal: str
    settings: TokenSettings
    reading: ReadOptions
    memory: int
    threads: int

    def open(self) -> tuple[Storage, Storage]:
        """Open the storage and the result on this node, and check that they are the driver's."""
        storage, out = storage_at(self.storage, "tokens"), storage_at(self.out, "tokens")
        if (storage.read(JOB) or {}).get("id") != self.id:
            raise _not_shared(self.storage, "storage")
        if (out.read("tokens.json") or {}).get("json_crc32") != self.seal:
            raise _not_shared(self.out, "out")
        return storage, out


def _not_shared(address: str, what: str) -> SettingsError:
    return SettingsError(
        f"the node {platform.node()} does not see the driver's files in {address}; "
        f"{what} must be a folder that all nodes share, or a URL such as s3://bucket/folder"
    )


@dataclass(frozen=True)
class Input:
    """Some input, and where in the corpus it begins; `part` is None for documents, which are counted."""

    source: Part | Corpus
    part: int | None
    offset: int = 0
    within: int = 0


#: The input of a piece. Only this process can read a `Corpus`.
Inputs = tuple[Input, ...]


def plan(corpus: Corpus, settings: SplitSettings, size: int, start: StartPosition) -> list[Inputs]:
    """Return the input of each piece, in the order of the corpus, from `start` on."""
    documents = corpus.parts is None and len(corpus.files) + corpus.stdin + len(corpus.streams)
    if documents is not False and (start.part, start.offset, start.within) > (documents, 0, 0):
        # The tasks do not know how many documents a table has, so this process skips them.
        rest = corpus.after(start.part)
        return [(Input(rest, start.part, start.offset, start.within),)]
    pieces: list[Inputs] = []
    number = 0
    for shard in _in_order(corpus, settings, size):
        if isinstance(shard, Corpus):
            part = number if shard.stdin else None
            pieces.append((Input(shard, part),))
            number += shard.stdin
            continue
        inputs = []
        for source in shard:
            if isinstance(source, ParquetFile):
                inputs.append(Input(source, None))
                continue
            if not isinstance(source, Range) or source.start == 0:
                number += 1
            inputs.append(Input(source, number - 1))
        pieces.append(tuple(inputs))
    kept = (tuple(kept for input in inputs if (kept := _after(input, start))) for inputs in pieces)
    return [inputs for inputs in kept if inputs]


def _in_order(corpus: Corpus, settings: SplitSettings, size: int) -> Iterator[shards.Shard | Corpus]:
    """Yield shards in the order of the corpus, and input that only this process can read as a corpus."""
    none: dict[str, Any] = {"files": (), "stdin": False, "streams": (), "documents": None, "counts": ()}
    yield from shards.plan(replace(corpus, **{**none, "files": corpus.files}), settings, size)
    if corpus.stdin:
        yield replace(corpus, **{**none, "stdin": True})
    yield from shards.plan(replace(corpus, **{**none, "streams": corpus.streams}), settings, size)
    documents = corpus.documents
    if not isinstance(documents, TableDocuments):
        if documents is not None:
            yield replace(corpus, **{**none, "documents": documents})
        return
    for table in documents.tables:
        only = replace(corpus, **{**none, "documents": replace(documents, tables=(table,))})
        if isinstance(table, ParquetFile):
            yield from shards.plan(only, settings, size)
        else:
            yield only


def _after(input: Input, start: StartPosition) -> Input | None:
    """Return the rest of the input from `start` on; None if nothing is left."""
    source, part = input.source, input.part
    if part is None or part > start.part:
        return input
    if part < start.part:
        return None
    if isinstance(source, Range) and not source.is_whole:
        if source.end <= start.offset:
            return None
        if source.start > start.offset:
            return input
        # A shard begins with a document.
        source = replace(source, start=start.offset, in_document=False)
        return replace(input, source=source, within=start.within)
    return replace(input, offset=start.offset, within=start.within)


def size_of(inputs: Inputs) -> int:
    """Return the bytes to read, where the size is known."""
    return shards.size_of(tuple(input.source for input in inputs if not isinstance(input.source, Corpus)))


def check(tokenizer: _core.Tokenizer, settings: TokenSettings) -> None:
    """Raise the error of a task if the settings are invalid, before anything is written."""
    with tempfile.TemporaryDirectory(prefix="merganser-") as folder:
        _core.TokenWriter(tokenizer, Path(folder), **asdict(settings), threads=1, progress=None).abandon()


def encode_piece(job: EncodeJob, tokenizer: Shared, number: int, inputs: Inputs) -> Manifest:
    """Encode a piece, and write it and its manifest to the storage."""
    storage, _ = job.open()
    name = f"{job.id}/piece-{number:06}"
    if done := storage.read(f"{name}.json"):
        return done
    began = time.time()
    attempt = f"{name}.{secrets.token_hex(4)}"
    ids, ends = f"{attempt}/piece.ids", f"{attempt}/piece.ends"
    with tempfile.TemporaryDirectory(prefix="merganser-") as scratch:
        paths = storage.local_path(ids, Path(scratch)).parent
        skips = Skips()
        settings = {**asdict(job.settings), "format": "bin", "shard_tokens": None}
        writer = _core.TokenWriter(tokenizer.get(), paths, **settings, threads=job.threads, progress=None)
        try:
            limit = memory.for_records(job.memory, job.threads, memory.ENCODING)
            writer.limit_records(job.reading.record_limit(limit))
            for input in inputs:
                if input.part is not None:
                    writer.start_at(0, input.part, input.offset, input.within)
                _add(writer, input.source, job.reading, skips, limit)
            skips.add(*writer.skipped())
            writer.finish()
        finally:
            writer.abandon()
        manifest: Manifest = json.loads((paths / "piece.json").read_text("utf-8"))
        for file in (ids, ends):
            storage.store(paths / Path(file).name, file)
    manifest |= {
        "ids": ids,
        "ends": ends,
        # Documents are counted from the first of the piece.
        "relative": inputs[0].part is None,
        "skipped": asdict(skips.skipped),
        "read": size_of(inputs),
        "node": platform.node(),
        "began": began,
        "ended": time.time(),
    }
    storage.write(f"{name}.json", manifest)
    return manifest


def _add(
    writer: _core.TokenWriter, source: Part | Corpus, reading: ReadOptions, skips: Skips, limit: int
) -> None:
    if isinstance(source, Corpus):
        return feed(writer, replace(source, skips=skips), limit)
    if isinstance(source, RemoteFile):
        return writer.add_stream(*text_of(source, reading, skips), reading._native())
    if isinstance(source, ParquetFile):
        for buffer in source.buffers(skips):
            writer.add_documents(buffer)
        return None
    return shards.add_range(writer, source, reading)


@dataclass(frozen=True)
class ShardPlan:
    """A shard of the result: ranges of pieces in order, and what neither of two neighbors has."""

    number: int
    #: The number of a piece, and the first and last id; or an id.
    ids: list[tuple[int, int, int] | int]
    #: The number of a piece, the first and last row, and what to add to its tokens; or an end.
    ends: list[tuple[int, int, int, int] | int]
    tokens: int
    bytes: int
    invalid_bytes: int
    next: tuple[int, int, int]


def join_shard(job: EncodeJob, shard: ShardPlan) -> Manifest:
    """Write a shard of the result except for its `.json`, which is in the manifest: the driver writes it."""
    storage, out = job.open()
    name = f"{job.id}/shard-{shard.number:05}.json"
    if done := storage.read(name):
        return done
    pieces: dict[int, Manifest] = {}

    def manifest_of(piece: int) -> Manifest:
        if piece not in pieces:
            file = f"{job.id}/piece-{piece:06}.json"
            if (manifest := storage.read(file)) is None:
                raise SettingsError(f"{job.storage}/{file} is missing; run it again")
            pieces[piece] = manifest
        return pieces[piece]

    with tempfile.TemporaryDirectory(prefix="merganser-") as folder, out.workspace() as work:
        scratch = Path(folder)

        def fetched(piece: int, what: str, size: int, block: int, start: int, end: int) -> Any:
            """Return the range as the core takes it. `size` is the size of an item in bytes."""
            manifest = manifest_of(piece)
            sums = manifest[f"{what}_crc32"]
            if start == end:
                return scratch, 0, [], start, end
            first, last = start * size // block, -(-end * size // block)
            total = manifest["tokens" if what == "ids" else "documents"] * size
            path, at = storage.fetch_range(manifest[what], first * block, min(last * block, total), scratch)
            return path, at // block, sums[at // block :], start, end

        width = 2 if job.settings.dtype == "uint16" else 4
        _core.join_pieces(
            Path(work),
            shard.number,
            format=job.settings.format,
            dtype=job.settings.dtype,
            ids=[
                part
                if isinstance(part, int)
                else fetched(part[0], "ids", width, manifest_of(part[0])["ids_block"], *part[1:])
                for part in shard.ids
            ],
            ends=[
                part
                if isinstance(part, int)
                else (
                    fetched(part[0], "ends", ROW, ROW * manifest_of(part[0])["rows_block"], *part[1:3]),
                    part[3],
                )
                for part in shard.ends
            ],
            text=(shard.bytes, shard.invalid_bytes),
            next=shard.next,
        )
        job.open()  # an attempt of an earlier job must not overwrite the files of a later one
        files = sorted(Path(work).iterdir())
        sidecar = next(file for file in files if file.suffix == ".json").read_text("utf-8")
        for file in files:
            if file.suffix != ".json":
                out.publish(file, file.name)
    manifest = {"sidecar": sidecar, "node": platform.node(), "ended": time.time()}
    storage.write(name, manifest)
    return manifest


#: The bytes of a row: six numbers.
ROW = 48
