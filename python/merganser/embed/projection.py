"""Vectors as points in the plane: principal components, and t-SNE.

Principal components are exact and take 0.1 s for 50,000 tokens; t-SNE keeps near neighbors together, and its
large distances and axes mean little. Its steps are the core's (`crates/core/src/embed/tsne.rs`); the nearest
neighbors are found here, by all products, in blocks. 5,000 tokens take 4 s on one thread, 50,000 a minute.
"""

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import numpy as np

from merganser import _core
from merganser.embed.similarities import normalized

if TYPE_CHECKING:
    from numpy.typing import NDArray

PERPLEXITY, STEPS = 30.0, 500
#: Steps between two planes of `tsne`.
_EVERY = 10
_BLOCK = 512


def principal(vectors: "NDArray[np.float32]") -> "NDArray[np.float64]":
    """Project vectors on their first two principal components.

    >>> principal(np.array([[0, 0, 1], [0, 3, 1], [0, 6, 1]], np.float32)).round(6)[:, 0].tolist()
    [-3.0, 0.0, 3.0]
    """
    centered = vectors - vectors.mean(axis=0)
    _, directions = np.linalg.eigh((centered.T @ centered).astype(np.float64))
    chosen = directions[:, ::-1][:, :2]
    if chosen.shape[1] < 2:
        chosen = np.column_stack([chosen, np.zeros(len(chosen))])
    # The sign of a component is arbitrary: make its largest coefficient positive.
    chosen = chosen * np.where(chosen[np.abs(chosen).argmax(axis=0), [0, 1]] < 0, -1, 1)
    plane: NDArray[np.float64] = centered @ chosen
    return plane


def tsne(
    vectors: "NDArray[np.float32]", check: Callable[[float], object] = lambda done: None, threads: int = 1
) -> Iterator[tuple[float, "NDArray[np.float64]"]]:
    """Yield how much is done, from 0 to 1, and the plane so far; the last one is the result.

    `check` is called with how much is done while the neighbors are found, and may raise to stop. The result
    does not depend on `threads`: more help if the machine is idle.
    """
    rows = normalized(vectors - vectors.mean(axis=0))
    plane = principal(rows)
    if len(rows) < 4:
        yield 1.0, plane
        return
    perplexity = max(1.0, min(PERPLEXITY, (len(rows) - 1) / 3))
    found, distances = _neighbors(rows, min(len(rows) - 1, int(3 * perplexity) + 1), check)
    start = plane / max(float(plane[:, 0].std()), 1e-12) * 1e-4
    core = _core.Tsne(
        start.ravel(), found.ravel(), distances.ravel(), perplexity=perplexity, steps=STEPS, threads=threads
    )
    for done in range(0, STEPS, _EVERY):
        core.advance(_EVERY)
        yield 0.1 + 0.9 * (done + _EVERY) / STEPS, core.points().reshape(-1, 2)


def project(vectors: "NDArray[np.float32]") -> "NDArray[np.float64]":
    """Return two coordinates per vector by t-SNE, after subtracting the mean and normalizing."""
    for _, plane in tsne(vectors):
        last = plane
    return last


def _neighbors(
    rows: "NDArray[np.float32]", n: int, check: Callable[[float], object]
) -> tuple["NDArray[np.uint32]", "NDArray[np.float64]"]:
    """Return the nearest neighbors of each row and the squares of their distances."""
    found = np.empty((len(rows), n), np.uint32)
    distances = np.empty((len(rows), n))
    for start in range(0, len(rows), _BLOCK):
        check(0.1 * start / len(rows))
        cosines = rows[start : start + _BLOCK] @ rows.T
        itself = np.arange(len(cosines))
        cosines[itself, start + itself] = -np.inf
        nearest = np.argpartition(-cosines, n - 1, axis=1)[:, :n]
        found[start : start + _BLOCK] = nearest
        near = np.take_along_axis(cosines, nearest, axis=1)
        distances[start : start + _BLOCK] = np.maximum(2 - 2 * near.astype(np.float64), 0)
    return found, distances


def fitted(
    plane: "NDArray[np.float64]", size: tuple[float, float], margin: tuple[float, float] = (36, 14)
) -> "NDArray[np.float64]":
    """Scale points to a picture of this size, with a margin for labels."""
    low, high = plane.min(axis=0), plane.max(axis=0)
    room = np.array(size) - 2 * np.array(margin)
    points: NDArray[np.float64] = np.array(margin) + (plane - low) / np.maximum(high - low, 1e-9) * room
    return points
