"""Encode a corpus on many machines, to the files that one machine writes.

Shards of the result end at documents that fill them, wherever the corpus was divided, so no task knows on its
own which shard its ids belong to. Counting the tokens first would read and encode everything twice. Instead:

1. Tasks encode shards of the corpus to *pieces* in the storage, in any order (`pieces.encode_piece`).
2. As soon as all pieces up to some point exist, the driver knows where shards of the result end up to there
   (`joining`). It reads manifests, and a few hundred kilobytes for each shard.
3. Tasks join each shard from ranges of pieces (`pieces.join_shard`), before further pieces are encoded. The
   driver then writes its `.json`, in order: at any time the result is a valid beginning of the whole, which
   any engine can resume. Pieces that no later shard needs are removed, so the storage holds the pieces in
   flight and not the whole corpus.

The price is that each id is written and read once more: for ids of two bytes about half of the bytes of the
text each. Memory is bounded in every task; the driver holds the plan, about 200 bytes for each piece.

A run with the same storage skips finished pieces and shards. Without one it resumes after the last shard.
"""

import secrets
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING

from merganser.corpus import Corpus
from merganser.corpus.split_settings import SplitSettings
from merganser.engines import pieces
from merganser.engines.joining import Joiner
from merganser.engines.pieces import JOB, EncodeJob, Inputs, ShardPlan
from merganser.engines.shards import Manifest
from merganser.engines.storage import Storage, storage_at
from merganser.engines.tasks import Call, Executor, Here, Shared, results
from merganser.engines.token_files import StartPosition, TokenSettings
from merganser.errors import CorpusError, TokensError

if TYPE_CHECKING:
    from merganser import _core

_VERSION = 1

#: Called with the stage, the bytes read, and the total.
Progress = Callable[[str, int, int], object]


@dataclass(frozen=True)
class Resources:
    """What tasks may use, and where they store pieces."""

    storage: str
    shard_size: int
    memory: int
    threads: int
    resume: bool = True
    keep_work: bool = False


def encode(
    corpus: Corpus,
    tokenizer: "_core.Tokenizer",
    settings: TokenSettings,
    out: str,
    start: StartPosition,
    progress: Progress | None,
    resources: Resources,
    executor: AbstractContextManager[Executor],
) -> None:
    """Encode a corpus from `start` on, and write all shards to `out`, which has its `tokens.json`."""
    storage, result = storage_at(resources.storage, "tokens"), storage_at(out, "tokens")
    seal = (result.read("tokens.json") or {})["json_crc32"]
    name, planned = _begin(storage, corpus, seal, start, resources)
    job = EncodeJob(
        name, resources.storage, out, seal, settings, corpus.reading, resources.memory, resources.threads
    )
    split = SplitSettings().replaced_by(
        tokenizer.pattern_name or tokenizer.pattern, settings.allowed_special, settings.separator
    )
    plan = pieces.plan(corpus, split, resources.shard_size, planned)
    first_document = len(corpus.files) + corpus.stdin + len(corpus.streams)
    run = _Run(
        job,
        storage,
        result,
        plan,
        Joiner(storage.read_range, settings.shard_tokens, settings.append, planned.shard, first_document),
        start.shard,
    )
    with executor as opened:
        run.run(opened, tokenizer, corpus, progress)
    if not resources.keep_work:
        remove_job(storage)
    if run.published == 0:
        raise CorpusError("the corpus contains no text; check the path, the glob and the separator")


def remove_job(storage: Storage) -> None:
    """Remove the job; its description first, so that it never refers to files that are gone."""
    job = storage.read(JOB)
    if job is None:
        return
    storage.remove(JOB)
    name = str(job.get("id", ""))
    if name.isalnum():
        storage.remove(name)


def _begin(
    storage: Storage, corpus: Corpus, seal: str, start: StartPosition, resources: Resources
) -> tuple[str, StartPosition]:
    """Return the id of the job and where its plan starts: those in the storage, if it is the same job."""
    description = {"merganser_encode": _VERSION, "tokens": seal, "shard_size": resources.shard_size}
    old = storage.read(JOB)
    if old is not None and resources.resume:
        if any(old.get(name) != value for name, value in description.items()):
            raise TokensError(
                f"{storage.address} belongs to a different job; choose another storage, or start over with "
                "--overwrite (overwrite=True)"
            )
        planned = StartPosition(**old["start"])
        if corpus.is_known and planned.shard <= start.shard:
            return str(old["id"]), planned
    remove_job(storage)
    name = secrets.token_hex(8)
    storage.write(JOB, description | {"start": asdict(start), "id": name})
    return name, start


