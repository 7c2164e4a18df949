"""Project vectors to the plane with scikit-learn's t-SNE; needs the extra `[plot]`.

Vectors that are close stay close in the plane; large distances and the axes mean little. 2,000 tokens take
four seconds, and the time grows slightly faster than linearly. One thread is used: several wait for each
other in loops, which is many times slower if the machine is busy (172 s instead of 7 s, see docs/log.md).
"""

import warnings
from typing import TYPE_CHECKING

import numpy as np

from merganser.embed.similarities import normalized
from merganser.extras import imported

if TYPE_CHECKING:
    from numpy.typing import NDArray


def project(vectors: "NDArray[np.float32]", seed: int = 1) -> "NDArray[np.float64]":
    """Return two coordinates per vector, after subtracting the mean and normalizing."""
    rows = normalized(vectors - vectors.mean(axis=0))
    perplexity = max(1.0, min(30.0, (len(rows) - 1) / 3))
    if len(rows) < 4:
        return np.column_stack([np.arange(len(rows)), np.zeros(len(rows))]).astype(np.float64)
    manifold = imported("sklearn.manifold", "plot", "t-SNE")
    threads = imported("threadpoolctl", "plot", "t-SNE")  # a requirement of scikit-learn
    with warnings.catch_warnings(), threads.threadpool_limits(1):
        warnings.simplefilter("ignore")  # about changing defaults
        tsne = manifold.TSNE(2, perplexity=perplexity, init="pca", max_iter=500, random_state=seed)
        plane: NDArray[np.float64] = np.asarray(tsne.fit_transform(rows), np.float64)
    return plane


def fitted(
    plane: "NDArray[np.float64]", size: tuple[float, float], margin: tuple[float, float] = (36, 14)
) -> "NDArray[np.float64]":
    """Scale points to a picture of this size, with a margin for labels."""
    low, high = plane.min(axis=0), plane.max(axis=0)
    room = np.array(size) - 2 * np.array(margin)
    points: NDArray[np.float64] = np.array(margin) + (plane - low) / np.maximum(high - low, 1e-9) * room
    return points
