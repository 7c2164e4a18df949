"""Train vectors on a text, in intervals that are reported, written to checkpoints and interruptible.

The core does the work (`crates/core/src/embed`), or torch if a GPU is requested. After every interval the
loss is measured on the same sample of pairs and negatives, so that the figures are comparable. With a
`work_dir`, a checkpoint is written every `checkpoint_every` seconds, and immediately when the training is
interrupted; the same call later resumes from it.
"""

import math
import os
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, cast

import numpy as np

from merganser import _core
from merganser.corpus import Source
from merganser.corpus.read_options import ReadKeywords
from merganser.embed import checkpoint, similarities
from merganser.embed.embeddings import Embeddings
from merganser.embed.settings import Backend, Device, EmbedSettings
from merganser.embed.text import VOCAB_SIZE, Text, read, tokenizer_for
from merganser.engines.arguments import check_names
from merganser.engines.local import ProgressCallback
from merganser.errors import MerganserError, SettingsError
from merganser.files import check_folder
from merganser.tokenizer import Tokenizer
from merganser.tokens import Tokens

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from typing_extensions import Unpack


class Trainer(Protocol):
    """The interface of a training backend: the core's `Embedder`, or `TorchTrainer`."""

    def advance(self, batches: int, progress: ProgressCallback | None = None) -> tuple[int, int, int]:
        """Train on the next batches and return the numbers of batches, tokens and pairs."""

    def mean_loss(self) -> float | None:
        """Return the mean loss on a fixed sample of pairs and negatives."""

    def restore(
        self, vectors: "NDArray[np.float32]", outputs: "NDArray[np.float32]", batches_done: int
    ) -> None:
        """Continue from the state in a checkpoint."""

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
    """Figures of an interval of training, which is at most one epoch.

    Attributes
    ----------
    epoch
        The epoch, starting at 1.
    batches_done, batches
        The number of batches trained so far, and of all epochs.
    tokens
        The number of tokens of text in the interval, including those that subsampling dropped.
    pairs
        The number of pairs trained on in the interval.
    loss
        The mean loss on a fixed sample of pairs and negatives; None if the interval was interrupted.
    seconds
        The duration of the interval.
    mean_similarity
        The mean cosine of all pairs of vectors, at the end of an epoch.
    """

    epoch: int
    batches_done: int
    batches: int
    tokens: int
    pairs: int
    loss: float | None
    seconds: float
    mean_similarity: float | None = None


@dataclass(frozen=True)
class CheckpointSettings:
    """Where and how often to write checkpoints.

    Attributes
    ----------
    folder
        The folder of the checkpoint; None to write none.
    resume
        Whether to resume from a checkpoint in the folder.
    every
        Seconds between checkpoints.
    keep
        Whether to leave the last checkpoint in the folder.
    """

    folder: Path | None = None
    resume: bool = True
    every: float = 10
    keep: bool = False

    def __post_init__(self) -> None:
        if not 0 < self.every < 1e9:
            raise SettingsError(
                f"checkpoint_every must be a number of seconds greater than 0, got {self.every}"
            )


def train(
    source: Source | Tokens,
    tokenizer: Tokenizer | None = None,
    settings: EmbedSettings | None = None,
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
    **reading: "Unpack[ReadKeywords]",
) -> Embeddings:
    """Learn a vector for every token of a corpus from the tokens around it.

    Parameters
    ----------
    source
        The corpus, see `merganser.corpus` for what it can be; or `Tokens` written by `encode_corpus`.
    tokenizer
        The tokenizer; by default, one with up to `vocab_size` tokens is trained on the corpus.
    settings
        The hyperparameters; see `EmbedSettings` for the defaults.
    vocab_size
        The size of the vocabulary if a tokenizer is trained.
    backend
        "core" trains on the CPU; "torch" needs the extra `[torch]` and can use a GPU.
    device
        The device for torch; "auto" chooses MPS, CUDA or the CPU, in this order. "cuda" and "mps" imply
        torch.
    work_dir
        The folder for checkpoints. The checkpoint is removed at the end.
    resume
        Whether to resume from a checkpoint in `work_dir`.
    checkpoint_every
        Seconds between checkpoints.
    keep_work
        Whether to leave the last checkpoint in `work_dir`.
    on_interval
        Called after every interval with its figures and the estimated number of seconds left.
    progress
        Called with the stage ("count", "merge", "encode" or "embed"), the amount done and the total.
    **reading
        How files are read; see `merganser.ReadOptions`.

    Returns
    -------
    Embeddings
        The vectors, with facts about the training.

    Raises
    ------
    CorpusError
        If the corpus cannot be read or contains too little text.
    SettingsError
        If a setting is invalid.
    EmbeddingsError
        If `source` is `Tokens` of another tokenizer.
    CheckpointError
        If the checkpoint is corrupt or belongs to another training.

    Examples
    --------
    >>> texts = ["one two three four five six seven"] * 60
    >>> train(texts, settings=EmbedSettings(epochs=2, threads=1)).vectors.shape[1]
    100
    """
    check_names(train, reading)
    settings = settings or EmbedSettings()
    if work_dir is not None:
        check_folder(Path(work_dir), "choose another work_dir")
    if tokenizer is None:
        if isinstance(source, Tokens):
            raise SettingsError("token files do not contain the tokenizer; pass the one that encoded them")
        source = _reusable(source)
        tokenizer = tokenizer_for(source, vocab_size, settings.threads, progress, **reading)
    work_folder = None if work_dir is None else Path(work_dir)
    return train_on(
        read(source, tokenizer, settings.threads, progress, **reading),
        tokenizer,
        settings,
        backend=backend,
        device=device,
        checkpoints=CheckpointSettings(work_folder, resume, checkpoint_every, keep_work),
        on_interval=on_interval,
        progress=progress,
    )


