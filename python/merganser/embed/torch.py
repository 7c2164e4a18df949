"""Torch: the same objective in mini-batches, for GPUs; with the extra `[torch]`.

The pairs of `batch_size` tokens of text are one step: gradients of all are taken at the same weights and
added up. That is what a GPU is quick at, and why it learns a little differently from the core, which takes
every pair as a step of its own. On a processor the core is many times faster. Nothing
here is bit for bit the core's.
"""

from typing import TYPE_CHECKING, Any

import numpy as np

from merganser.embed.settings import Settings
from merganser.embed.text import Text
from merganser.engines.local import ProgressCallback
from merganser.errors import CorpusError, SettingsError
from merganser.extras import imported

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: A mini-batch adds up the gradients of all its pairs; a row that is in many of them may move so far at most.
_LONGEST_STEP = 1.0
#: The loss is measured on so many pairs at most; of a short text, on half as many as it has tokens.
_PAIRS, _SOFTMAX_PAIRS = 16_384, 512


def choose_device(wanted: str) -> str:
    """The device by its name; "auto" is MPS, CUDA or the processor, the first that there is."""
    torch = imported("torch", "torch", "the torch backend")
    there = {
        "mps": torch.backends.mps.is_available(),
        "cuda": torch.cuda.is_available(),
        "cpu": True,
    }
    if wanted == "auto":
        return next(name for name, is_there in there.items() if is_there)
    if not there[wanted]:
        known = ", ".join(name for name, is_there in there.items() if is_there)
        raise SettingsError(f"torch finds no {wanted} here, but: {known}; use one of these, or auto")
    return wanted


