"""Training: text becomes vectors, in intervals that can be told of, written down and interrupted.

The core does the work (`crates/core/src/embed`), or torch where a GPU is asked for. After every interval the
loss is measured on the same sample of pairs and negatives, so that its figures are comparable. In a
`work_dir`, what is done is written down every `checkpoint_every` seconds, and at once when the training is
stopped; started again in the same way, it resumes from there.
"""

import math
import os
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol, cast

import numpy as np

from merganser import _core
from merganser.corpus import Source
from merganser.embed import checkpoint, spread
from merganser.embed.embeddings import Embeddings
from merganser.embed.settings import Settings
from merganser.embed.text import VOCAB_SIZE, Text, read, tokenizer_for
from merganser.engines.local import ProgressCallback
from merganser.errors import MerganserError, SettingsError
from merganser.files import check_folder
from merganser.tokenizer import Tokenizer
from merganser.tokens import Tokens

if TYPE_CHECKING:
    from numpy.typing import NDArray

Device = Literal["auto", "cpu", "cuda", "mps"]
Backend = Literal["core", "torch"]


class Trainer(Protocol):
    """What trains: the core's `Embedder`, or torch's."""

    def advance(self, batches: int, progress: ProgressCallback | None = None) -> tuple[int, int, int]: ...
    def mean_loss(self) -> float | None: ...
    def restore(
        self, vectors: "NDArray[np.float32]", outputs: "NDArray[np.float32]", batches_done: int
    ) -> None: ...
    def vectors(self) -> "NDArray[np.float32]": ...
    def outputs(self) -> "NDArray[np.float32]": ...
    @property
    def ids(self) -> "NDArray[np.uint32]": ...
    @property
    def counts(self) -> "NDArray[np.uint64]": ...
    @property
    def batches_done(self) -> int: ...
    @property
    def batches_in_epoch(self) -> int: ...
    @property
    def batches(self) -> int: ...


@dataclass(frozen=True)
class Interval:
    """A stretch of training, within one epoch."""

    #: From 1 on.
    epoch: int
    batches_done: int
    batches: int
    #: Of the text, with those that subsampling left out.
    tokens: int
    pairs: int
    #: At its end, the mean loss of a fixed sample of pairs and negatives; None if the interval was stopped.
    loss: float | None
    seconds: float
    #: The mean cosine of all pairs of different vectors, at the end of an epoch.
    mean_similarity: float | None = None

    @property
    def tokens_per_second(self) -> float:
        return self.tokens / max(self.seconds, 1e-9)

    @property
    def pairs_per_second(self) -> float:
        return self.pairs / max(self.seconds, 1e-9)


@dataclass(frozen=True)
class Work:
    """Where a training is written down, and how often."""

    folder: Path | None = None
    resume: bool = True
    every: float = 10
    keep: bool = False

    def __post_init__(self) -> None:
        if not 0 < self.every < 1e9:
            raise SettingsError(f"checkpoint_every is a number of seconds, not {self.every}")


def train(
    source: Source | Tokens,
    tokenizer: Tokenizer | None = None,
    settings: Settings | None = None,
    *,
    vocab_size: int = VOCAB_SIZE,
    backend: Backend = "core",
    device: Device = "auto",
    work_dir: str | os.PathLike[str] | None = None,
    resume: bool = True,
    checkpoint_every: float = 10,
    keep_work: bool = False,
    on_interval: Callable[[Interval, float], object] | None = None,
    progress: ProgressCallback | None = None,
) -> Embeddings:
    """Learns a vector for every token of a corpus, from the tokens around it.

    source: see `merganser.corpus` for what a corpus can be; or `Tokens`, which `encode_corpus` wrote.
    tokenizer: if none is given, one of up to `vocab_size` tokens is trained on the corpus.
    backend, device: "core" works on the processor; "torch" needs the extra `[torch]`, and takes a GPU where
        there is one ("auto": MPS, CUDA, then the processor). "cuda" and "mps" mean torch.
    work_dir: where to write down what is done, every `checkpoint_every` seconds, and to go on from
        (`resume`); the file is removed at the end, unless `keep_work` leaves it to the caller.
    on_interval: called after every interval with its figures and the seconds that are left.
    progress: called with the stage ("count", "merge", "encode", "embed"), what is done and the total.

    >>> made = train(["one two three four five six seven"] * 60, settings=Settings(epochs=2, threads=1))
    >>> made.vectors.shape[1]
    100
    """
    settings = settings or Settings()
    if work_dir is not None:
        check_folder(Path(work_dir), "choose another work_dir")
    if tokenizer is None:
        if isinstance(source, Tokens):
            raise SettingsError("ids alone do not say what the tokens are: give the tokenizer that made them")
        source = _twice(source)
        tokenizer = tokenizer_for(source, vocab_size, settings.threads, progress)
    return train_on(
        read(source, tokenizer, settings.threads, progress),
        tokenizer,
        settings,
        backend=backend,
        device=device,
        work=Work(None if work_dir is None else Path(work_dir), resume, checkpoint_every, keep_work),
        on_interval=on_interval,
        progress=progress,
    )


def trainer_of(text: Text, settings: Settings) -> Trainer:
    """The core, ready to begin."""
    return _core.Embedder(text.ids, text.ends, **settings.for_core())


