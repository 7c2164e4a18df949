"""The threads of this machine."""

import os
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from merganser import _core
from merganser.corpus import STDIN, Corpus
from merganser.errors import CorpusError, SettingsError
from merganser.settings import Settings

if TYPE_CHECKING:
    from merganser.encoding import Start, TokenSettings

#: Told the stage ("count", "merge" or "encode"), how much is done, and the total, 0 where it is not known.
ProgressCallback = Callable[[str, int, int], object]

_CHUNK = 1 << 20


@dataclass(frozen=True)
class Local:
    """Works on this machine, with one thread per core or as many as `threads` says."""

    threads: int | None = None

    def __post_init__(self) -> None:
        if self.threads is not None and self.threads < 1:
            raise SettingsError(f"threads must be at least 1, or None for all cores, not {self.threads}")

    @property
    def _threads(self) -> int:
        return self.threads or 0

    def count(self, corpus: Corpus, settings: Settings, progress: ProgressCallback | None) -> _core.Counts:
        """Counts the text of `corpus`."""
        counter = _core.Counter(
            settings.pattern, list(settings.special_tokens), settings.separator, self._threads, progress
        )
        _feed(counter, corpus)
        return counter.finish()

    def encode(
        self,
        corpus: Corpus,
        tokenizer: _core.Tokenizer,
        settings: "TokenSettings",
        folder: Path,
        begin: "Callable[[], Start | None]",
        progress: ProgressCallback | None,
    ) -> None:
        """Encodes the text of `corpus` and writes it to `folder`.

        `begin` is asked where to start when all settings are found good and nobody else writes there.
        """
        writer = _core.TokenWriter(
            tokenizer,
            folder,
            **asdict(settings),
            threads=self._threads,
            progress=progress,
        )
        try:
            start = begin()
            if start is not None:
                writer.start_at(start.shard, start.part, start.offset)
                _feed(writer, corpus.after(start.part))
                writer.finish()
        finally:
            writer.abandon()


def _feed(worker: _core.Counter | _core.TokenWriter, corpus: Corpus) -> None:
    if corpus.files:
        worker.add_files(list(corpus.files))
    if corpus.stdin:
        worker.add_stream(_stdin(), STDIN)
    for stream in corpus.streams:
        worker.add_stream(stream.chunks(), stream.name)
    for buffer in corpus.documents or ():
        worker.add_documents(buffer)


def _stdin() -> Iterator[bytes]:
    # Python reads, not the core: here a read that waits for input still gives way to Ctrl-C.
    try:
        while chunk := os.read(0, _CHUNK):
            yield chunk
    except OSError as error:
        raise CorpusError(f"cannot read standard input: {error.strerror}") from error