def _reusable(source: Source) -> Source:
    """Return the source, in memory if it is an iterator: it trains the tokenizer and is then encoded."""
    if isinstance(source, Iterator):
        return cast("Source", list(cast("Iterable[Any]", source)))
    return source


def train_on(
    text: Text,
    tokenizer: Tokenizer,
    settings: EmbedSettings,
    *,
    backend: Backend = "core",
    device: Device = "auto",
    checkpoints: CheckpointSettings | None = None,
    on_interval: Callable[[Interval, float], object] | None = None,
    progress: ProgressCallback | None = None,
) -> Embeddings:
    """Train on a text that is already encoded; see `train`."""
    backend, device = choose(backend, device)
    trainer = core_trainer(text, settings) if backend == "core" else _torch_trainer(text, settings, device)
    identity = {
        "text": text.digest(),
        "tokenizer": _core.fingerprint(tokenizer),
        "backend": backend,
        **settings.facts(),
    }
    run = _Run(trainer, settings.embedding_dim, identity, checkpoints or CheckpointSettings())
    before = similarities.histogram(run.vectors())
    run.resume()
    try:
        run.train(on_interval, progress)
    except MerganserError:
        raise
    except BaseException:  # Ctrl-C, SIGTERM or an exception in a callback, at any point of the training
        run.save_interrupted()
        raise
    run.remove_checkpoint()
    vectors = run.vectors()
    training = {
        "settings": asdict(settings),
        "device": described(backend, device, settings.threads),
        "tokens": len(text.ids),
        "documents": len(text.ends),
        "pairs": sum(interval.pairs for interval in run.history),
        "seconds": sum(interval.seconds for interval in run.history),
        "history": [asdict(interval) for interval in run.history],
        "similarities": {"before": before, "after": similarities.histogram(vectors)},
    }
    return Embeddings(vectors, trainer.ids, trainer.counts, tokenizer, training)


def core_trainer(text: Text, settings: EmbedSettings) -> Trainer:
    """Return the core's trainer at the start of a training."""
    return _core.Embedder(text.ids, text.ends, **settings.for_core())


def _torch_trainer(text: Text, settings: EmbedSettings, device: Device) -> Trainer:
    from merganser.embed.torch import TorchTrainer

    return TorchTrainer(text, settings, device)


def choose(backend: Backend, device: Device) -> tuple[Backend, Device]:
    """Return the backend and the device that a training uses.

    Parameters
    ----------
    backend
        "core" or "torch".
    device
        "auto" is the CPU with the core, and the first available of MPS, CUDA and the CPU with torch. "cuda"
        and "mps" imply torch.

    Raises
    ------
    SettingsError
        If a name is unknown, or if torch does not find the device.
    ImportError
        If the extra `[torch]` is needed and not installed.

    Examples
    --------
    >>> choose("core", "auto")
    ('core', 'cpu')
    """
    if backend not in ("core", "torch") or device not in ("auto", "cpu", "cuda", "mps"):
        raise SettingsError(
            "backend must be core or torch, and device auto, cpu, cuda or mps, "
            f"got backend {backend!r} and device {device!r}"
        )
    if backend == "core" and device in ("auto", "cpu"):
        return "core", "cpu"
    from merganser.embed.torch import choose_device

    return "torch", choose_device(device)


