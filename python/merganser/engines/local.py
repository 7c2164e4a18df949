"""The threads of this machine."""

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from merganser import _core
from merganser.corpus import STDIN, Corpus
from merganser.errors import CorpusError, SettingsError
from merganser.settings import Settings

#: Told the stage ("count" or "merge"), how much is done, and the total, which is 0 where it is not known.
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
        if corpus.files:
            counter.add_files(list(corpus.files))
        if corpus.stdin:
            counter.add_stream(_stdin(), Path(STDIN))
        for buffer in corpus.documents or ():
            counter.add_documents(buffer)
        return counter.finish()


def _stdin() -> Iterator[bytes]:
    # Python reads, not the core: here a read that waits for input still gives way to Ctrl-C.
    try:
        while chunk := os.read(0, _CHUNK):
            yield chunk
    except OSError as error:
        raise CorpusError(f"cannot read standard input: {error.strerror}") from error