class TorchTrainer:
    """What `_core.Embedder` is, by torch."""

    def __init__(self, text: Text, settings: Settings, device: str = "auto") -> None:
        self.device = choose_device(device)
        self._torch = imported("torch", "torch", "the torch backend")
        self._settings = settings
        seen, counts = np.unique(text.ids, return_counts=True)
        kept = counts >= max(settings.min_count, 1)
        order = np.lexsort((seen[kept], -counts[kept]))
        self._ids, self._counts = seen[kept][order], counts[kept][order].astype(np.uint64)
        if len(self._ids) < 2:
            raise CorpusError(
                f"only {len(self._ids)} different tokens are seen {settings.min_count} times or more: "
                "give more text or a smaller min_count"
            )
        row_of = np.full(int(seen.max()) + 1, -1, np.int64)
        row_of[self._ids] = np.arange(len(self._ids))
        documents = np.repeat(np.arange(len(text.ends)), np.diff(text.ends, prepend=0))
        rows = row_of[text.ids]
        self._rows, self._documents = rows[rows >= 0], documents[rows >= 0]
        share = settings.subsample * len(self._rows) / self._counts.astype(np.float64)
        self._keep = np.minimum(np.sqrt(share) + share, 1.0) if settings.subsample else np.ones(len(share))
        torch = self._torch
        start = np.random.default_rng(settings.seed).random(self._shape, np.float32) - 0.5
        self._input = torch.from_numpy(start / settings.embedding_dim).to(self.device)
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
        """Trains on the next batches; what is done stays when it is interrupted."""
        first, last = self._done, min(self._done + batches, self.batches)
        tokens = pairs = 0
        losses: list[Any] = []
        while self._done < last:
            size, neighbours, centres, chance = self._pairs(self._done)
            if len(centres):
                losses.append(self._step(neighbours, centres, chance))
            tokens, pairs = tokens + size, pairs + len(centres)
            self._done += 1
            if progress and self._done % 16 == 0:
                progress("embed", self._done - first, last - first)
        loss = float(sum(losses)) if losses else 0.0
        if not np.isfinite(loss):
            raise SettingsError("the vectors grew beyond all numbers; use a smaller learning_rate")
        return last - first, tokens, pairs

    def mean_loss(self) -> float | None:
        """The mean loss of a fixed sample of pairs and negatives with the current vectors, as in the core."""
        neighbors, centers, negatives = self._sample
        if not len(centers):
            return None
        total = 0.0
        inputs, outputs = self._input.cpu().numpy(), self._output.cpu().numpy()
        for start in range(0, len(centers), 512):  # some megabytes at a time
            part = slice(start, start + 512)
            vectors, right = inputs[neighbors[part]], centers[part]
            if self._settings.objective == "softmax":
                scores = vectors @ outputs.T
                highest = scores.max(1)
                total += float((highest + np.log(np.exp(scores - highest[:, None]).sum(1))).sum())
                total -= float(scores[np.arange(len(right)), right].sum())
                continue
            scores = np.einsum("pd,ptd->pt", vectors, outputs[negatives[part]])
            # A negative that happens to be the right token is left out, as in training.
            total += float((np.logaddexp(0, scores) * (negatives[part] != right[:, None])).sum())
            total += float(np.logaddexp(0, -(vectors * outputs[right]).sum(1)).sum())
        return total / len(centers)

    def _draw_sample(self) -> "tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]":
        """Neighbors, centers and their negatives, from batches all over the text."""
        settings = self._settings
        batches = np.unique(np.linspace(0, self.batches_in_epoch - 1, 64).astype(int))
        drawn = [self._pairs(int(batch))[1:3] for batch in batches]
        neighbors, centers = (np.concatenate(rows) for rows in zip(*drawn, strict=True))
        most = _SOFTMAX_PAIRS if settings.objective == "softmax" else _PAIRS
        chance = np.random.default_rng(
            (settings.seed, self.batches)
        )  # no batch of the training has this number
        chosen = chance.permutation(len(centers))[: max(min(most, len(self._rows) // 2), 1)]
        places = chance.random((len(chosen), settings.num_negative_samples))
        negatives = np.minimum(np.searchsorted(self._noise, places), len(self._ids) - 1)
        return neighbors[chosen], centers[chosen], negatives

    def _pairs(self, batch: int) -> "tuple[int, NDArray[np.int64], NDArray[np.int64], np.random.Generator]":
        """How many tokens the batch has, the rows of its pairs, and the chance that goes on from there."""
        settings = self._settings
        chance = np.random.default_rng((settings.seed, batch))
        start = batch % self.batches_in_epoch * settings.batch_size
        part = slice(start, start + settings.batch_size)
        rows, documents = self._rows[part], self._documents[part]
        size = len(rows)
        kept = chance.random(size) < self._keep[rows]
        rows, documents = rows[kept], documents[kept]
        reach = (
            chance.integers(1, settings.window_size + 1, len(rows))
            if settings.dynamic_window
            else np.full(len(rows), settings.window_size)
        )
        neighbours, centres = [], []
        for distance in range(1, settings.window_size + 1):
            together = documents[distance:] == documents[:-distance]
            ahead = together & (reach[:-distance] >= distance)
            behind = together & (reach[distance:] >= distance)
            centres += [rows[:-distance][ahead], rows[distance:][behind]]
            neighbours += [rows[distance:][ahead], rows[:-distance][behind]]
        return size, np.concatenate(neighbours), np.concatenate(centres), chance

    def _step(
        self, neighbours: "NDArray[np.int64]", centres: "NDArray[np.int64]", chance: np.random.Generator
    ) -> Any:
        """One step of all pairs; gives the sum of their losses before it."""
        torch, settings = self._torch, self._settings
        falls = settings.learning_rate - min(settings.last_learning_rate, settings.learning_rate)
        rate = settings.learning_rate - falls * self._done / self.batches
        inputs = torch.from_numpy(neighbours).to(self.device)
        right = torch.from_numpy(centres).to(self.device)
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
        drawn = np.searchsorted(self._noise, chance.random((len(centres), settings.num_negative_samples)))
        if settings.objective == "shared":
            drawn[:] = drawn[0]  # the same for the whole batch: here, that is what saves memory traffic
        negatives = torch.from_numpy(np.minimum(drawn, len(self._ids) - 1)).to(self.device)
        targets = torch.cat([right[:, None], negatives], 1)
        rows = self._output[targets]
        scores = torch.einsum("pd,ptd->pt", vectors, rows)
        labels = torch.zeros_like(scores)
        labels[:, 0] = 1
        # A negative that happens to be the right token is left out, as in word2vec.
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
        weights += total * (_LONGEST_STEP / lengths.clamp(min=_LONGEST_STEP))