@dataclass
class _Run:
    """The state of a run."""

    job: EncodeJob
    storage: Storage
    result: Storage
    plan: list[Inputs]
    joiner: Joiner
    #: The number of shards whose `.json` is written.
    published: int
    joins: deque[ShardPlan] = field(default_factory=deque)
    #: Results that wait for earlier ones.
    encoded: dict[int, Manifest] = field(default_factory=dict)
    joined: dict[int, Manifest] = field(default_factory=dict)
    #: The number of pieces that the joiner has.
    added: int = 0
    #: The ids of pieces, and the last shard that needs them.
    needed: deque[tuple[str, int]] = field(default_factory=deque)
    bytes_read: int = 0

    def run(
        self, executor: Executor, tokenizer: "_core.Tokenizer", corpus: Corpus, progress: Progress | None
    ) -> None:
        total = sum(map(pieces.size_of, self.plan))

        def report() -> None:
            if progress:
                progress("encode", self.bytes_read, total)

        report()
        self._find(corpus)
        for number, inputs in enumerate(self.plan):
            # Only this process can read it.
            if number not in self.encoded and any(isinstance(input.source, Corpus) for input in inputs):
                self._add(number, pieces.encode_piece(self.job, Here(tokenizer), number, inputs), corpus)
                report()
        self._advance()
        shared = executor.share(tokenizer)
        remaining = (n for n in range(len(self.plan)) if n >= self.added and n not in self.encoded)
        for name, manifest in results(executor, lambda: self._next(remaining, shared), report):
            kind, _, nth = name.partition("-")
            if kind == "piece":
                self._add(int(nth), manifest, corpus)
                self._advance()
            else:
                self.joined[int(nth)] = manifest
                self._publish()
            report()

    def _find(self, corpus: Corpus) -> None:
        """Take the pieces that an earlier run has finished."""
        found = self.storage.manifests(self.job.id)
        numbers = [n for n in range(len(self.plan)) if f"piece-{n:06}.json" in found]
        names = [f"{self.job.id}/piece-{n:06}.json" for n in numbers]
        with ThreadPoolExecutor(16) as pool:
            for number, manifest in zip(numbers, pool.map(self.storage.read, names), strict=True):
                if manifest is not None:
                    self._add(number, manifest, corpus)

    def _next(self, remaining: Iterator[int], tokenizer: Shared) -> Call | None:
        """Return what to run next: a shard, because it frees pieces; or a piece."""
        if self.joins:
            shard = self.joins.popleft()
            return Call(f"shard-{shard.number:05}", pieces.join_shard, (self.job, shard))
        number = next(remaining, None)
        if number is None:
            return None
        arguments = (self.job, tokenizer, number, self.plan[number])
        return Call(f"piece-{number:06}", pieces.encode_piece, arguments)

    def _add(self, number: int, manifest: Manifest, corpus: Corpus) -> None:
        self.encoded[number] = manifest
        self.bytes_read += manifest["read"]
        corpus.skips.add(**manifest["skipped"])

    def _advance(self) -> None:
        """Plan shards as far as all pieces are known."""
        if self.added == len(self.plan):
            return
        while (manifest := self.encoded.pop(self.added, None)) is not None:
            self._plan(self.joiner.add(self.added, manifest))
            self.needed.append((manifest["ids"], self.joiner.shard))
            self.added += 1
        if self.added == len(self.plan):
            self._plan(self.joiner.finish())

    def _plan(self, shards: Iterator[ShardPlan]) -> None:
        self.joins.extend(shard for shard in shards if shard.number >= self.published)

    def _publish(self) -> None:
        """Write the `.json` of shards in order, and remove pieces that are no longer needed."""
        while (manifest := self.joined.pop(self.published, None)) is not None:
            self.result.write_bytes(f"shard-{self.published:05}.json", manifest["sidecar"].encode())
            self.published += 1
        while self.needed and self.needed[0][1] < self.published:
            self.storage.remove(self.needed.popleft()[0])
