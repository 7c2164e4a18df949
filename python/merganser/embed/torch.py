"""Training with torch, on a GPU if there is one; needs the extra `[torch]`.

The objective is the core's, but the pairs of `batch_size` tokens of text are one step: their gradients are
computed with the same weights and summed, which suits a GPU. The core takes a step for every pair, so the
results differ slightly and never bit for bit. On a CPU, the core is many times faster.
"""

from typing import TYPE_CHECKING, Any

import numpy as np

from merganser.embed.settings import Device, EmbedSettings
from merganser.embed.text import Text
from merganser.engines.local import ProgressCallback
from merganser.errors import CorpusError, SettingsError
from merganser.extras import imported

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: The maximum step of a row per mini-batch, which sums the gradients of all pairs of a frequent token.
_MAX_STEP = 1.0
#: The maximum number of pairs for measuring the loss; in a short text, half as many as tokens.
_PAIRS, _SOFTMAX_PAIRS = 16_384, 512


def choose_device(wanted: Device) -> Device:
    """Return the name of an available device; "auto" chooses MPS, CUDA or the CPU, in this order."""
    torch = imported("torch", "torch", "the torch backend")
    available: dict[Device, bool] = {
        "mps": torch.backends.mps.is_available(),
        "cuda": torch.cuda.is_available(),
        "cpu": True,
    }
    if wanted == "auto":
        return next(name for name, usable in available.items() if usable)
    if not available[wanted]:
        usable_names = ", ".join(name for name, usable in available.items() if usable)
        raise SettingsError(f"torch finds no {wanted} device on this machine; use auto or {usable_names}")
    return wanted


def initial_vectors(rows: int, dimension: int, seed: int) -> "NDArray[np.float32]":
    """Return small random numbers around zero, on the scale of the core's (`embed/weights.rs`)."""
    numbers = np.random.default_rng(seed).random((rows, dimension), np.float32)
    vectors: NDArray[np.float32] = (numbers - np.float32(0.5)) * np.float32(8 / dimension)
    return vectors


