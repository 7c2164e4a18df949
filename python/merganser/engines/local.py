"""Run the work on the threads of this machine.

Counting stays within a memory budget: when it is reached, sorted runs are spilled to disk and merged at the
end (`merganser.engines.work_folder`).
"""

import json
import os
import secrets
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TypedDict

from merganser import _core
from merganser.corpus import Corpus, TableDocuments
from merganser.corpus.split_settings import SplitSettings
from merganser.counts import CountsFile
from merganser.engines import encoding, memory, work_folder
from merganser.engines.feeding import feed
from merganser.engines.tasks import Threads
from merganser.engines.token_files import StartPosition, TokenSettings
from merganser.errors import SettingsError
from merganser.files import check_folder

#: Called with the stage ("count", "merge", "certify", "encode", …), the amount done, and the total or 0 if
#: unknown.
ProgressCallback = Callable[[str, int, int], object]

#: The text that is encoded at a time if shards are uploaded.
_PIECE = 1 << 28


class Merging(TypedDict):
    """The engine's settings for the merge loop."""

    threads: int
    memory: int
    folder: Path
    log: Path | None
    restart: bool
    checkpoint_every: float


@dataclass(frozen=True)
class Local:
    """Run on the threads of this machine.

    Parameters
    ----------
    threads : int, optional
        The number of threads; one per core by default.
    memory : int or str, optional
        The memory budget, in bytes or as a string such as "2GB" or "512MiB"; 60% of the free memory by
        default.
    work_dir : path-like, optional
        A folder for checkpoints and for counts that exceed the memory budget. It is created when needed and
        removed after success. By default, counts are spilled to the system's temporary folder, and an
        interrupted run cannot be resumed.
    resume : bool
        Resume an interrupted run of the same job from `work_dir`; False starts over.
    checkpoint_every : float
        The interval between checkpoints in seconds, if there is a `work_dir`.
    keep_work : bool
        Keep `work_dir` after success, until `clean` is called. Useful if the result is yet to be saved.

    Raises
    ------
    SettingsError
        If a value is out of range.

    Examples
    --------
    >>> import merganser
    >>> engine = Local(threads=2, memory="512MB")
    >>> merganser.train(["to be or not to be"], 257, engine=engine).merges
    [(b' ', b'b')]
    """

    threads: int | None = None
    memory: int | str | None = None
    work_dir: str | os.PathLike[str] | None = None
    resume: bool = True
    checkpoint_every: float = 60
    keep_work: bool = False

    def __post_init__(self) -> None:
        if self.threads is not None and self.threads < 1:
            raise SettingsError(f"threads must be at least 1, or None for all cores, got {self.threads}")
        if self.memory is not None:
            memory.parse(self.memory)
        if not 0 < self.checkpoint_every < 1e9:
            raise SettingsError(
                f"checkpoint_every must be a positive number of seconds, got {self.checkpoint_every}"
            )

    @property
    def _threads(self) -> int:
        return self.threads or 0

    def _max_record(self, cost: int) -> int:
        return memory.for_records(memory.budget(self.memory), self.threads, cost)

    def clean(self) -> None:
        """Remove the work folder, except for files that merganser did not write."""
        if self.work_dir is not None:
            work_folder.clean(Path(self.work_dir))

    def check(self) -> None:
        """Raise a `WriteError` if the work folder is not writable."""
        if self.work_dir is not None:
            check_folder(Path(self.work_dir), "choose another work_dir")

    def merging(self) -> Merging:
        """Return the resources of the merge loop and the path of its checkpoint log."""
        folder = None if self.work_dir is None else Path(self.work_dir)
        return {
            "threads": self._threads,
            "memory": memory.for_merging(memory.budget(self.memory)),
            "folder": folder if folder and folder.is_dir() else Path(tempfile.gettempdir()),
            "log": folder and folder / work_folder.MERGES,
            "restart": not self.resume,
            "checkpoint_every": self.checkpoint_every,
        }

    @contextmanager
    def counted(
        self, corpus: Corpus, settings: SplitSettings, progress: ProgressCallback | None
    ) -> Iterator[_core.Counts | CountsFile]:
        """Count a corpus; yield the counts in memory, or in a temporary file if they do not fit."""
        if not corpus.has_text:
            with tempfile.TemporaryDirectory(prefix="merganser-") as name:
                yield _sum(_counts(corpus), settings, Path(name), progress=progress, threads=self._threads)
            return
        with self._counting(corpus, settings, progress) as (counter, folder):
            if counter and not counter.needs_disk and not corpus.counts:
                yield counter.finish()
                return
            # If nothing was spilled there is no work folder, and counting again would be quick.
            with tempfile.TemporaryDirectory(prefix="merganser-") as name:
                total = (folder if folder.is_dir() else Path(name)) / work_folder.ALL
                if counter:
                    counter.finish_to(total, _counts(corpus))
                yield CountsFile.open(total)

    def counted_in_order(
        self, corpus: Corpus, settings: SplitSettings, progress: ProgressCallback | None
    ) -> _core.Counts:
        """Count a corpus on one thread and in memory, in the order in which pre-tokens first occur."""
        watch = _Watch(progress)
        counter = _core.Counter(
            settings.pattern,
            list(settings.special_tokens),
            settings.separator,
            1,
            watch.callback,
            first_seen=True,
        )
        watch.expect(corpus, corpus)
        feed(counter, corpus, self._max_record(memory.COUNTING))
        return counter.finish()

    def count_to(
        self, corpus: Corpus, settings: SplitSettings, out: Path, progress: ProgressCallback | None
    ) -> CountsFile:
        """Count a corpus into a file, without holding all counts in memory."""
        if not corpus.has_text:
            with tempfile.TemporaryDirectory(prefix="merganser-") as name:
                return _sum(_counts(corpus), settings, Path(name), out, progress, self._threads)
        with self._counting(corpus, settings, progress) as (counter, folder):
            if counter:
                counter.finish_to(out, _counts(corpus))
            else:
                _core.merge_counts([folder / work_folder.ALL], [out], folder, progress, self._threads)
        return CountsFile.open(out)

    @contextmanager
    def _counting(
        self, corpus: Corpus, settings: SplitSettings, progress: ProgressCallback | None
    ) -> Iterator[tuple[_core.Counter | None, Path]]:
        """Yield a counter that has read all text, or None if an earlier run finished, and the work folder."""
        watch = _Watch(progress)
        counter = _core.Counter(
            settings.pattern, list(settings.special_tokens), settings.separator, self._threads, watch.callback
        )
        tables = memory.for_tables(memory.budget(self.memory))
        if self.work_dir is None:
            folder = Path(tempfile.gettempdir(), f"merganser-{secrets.token_hex(8)}")
            every, job = None, {}
        else:
            folder = Path(self.work_dir)
            every, job = self.checkpoint_every, work_folder.describe(corpus, settings)
        try:
            # Locks the folder, if it exists. If not, another process may create it from now on; what that one
            # writes must not be resumed here.
            exists = counter.spill_to(folder, tables, every, json.dumps(job, ensure_ascii=False) + "\n")
            done = work_folder.find(folder, job, self.resume, corpus.parts) if job and exists else None
            if exists and (folder / work_folder.ALL).exists():
                yield None, folder
            else:
                if done:
                    counter.resume(**asdict(done))
                rest = corpus.after(done.part if done else 0)
                watch.expect(rest, corpus)
                feed(counter, rest, self._max_record(memory.COUNTING))
                yield counter, folder
            if not self.keep_work:
                self.clean()
        finally:
            counter.abandon()
            if self.work_dir is None:
                work_folder.remove(folder)

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
        """Encode a corpus and write the ids to `out`, a folder that exists, or a URL.

        `begin` returns where to start; it is called once the settings are valid and the folder is locked.
        `resume` is whether files of an earlier run may be used; a local run leaves none but those in `out`.
        """
        if "://" in out:
            self._encode_to_url(corpus, tokenizer, settings, out, begin, progress)
            return
        watch = _Watch(progress)
        writer = _core.TokenWriter(
            tokenizer,
            Path(out),
            **asdict(settings),
            threads=self._threads,
            progress=watch.callback,
        )
        try:
            start = begin()
            if start is not None:
                writer.start_at(start.shard, start.part, start.offset, start.within)
                rest = corpus.after(start.part)
                watch.expect(rest, corpus)
                feed(writer, rest, self._max_record(memory.ENCODING))
                writer.finish()
        finally:
            writer.abandon()

    def _encode_to_url(
        self,
        corpus: Corpus,
        tokenizer: _core.Tokenizer,
        settings: TokenSettings,
        out: str,
        begin: Callable[[], StartPosition | None],
        progress: ProgressCallback | None,
    ) -> None:
        """Encode to pieces on this disk, and upload shards that are joined from them, at the same time."""
        start = begin()
        if start is None:
            return
        with tempfile.TemporaryDirectory(prefix="merganser-") as folder:
            resources = encoding.Resources(
                folder, _PIECE, memory.budget(self.memory), self.threads or os.cpu_count() or 1
            )
            encoding.encode(corpus, tokenizer, settings, out, start, progress, resources, Threads())