def _trainer(text: Text, settings: Settings, backend: str, device: str) -> tuple[Trainer, str]:
    """What trains, and where, for people to read."""
    if backend not in ("core", "torch") or device not in ("auto", "cpu", "cuda", "mps"):
        raise SettingsError(
            f"backend is core or torch, and device auto, cpu, cuda or mps; not {backend!r}, {device!r}"
        )
    if backend == "core" and device in ("auto", "cpu"):
        threads = settings.threads or os.cpu_count() or 1
        return trainer_of(text, settings), f"cpu, {threads} thread{'s' * (threads > 1)}, Rust core"
    from merganser.embed.torch import TorchTrainer

    made = TorchTrainer(text, settings, device)
    return made, f"{made.device}, torch"


def _twice(source: Source) -> Source:
    """The same, in memory if it can be gone through only once: it trains the tokenizer, then is encoded."""
    if isinstance(source, Iterator):
        return cast("Source", list(cast("Iterable[Any]", source)))
    return source


def train_on(
    text: Text,
    tokenizer: Tokenizer,
    settings: Settings,
    *,
    backend: Backend = "core",
    device: Device = "auto",
    work: Work | None = None,
    on_interval: Callable[[Interval, float], object] | None = None,
    progress: ProgressCallback | None = None,
) -> Embeddings:
    """The same on a text that was read."""
    work = work or Work()
    trainer, where = _trainer(text, settings, backend, device)
    identity = {
        "text": text.digest(),
        "tokenizer": _core.fingerprint(tokenizer),
        "backend": "torch" if where.endswith("torch") else "core",
        **settings.facts(),
    }
    dimension = settings.embedding_dim
    before = spread.histogram(trainer.vectors().reshape(-1, dimension))
    history: list[Interval] = []
    found = checkpoint.read(work.folder, identity) if work.folder and work.resume else None
    if found is not None:
        trainer.restore(found.vectors.ravel(), found.outputs.ravel(), found.batches_done)
        history = [Interval(**row) for row in found.history]

    def write_down() -> None:
        if work.folder:
            state = checkpoint.Checkpoint(
                trainer.vectors(), trainer.outputs(), trainer.batches_done, [asdict(row) for row in history]
            )
            checkpoint.write(work.folder, identity, state)

    try:
        written = time.perf_counter()
        while trainer.batches_done < trainer.batches:
            start = time.perf_counter()
            wanted = _next(trainer, history, work.every - (start - written))
            done = trainer.batches_done
            batches, tokens, pairs = trainer.advance(wanted, _over_all(progress, done, trainer.batches))
            seconds, mean = time.perf_counter() - start, None
            if (done + batches) % trainer.batches_in_epoch == 0:
                mean = spread.mean_similarity(trainer.vectors().reshape(-1, dimension))
            epoch, loss = done // trainer.batches_in_epoch + 1, trainer.mean_loss()
            interval = Interval(epoch, done + batches, trainer.batches, tokens, pairs, loss, seconds, mean)
            history.append(interval)
            if time.perf_counter() - written >= work.every * 0.9 and interval.batches_done < trainer.batches:
                write_down()
                written = time.perf_counter()
            if on_interval:
                on_interval(interval, _seconds_left(history))
    except MerganserError:
        raise
    except BaseException:  # Ctrl-C, SIGTERM, or what a callback raised; it may come anywhere above
        done = history[-1].batches_done if history else 0
        if trainer.batches_done > done:
            epoch, seconds = done // trainer.batches_in_epoch + 1, time.perf_counter() - start
            history.append(Interval(epoch, trainer.batches_done, trainer.batches, 0, 0, None, seconds))
        write_down()
        raise
    if work.folder and not work.keep:
        checkpoint.remove(work.folder)
    vectors = trainer.vectors().reshape(-1, dimension)
    training = {
        "settings": asdict(settings),
        "device": where,
        "tokens": len(text.ids),
        "documents": len(text.ends),
        "pairs": sum(row.pairs for row in history),
        "seconds": sum(row.seconds for row in history),
        "history": [asdict(row) for row in history],
        "similarities": {"before": before, "after": spread.histogram(vectors)},
    }
    return Embeddings(vectors, trainer.ids, trainer.counts, tokenizer, training)


def _next(trainer: Trainer, history: list[Interval], seconds: float) -> int:
    """How many batches the next interval has: to the end of the epoch, or what can be done in the time."""
    left = trainer.batches_in_epoch - trainer.batches_done % trainer.batches_in_epoch
    known = [row for row in history if row.loss is not None]
    if not known:
        return min(left, max(8, trainer.batches // 100))
    last = known[-1]
    before = known[-2].batches_done if len(known) > 1 else 0
    speed = max(last.batches_done - before, 1) / max(last.seconds, 1e-6)
    return min(left, max(1, math.ceil(speed * max(seconds, 0.0))))


def _seconds_left(history: list[Interval]) -> float:
    last = history[-1]
    taken = sum(row.seconds for row in history)
    return taken * (last.batches - last.batches_done) / max(last.batches_done, 1)


def _over_all(progress: ProgressCallback | None, before: int, batches: int) -> ProgressCallback | None:
    """Tells of the whole training, where the trainer tells of an interval."""
    if progress is None:
        return None
    return lambda stage, done, _total: progress(stage, before + done, batches)
