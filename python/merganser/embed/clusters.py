"""Clusters of vectors: k-means on directions, the same for every run.

Costs tokens × dimension × clusters for each of at most 25 rounds: by estimate 0.5 s for 50,000 tokens. The
centers start far from each other (k-means++, with the farthest instead of a random vector), so there is no
seed.
"""

from typing import TYPE_CHECKING

import numpy as np

from merganser.embed.similarities import normalized

if TYPE_CHECKING:
    from numpy.typing import NDArray

_ROUNDS = 25
#: Centers are chosen among this many of the most frequent tokens.
_CANDIDATES = 4000


def clustered(
    vectors: "NDArray[np.float32]", n: int = 8
) -> tuple["NDArray[np.int64]", "NDArray[np.float32]"]:
    """Return the cluster of each vector, the largest cluster first, and the centers.

    >>> groups, _ = clustered(np.array([[9, 1], [9, 2], [1, 9], [8, 1]], np.float32), 2)
    >>> groups.tolist()
    [0, 0, 1, 0]
    """
    rows = normalized(vectors - vectors.mean(axis=0))
    candidates = rows[:_CANDIDATES]
    centers = candidates[:1]
    while len(centers) < min(n, len(candidates)):
        nearest = (candidates @ centers.T).max(axis=1)
        centers = np.concatenate([centers, candidates[[nearest.argmin()]]])
    groups = np.zeros(len(rows), np.int64)
    for _ in range(_ROUNDS):
        before, groups = groups, (rows @ centers.T).argmax(axis=1)
        if (before == groups).all():
            break
        sums = np.zeros_like(centers)
        np.add.at(sums, groups, rows)
        centers = np.where(
            np.bincount(groups, minlength=len(centers))[:, None] > 0, normalized(sums), centers
        )
    sizes = np.bincount(groups, minlength=len(centers))
    order = np.argsort(-sizes, kind="stable")
    order = order[sizes[order] > 0]
    place = np.zeros(len(centers), np.int64)
    place[order] = np.arange(len(order))
    return place[groups], centers[order]