class _Watch:
    """Adds the total to the core's progress reports, since the core knows only the size of the files.

    Progress is in stored bytes, even for compressed files and tables.
    """

    def __init__(self, progress: ProgressCallback | None) -> None:
        self.callback = progress and self._report
        self._progress = progress
        self._before = 0
        self._tables: TableDocuments | None = None
        self._total = 0

    def expect(self, rest: Corpus, corpus: Corpus) -> None:
        """Set the total from `rest`, the part of `corpus` that is still to be read."""
        if self._progress is None:
            return
        tables = corpus.documents
        if rest.size is None:
            return
        if tables is None:
            self._total = rest.size
        elif isinstance(tables, TableDocuments) and tables.size:
            self._tables, self._before = tables, rest.size
            self._total = rest.size + tables.size

    def _report(self, stage: str, done: int, total: int) -> None:
        assert self._progress
        if stage == "combine":  # counted in entries, of which the core knows the total
            self._progress(stage, done, total)
            return
        if self._tables and self._tables.progress.bytes_read is not None:
            done = self._before + self._tables.progress.bytes_read
        self._progress(stage, done, self._total)


def _counts(corpus: Corpus) -> list[Path]:
    return [file for file in corpus.counts if isinstance(file, Path)]  # remote files were downloaded before


def _sum(
    files: list[Path],
    settings: SplitSettings,
    scratch: Path,
    out: Path | None = None,
    progress: ProgressCallback | None = None,
    threads: int = 0,
) -> CountsFile:
    """Add counts files into one file; return a single file as it is."""
    if out is None and len(files) == 1:
        only = CountsFile.open(files[0])
        if only.settings == settings:
            return only
    empty = scratch / "empty.counts"
    # Merging with empty counts makes the core report settings that differ from the requested ones.
    _core.Counts({}, settings.pattern, list(settings.special_tokens), settings.separator, 0, 0).save(empty)
    total = out or scratch / work_folder.ALL
    _core.merge_counts([empty, *files], [total], scratch, progress, threads)
    return CountsFile.open(total)
