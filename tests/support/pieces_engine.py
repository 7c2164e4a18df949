"""A third engine: the tasks of a cluster, on threads of this process. All that it adds is an executor."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from merganser import Local
from merganser.engines import encoding
from merganser.engines.tasks import Call, Threads


class Failing(Threads):
    """Runs `before(call)` before each task."""

    def __init__(self, before: Callable[[Call], object]) -> None:
        super().__init__()
        self._before = before

    def submit(self, call: Call) -> Any:
        self._before(call)
        return super().submit(call)


@dataclass(frozen=True)
class Pieces(Local):
    """Encodes by way of pieces of `piece_size` bytes of text."""

    storage: Path = Path()
    piece_size: int = 1 << 20
    before: Callable[[Call], object] = lambda _: None

    def encode(
        self,
        corpus: Any,
        tokenizer: Any,
        settings: Any,
        out: str,
        begin: Any,
        progress: Any,
        *,
        resume: bool,
    ) -> None:
        start = begin()
        if start is not None:
            resources = encoding.Resources(
                str(self.storage), self.piece_size, 100_000_000, 1, resume, self.keep_work
            )
            executor = Failing(self.before)
            encoding.encode(corpus, tokenizer, settings, out, start, progress, resources, executor)
