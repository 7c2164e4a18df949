"""A straightforward mini-batch loop in NumPy, as one would first write it, with the same objective and pairs.

The pairs of 512 tokens of text are a batch. It uses gathers, an einsum, a sigmoid, and `np.add.at` to sum the
gradients of tokens that occur in a batch more than once.
"""

import time

import numpy as np
from numpy.typing import NDArray


def words_per_second(
    rows: NDArray[np.int64], counts: NDArray[np.uint64], settings: dict, seconds: float
) -> float:
    """Train until the end of the text or until `seconds` have passed, and return the speed."""
    chance = np.random.default_rng(settings["seed"])
    dimension, negatives, window = (
        settings["embedding_dim"],
        settings["num_negative_samples"],
        settings["window_size"],
    )
    vectors = ((chance.random((len(counts), dimension)) - 0.5) / dimension).astype(np.float32)
    outputs = np.zeros_like(vectors)
    noise = np.cumsum(counts.astype(np.float64) ** 0.75)
    noise /= noise[-1]
    share = settings["subsample"] * counts.sum() / counts
    keep = np.minimum(np.sqrt(share) + share, 1.0)
    rate = np.float32(settings["learning_rate"])
    start = time.perf_counter()
    done = 0
    while done < len(rows) and time.perf_counter() - start < seconds:
        part = rows[done : done + settings["batch_size"]]
        done += len(part)
        part = part[chance.random(len(part)) < keep[part]]
        reach = chance.integers(1, window + 1, len(part))
        pairs = [
            (part[center], part[other])
            for center in range(len(part))
            for other in range(max(center - reach[center], 0), min(center + reach[center] + 1, len(part)))
            if other != center
        ]
        if not pairs:
            continue
        centers, neighbors = np.array(pairs).T
        drawn = np.searchsorted(noise, chance.random((len(centers), negatives)))
        targets = np.concatenate([centers[:, None], np.minimum(drawn, len(counts) - 1)], axis=1)
        labels = np.zeros(targets.shape, np.float32)
        labels[:, 0] = 1
        inputs, rows_out = vectors[neighbors], outputs[targets]
        scores = np.einsum("pd,ptd->pt", inputs, rows_out)
        slopes = rate * (labels - 1 / (1 + np.exp(-np.clip(scores, -30, 30))))
        np.add.at(vectors, neighbors, np.einsum("pt,ptd->pd", slopes, rows_out))
        np.add.at(outputs, targets, slopes[:, :, None] * inputs[:, None, :])
    return done / (time.perf_counter() - start)