class TorchTrainer:
    """The torch implementation of `Trainer`."""

    def __init__(self, text: Text, settings: EmbedSettings, device: Device = "auto") -> None:
        self.device = choose_device(device)
        self._torch = imported("torch", "torch", "the torch backend")
        self._settings = settings
        seen, counts = np.unique(text.ids, return_counts=True)
        kept = counts >= max(settings.min_count, 1)
        order = np.lexsort((seen[kept], -counts[kept]))
        self._ids, self._counts = seen[kept][order], counts[kept][order].astype(np.uint64)
        if len(self._ids) < 2:
            raise CorpusError(
                f"only {len(self._ids)} unique tokens occur at least {settings.min_count} times; "
                "train on more text or lower min_count"
            )
        row_of = np.full(int(seen.max()) + 1, -1, np.int64)
        row_of[self._ids] = np.arange(len(self._ids))
        documents = np.repeat(np.arange(len(text.ends)), np.diff(text.ends, prepend=0))
        rows = row_of[text.ids]
        self._rows, self._documents = rows[rows >= 0], documents[rows >= 0]
        share = settings.subsample * len(self._rows) / self._counts.astype(np.float64)
        self._keep = np.minimum(np.sqrt(share) + share, 1.0) if settings.subsample else np.ones(len(share))
        torch = self._torch
        start = initial_vectors(*self._shape, settings.seed)
        self._input = torch.from_numpy(start).to(self.device)
        self._output = torch.zeros(self._shape, device=self.device)
        noise = self._counts.astype(np.float64) ** settings.noise_power
        self._noise = np.cumsum(noise / noise.sum())
        self._done = 0
        self._sample = self._draw_sample()

    @property
    def _shape(self) -> tuple[int, int]:
        return len(self._ids), self._settings.embedding_dim

    @property
    def ids(self) -> "NDArray[np.uint32]":
        return self._ids

    @property
    def counts(self) -> "NDArray[np.uint64]":
        return self._counts

    @property
    def batches_done(self) -> int:
        return self._done

    @property
    def batches_in_epoch(self) -> int:
        return -(-len(self._rows) // self._settings.batch_size)

    @property
    def batches(self) -> int:
        return self.batches_in_epoch * self._settings.epochs

    def vectors(self) -> "NDArray[np.float32]":
        flat: NDArray[np.float32] = self._input.cpu().numpy().ravel().copy()
        return flat

    def outputs(self) -> "NDArray[np.float32]":
        flat: NDArray[np.float32] = self._output.cpu().numpy().ravel().copy()
        return flat

    def restore(
        self, vectors: "NDArray[np.float32]", outputs: "NDArray[np.float32]", batches_done: int
    ) -> None:
        self._input.copy_(self._torch.tensor(np.array(vectors).reshape(self._shape)))
        self._output.copy_(self._torch.tensor(np.array(outputs).reshape(self._shape)))
        self._done = batches_done

    def advance(self, batches: int, progress: ProgressCallback | None = None) -> tuple[int, int, int]:
        """Train on the next batches; an interruption keeps the completed ones."""
        first, last = self._done, min(self._done + batches, self.batches)
        tokens = pairs = 0
        losses: list[Any] = []
        while self._done < last:
            size, neighbors, centers, rng = self._pairs(self._done)
            if len(centers):
                losses.append(self._step(neighbors, centers, rng))
            tokens, pairs = tokens + size, pairs + len(centers)
            self._done += 1
            if progress and self._done % 16 == 0:
                progress("embed", self._done - first, last - first)
        loss = float(sum(losses)) if losses else 0.0
        if not np.isfinite(loss):
            raise SettingsError("the training diverged; lower learning_rate")
        return last - first, tokens, pairs

    def mean_loss(self) -> float | None:
        """Return the mean loss on a fixed sample of pairs and negatives, as the core does."""
        neighbors, centers, negatives = self._sample
        if not len(centers):
            return None
        total = 0.0
        inputs, outputs = self._input.cpu().numpy(), self._output.cpu().numpy()
        for start in range(0, len(centers), 512):  # a few megabytes at a time
            part = slice(start, start + 512)
            vectors, right = inputs[neighbors[part]], centers[part]
            if self._settings.objective == "softmax":
                scores = vectors @ outputs.T
                highest = scores.max(1)
                total += float((highest + np.log(np.exp(scores - highest[:, None]).sum(1))).sum())
                total -= float(scores[np.arange(len(right)), right].sum())
                continue
            scores = np.einsum("pd,ptd->pt", vectors, outputs[negatives[part]])
            # A negative that equals the center is ignored, as in training.
            total += float((np.logaddexp(0, scores) * (negatives[part] != right[:, None])).sum())
            total += float(np.logaddexp(0, -(vectors * outputs[right]).sum(1)).sum())
        return total / len(centers)

    def _draw_sample(self) -> "tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]":
        """Return neighbors, centers and negatives from batches spread over the text."""
        settings = self._settings
        batches = np.unique(np.linspace(0, self.batches_in_epoch - 1, 64).astype(int))
        drawn = [self._pairs(int(batch))[1:3] for batch in batches]
        neighbors, centers = (np.concatenate(rows) for rows in zip(*drawn, strict=True))
        most = _SOFTMAX_PAIRS if settings.objective == "softmax" else _PAIRS
        rng = np.random.default_rng((settings.seed, self.batches))  # no batch has this number
        chosen = rng.permutation(len(centers))[: max(min(most, len(self._rows) // 2), 1)]
        samples = rng.random((len(chosen), settings.num_negative_samples))
        negatives = np.minimum(np.searchsorted(self._noise, samples), len(self._ids) - 1)
        return neighbors[chosen], centers[chosen], negatives

    def _pairs(self, batch: int) -> "tuple[int, NDArray[np.int64], NDArray[np.int64], np.random.Generator]":
        """Return the number of tokens in a batch, the rows of its pairs, and its random generator."""
        settings = self._settings
        rng = np.random.default_rng((settings.seed, batch))
        start = batch % self.batches_in_epoch * settings.batch_size
        part = slice(start, start + settings.batch_size)
        rows, documents = self._rows[part], self._documents[part]
        size = len(rows)
        kept = rng.random(size) < self._keep[rows]
        rows, documents = rows[kept], documents[kept]
        reach = (
            rng.integers(1, settings.window_size + 1, len(rows))
            if settings.dynamic_window
            else np.full(len(rows), settings.window_size)
        )
        neighbors, centers = [], []
        for distance in range(1, settings.window_size + 1):
            together = documents[distance:] == documents[:-distance]
            ahead = together & (reach[:-distance] >= distance)
            back = together & (reach[distance:] >= distance)
            centers += [rows[:-distance][ahead], rows[distance:][back]]
            neighbors += [rows[distance:][ahead], rows[:-distance][back]]
        return size, np.concatenate(neighbors), np.concatenate(centers), rng

    def _step(
        self, neighbors: "NDArray[np.int64]", centers: "NDArray[np.int64]", rng: np.random.Generator
    ) -> Any:
        """Take one step for all pairs and return the sum of their losses before it."""
        torch, settings = self._torch, self._settings
        decrease = settings.learning_rate - min(settings.last_learning_rate, settings.learning_rate)
        rate = settings.learning_rate - decrease * self._done / self.batches
        inputs = torch.from_numpy(neighbors).to(self.device)
        right = torch.from_numpy(centers).to(self.device)
        vectors = self._input[inputs]
        if settings.objective == "softmax":
            scores = vectors @ self._output.T
            loss = torch.nn.functional.cross_entropy(scores, right, reduction="sum")
            slopes = -torch.softmax(scores, 1)
            slopes[torch.arange(len(right), device=self.device), right] += 1
            self._move(self._input, inputs, rate * (slopes @ self._output))
            every = torch.arange(len(self._output), device=self.device)
            self._move(self._output, every, rate * (slopes.T @ vectors))
            return loss
        drawn = np.searchsorted(self._noise, rng.random((len(centers), settings.num_negative_samples)))
        if settings.objective == "shared":
            drawn[:] = drawn[0]  # shared by the whole batch, which saves memory traffic
        negatives = torch.from_numpy(np.minimum(drawn, len(self._ids) - 1)).to(self.device)
        targets = torch.cat([right[:, None], negatives], 1)
        rows = self._output[targets]
        scores = torch.einsum("pd,ptd->pt", vectors, rows)
        labels = torch.zeros_like(scores)
        labels[:, 0] = 1
        # A negative that equals the center is ignored, as in word2vec.
        counts = torch.ones_like(scores)
        counts[:, 1:] = (negatives != right[:, None]).float()
        loss = torch.nn.functional.binary_cross_entropy_with_logits(scores, labels, counts, reduction="sum")
        slopes = rate * counts * (labels - torch.sigmoid(scores))
        self._move(self._input, inputs, torch.einsum("pt,ptd->pd", slopes, rows))
        flat = (slopes[:, :, None] * vectors[:, None, :]).reshape(-1, vectors.shape[1])
        self._move(self._output, targets.reshape(-1), flat)
        return loss

    def _move(self, weights: Any, rows: Any, steps: Any) -> None:
        torch = self._torch
        total = torch.zeros_like(weights).index_add_(0, rows, steps)
        lengths = total.norm(dim=1, keepdim=True)
        weights += total * (_MAX_STEP / lengths.clamp(min=_MAX_STEP))
