"""Projection: vectors in the plane, by t-SNE of scikit-learn; with the extra `[plot]`.

Near in the plane means near among the vectors; far means little, and so do the axes. 5,000 tokens take
half a minute of two cores; the time grows a little faster than their number.
"""

import warnings
from typing import TYPE_CHECKING

import numpy as np

from merganser.embed.spread import unit
from merganser.extras import imported

if TYPE_CHECKING:
    from numpy.typing import NDArray


def project(vectors: "NDArray[np.float32]", seed: int = 1) -> "NDArray[np.float64]":
    """Two numbers for each vector. What all have in common is taken away; then only directions count."""
    rows = unit(vectors - vectors.mean(axis=0))
    perplexity = max(1.0, min(30.0, (len(rows) - 1) / 3))
    if len(rows) < 4:
        return np.column_stack([np.arange(len(rows)), np.zeros(len(rows))]).astype(np.float64)
    manifold = imported("sklearn.manifold", "plot", "t-SNE")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about its own defaults in other releases
        made = manifold.TSNE(2, perplexity=perplexity, init="pca", max_iter=500, random_state=seed, n_jobs=-1)
        plane: NDArray[np.float64] = np.asarray(made.fit_transform(rows), np.float64)
    return plane


def fitted(
    plane: "NDArray[np.float64]", size: tuple[float, float], margin: tuple[float, float] = (36, 14)
) -> "NDArray[np.float64]":
    """The points in the units of a picture of this size, with a margin for labels."""
    low, high = plane.min(axis=0), plane.max(axis=0)
    room = np.array(size) - 2 * np.array(margin)
    points: NDArray[np.float64] = np.array(margin) + (plane - low) / np.maximum(high - low, 1e-9) * room
    return points