def described(backend: Backend, device: Device, threads: int | None) -> str:
    """Return the backend and the device in words, for reports.

    >>> described("core", "cpu", 2), described("torch", "mps", None)
    ('core, 2 threads', 'torch, mps')
    """
    if backend == "torch":
        return f"torch, {device}"
    threads = threads or os.cpu_count() or 1
    return f"core, {threads} thread{'s' * (threads > 1)}"


class _Run:
    """A training in progress: the trainer, its intervals so far, and its checkpoint."""

    def __init__(
        self, trainer: Trainer, dimension: int, identity: dict[str, Any], checkpoints: CheckpointSettings
    ) -> None:
        self._trainer = trainer
        self._dimension = dimension
        self._identity = identity
        self._checkpoints = checkpoints
        self._interval_start = self._last_write = time.perf_counter()
        self.history: list[Interval] = []

    def vectors(self) -> "NDArray[np.float32]":
        return self._trainer.vectors().reshape(-1, self._dimension)

    def resume(self) -> None:
        """Restore the state in the checkpoint, if there is one."""
        folder = self._checkpoints.folder
        state = checkpoint.read(folder, self._identity) if folder and self._checkpoints.resume else None
        if state is not None:
            self._trainer.restore(state.vectors.ravel(), state.outputs.ravel(), state.batches_done)
            self.history = [Interval(**row) for row in state.history]

    def train(
        self, on_interval: Callable[[Interval, float], object] | None, progress: ProgressCallback | None
    ) -> None:
        """Train to the end, one interval after the other."""
        self._last_write = time.perf_counter()
        while self._trainer.batches_done < self._trainer.batches:
            interval = self._train_interval(progress)
            self.history.append(interval)
            due = time.perf_counter() - self._last_write >= self._checkpoints.every * 0.9
            if due and interval.batches_done < interval.batches:
                self._write_checkpoint()
                self._last_write = time.perf_counter()
            if on_interval:
                on_interval(interval, self._seconds_left())

    def _train_interval(self, progress: ProgressCallback | None) -> Interval:
        trainer = self._trainer
        self._interval_start = time.perf_counter()
        wanted = self._next_batches(self._checkpoints.every - (self._interval_start - self._last_write))
        done = trainer.batches_done
        batches, tokens, pairs = trainer.advance(wanted, _in_total(progress, done, trainer.batches))
        seconds, mean = time.perf_counter() - self._interval_start, None
        if (done + batches) % trainer.batches_in_epoch == 0:
            mean = similarities.mean_similarity(self.vectors())
        epoch, loss = done // trainer.batches_in_epoch + 1, trainer.mean_loss()
        return Interval(epoch, done + batches, trainer.batches, tokens, pairs, loss, seconds, mean)

    def _next_batches(self, seconds: float) -> int:
        """Return the size of the next interval: to the end of the epoch, or what fits into the time."""
        trainer = self._trainer
        left = trainer.batches_in_epoch - trainer.batches_done % trainer.batches_in_epoch
        complete = [interval for interval in self.history if interval.loss is not None]
        if not complete:
            return min(left, max(8, trainer.batches // 100))
        last = complete[-1]
        before = complete[-2].batches_done if len(complete) > 1 else 0
        speed = max(last.batches_done - before, 1) / max(last.seconds, 1e-6)
        return min(left, max(1, math.ceil(speed * max(seconds, 0.0))))

    def _seconds_left(self) -> float:
        last = self.history[-1]
        taken = sum(interval.seconds for interval in self.history)
        return taken * (last.batches - last.batches_done) / max(last.batches_done, 1)

    def save_interrupted(self) -> None:
        """Write a checkpoint that includes the part of an interval that was trained."""
        trainer = self._trainer
        done = self.history[-1].batches_done if self.history else 0
        if trainer.batches_done > done:
            epoch, seconds = done // trainer.batches_in_epoch + 1, time.perf_counter() - self._interval_start
            self.history.append(Interval(epoch, trainer.batches_done, trainer.batches, 0, 0, None, seconds))
        self._write_checkpoint()

    def _write_checkpoint(self) -> None:
        if self._checkpoints.folder:
            trainer = self._trainer
            history = [asdict(interval) for interval in self.history]
            state = checkpoint.Checkpoint(trainer.vectors(), trainer.outputs(), trainer.batches_done, history)
            checkpoint.write(self._checkpoints.folder, self._identity, state)

    def remove_checkpoint(self) -> None:
        if self._checkpoints.folder and not self._checkpoints.keep:
            checkpoint.remove(self._checkpoints.folder)


def _in_total(progress: ProgressCallback | None, before: int, batches: int) -> ProgressCallback | None:
    """Return a callback that reports an interval's progress as progress of the whole training."""
    if progress is None:
        return None
    return lambda stage, done, _total: progress(stage, before + done, batches)
