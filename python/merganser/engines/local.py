"""The threads of this machine.

Counting keeps within a budget of memory: what does not fit is written to disk, sorted, and merged at the end
(`merganser.engines.work_folder`).
"""

import json
import os
import secrets
import select
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TypedDict

from merganser import _core
from merganser.corpus import STDIN, Corpus, TableDocuments
from merganser.corpus.binary import judged, text_of
from merganser.corpus.split_settings import SplitSettings
from merganser.counts import CountsFile
from merganser.engines import memory, work_folder
from merganser.engines.token_files import Start, TokenSettings
from merganser.errors import CorpusError, SettingsError
from merganser.files import check_folder

#: Called with the stage ("count", "merge", "certify", "encode" and others), how much is done, and the total,
#: or 0 if that is not known.
ProgressCallback = Callable[[str, int, int], object]

_CHUNK = 1 << 20
#: In seconds: how long a signal may go unnoticed while standard input is waited for.
_LOOK = 0.1


class Merging(TypedDict):
    """What an engine tells the merge loop."""

    threads: int
    memory: int
    folder: Path
    log: Path | None
    afresh: bool
    checkpoint_every: float


@dataclass(frozen=True)
class Local:
    """Works on this machine.

    threads: how many; one per core if not given.
    memory: what the work may take, "2GB", "512MiB" or a number of bytes; 60% of what is free if not given.
    work_dir: a folder for what does not fit, and for what a later run can go on from. If not given, what does
        not fit goes to the system's temporary folder, and nothing can be resumed. It is made when it is first
        needed and removed when the work has succeeded.
    resume: go on from what an interrupted run of the same job has left in `work_dir`; False starts afresh.
    checkpoint_every: with a `work_dir`, at most about so many seconds of work are ever lost.
    keep_work: leave `work_dir` there, for one who has yet to save the result; `clean` removes it.

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
            raise SettingsError(f"threads must be at least 1, or None for all cores, not {self.threads}")
        if self.memory is not None:
            memory.parse(self.memory)
        if not 0 < self.checkpoint_every < 1e9:
            raise SettingsError(f"checkpoint_every is a number of seconds, not {self.checkpoint_every}")

    @property
    def _threads(self) -> int:
        return self.threads or 0

    def clean(self) -> None:
        """Removes the work folder, if there is one."""
        if self.work_dir is not None:
            work_folder.clean(Path(self.work_dir))

    def check(self) -> None:
        """Raise a `WriteError` if the work folder cannot be written to."""
        if self.work_dir is not None:
            check_folder(Path(self.work_dir), "choose another work_dir")

    def merging(self) -> Merging:
        """What the merge loop may use, and where it keeps what it has learned."""
        folder = None if self.work_dir is None else Path(self.work_dir)
        return {
            "threads": self._threads,
            "memory": memory.for_merging(memory.budget(self.memory)),
            "folder": folder if folder and folder.is_dir() else Path(tempfile.gettempdir()),
            "log": folder and folder / work_folder.MERGES,
            "afresh": not self.resume,
            "checkpoint_every": self.checkpoint_every,
        }

    @contextmanager
    def counted(
        self, corpus: Corpus, settings: SplitSettings, progress: ProgressCallback | None
    ) -> Iterator[_core.Counts | CountsFile]:
        """The counts of `corpus`: in memory where they fit, or in a file that lasts as long as this."""
        if not corpus.has_text:
            with tempfile.TemporaryDirectory(prefix="merganser-") as name:
                yield _sum(_counts(corpus), settings, Path(name), progress=progress)
            return
        with self._counting(corpus, settings, progress) as (counter, folder):
            if counter and not counter.needs_disk and not corpus.counts:
                yield counter.finish()
                return
            # Where nothing was spilled there is no folder, nor need there be one for what is soon done again.
            with tempfile.TemporaryDirectory(prefix="merganser-") as name:
                total = (folder if folder.is_dir() else Path(name)) / work_folder.ALL
                if counter:
                    counter.finish_to(total, _counts(corpus))
                yield CountsFile.open(total)

    def count_to(
        self, corpus: Corpus, settings: SplitSettings, out: Path, progress: ProgressCallback | None
    ) -> CountsFile:
        """Counts the text of `corpus` into a file and adds its counts, never all of them in memory."""
        if not corpus.has_text:
            with tempfile.TemporaryDirectory(prefix="merganser-") as name:
                return _sum(_counts(corpus), settings, Path(name), out, progress)
        with self._counting(corpus, settings, progress) as (counter, folder):
            if counter:
                counter.finish_to(out, _counts(corpus))
            else:
                _core.merge_counts([folder / work_folder.ALL], [out], folder, progress)
        return CountsFile.open(out)

    @contextmanager
    def _counting(
        self, corpus: Corpus, settings: SplitSettings, progress: ProgressCallback | None
    ) -> Iterator[tuple[_core.Counter | None, Path]]:
        """A counter that has counted all text, and the work folder; no counter where the sum is there."""
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
            # Locks the folder, if it is there.
            counter.spill_to(folder, tables, every, json.dumps(job, ensure_ascii=False) + "\n")
            done = work_folder.find(folder, job, self.resume) if job else None
            if (folder / work_folder.ALL).exists():
                yield None, folder
            else:
                if done:
                    counter.resume(**asdict(done))
                rest = corpus.after(done.part if done else 0)
                watch.expect(rest, corpus)
                _feed(counter, rest)
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
        folder: Path,
        begin: Callable[[], Start | None],
        progress: ProgressCallback | None,
    ) -> None:
        """Encodes the text of `corpus` and writes it to `folder`.

        `begin` is asked where to start when all settings are found good and nobody else writes there.
        """
        watch = _Watch(progress)
        writer = _core.TokenWriter(
            tokenizer,
            folder,
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
                _feed(writer, rest)
                writer.finish()
        finally:
            writer.abandon()


class _Watch:
    """Adds to what the core reports how much there is in all: the core knows only the files.

    What is stored compressed, or as a table, is reported in the bytes that are stored.
    """

    def __init__(self, progress: ProgressCallback | None) -> None:
        self.callback = progress and self._report
        self._progress = progress
        self._before = 0
        self._tables: TableDocuments | None = None
        self._total = 0

    def expect(self, rest: Corpus, corpus: Corpus) -> None:
        """`rest` is what is left of `corpus` to be read."""
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
        if stage == "combine":  # its unit is entries, and the core knows them all
            self._progress(stage, done, total)
            return
        if self._tables and self._tables.progress.bytes_read is not None:
            done = self._before + self._tables.progress.bytes_read
        self._progress(stage, done, self._total)


def _counts(corpus: Corpus) -> list[Path]:
    return [
        file for file in corpus.counts if isinstance(file, Path)
    ]  # whoever resolves it fetches the others


def _sum(
    files: list[Path],
    settings: SplitSettings,
    scratch: Path,
    out: Path | None = None,
    progress: ProgressCallback | None = None,
) -> CountsFile:
    """Counts added up in a file; a single file is its own sum."""
    if out is None and len(files) == 1:
        only = CountsFile.open(files[0])
        if only.settings == settings:
            return only
    asked = scratch / "asked.counts"
    # Nothing, with the settings that were asked for: the core says what differs.
    _core.Counts({}, settings.pattern, list(settings.special_tokens), settings.separator, 0, 0).save(asked)
    total = out or scratch / work_folder.ALL
    _core.merge_counts([asked, *files], [total], scratch, progress)
    return CountsFile.open(total)


def _feed(worker: _core.Counter | _core.TokenWriter, corpus: Corpus) -> None:
    reading = corpus.reading._native()
    if corpus.files:
        worker.add_files(list(corpus.files), reading)
    if corpus.stdin:
        stdin = judged(stdin_chunks(), STDIN, corpus.reading, corpus.skips, may_skip=False)
        worker.add_stream(*stdin, reading)
    for stream in corpus.streams:
        worker.add_stream(*text_of(stream, corpus.reading, corpus.skips), reading)
    for buffer in corpus.documents or ():
        worker.add_documents(buffer)
    corpus.skips.add(*worker.skipped())


def _has_input() -> bool:
    """Wait for standard input, but not for long: whoever calls this in a loop notices signals in between."""
    if sys.platform == "win32":  # only sockets can be waited for
        return True
    return bool(select.select([0], [], [], _LOOK)[0])


def stdin_chunks() -> Iterator[bytes]:
    """Yield the chunks of standard input; Ctrl-C ends the wait for the next one."""
    try:
        while True:
            # A read is interrupted only by a signal that comes during it. One that comes just before would
            # be noticed after the next input, so it is called only when there is some.
            while not _has_input():
                pass
            chunk = os.read(0, _CHUNK)
            if not chunk:
                return
            yield chunk
    except OSError as error:
        raise CorpusError(f"cannot read standard input: {error.strerror}") from error
