"""Similarities of vectors to each other, over all pairs.

Before training, directions are random and cosines are close to 0; training gives vectors a common component
and moves related ones together.
"""

from typing import TYPE_CHECKING, Any

import numpy as np

from merganser.errors import EmbeddingsError

if TYPE_CHECKING:
    from numpy.typing import NDArray

_BINS = 80
#: The maximum number of pairs in a histogram; of more, a sample is drawn, which looks the same.
_PAIRS = 1_000_000


def normalized(vectors: "NDArray[np.float32]") -> "NDArray[np.float32]":
    """Return the vectors scaled to length 1; zero vectors stay zero."""
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    rows: NDArray[np.float32] = np.divide(vectors, lengths, out=np.zeros_like(vectors), where=lengths > 0)
    return rows


def check_finite(vectors: "NDArray[np.float32]") -> "NDArray[np.float32]":
    """Return the vectors; raise an `EmbeddingsError` if one contains NaN or infinity."""
    if not np.isfinite(vectors).all():
        row = int(np.argmin(np.isfinite(vectors).all(axis=1)))
        raise EmbeddingsError(
            f"the vector in row {row:,} contains NaN or infinity, so the data is corrupt; train again"
        )
    return vectors


def mean_similarity(vectors: "NDArray[np.float32]") -> float:
    """Return the exact mean cosine of all pairs of vectors in linear time.

    The squared length of the sum of all unit vectors is the sum of all their dot products.

    >>> mean_similarity(np.array([[1, 0], [0, 2], [1, 0]], np.float32))
    0.3333333333333333
    """
    rows = normalized(vectors).astype(np.float64)
    total = rows.sum(axis=0)
    own = float((rows * rows).sum())
    return (float(total @ total) - own) / max(len(rows) * (len(rows) - 1), 1)


def histogram(vectors: "NDArray[np.float32]") -> dict[str, Any]:
    """Return the histogram of the cosines of all pairs, or of a million pairs drawn with a fixed seed."""
    rows = normalized(vectors)
    if len(rows) * (len(rows) - 1) // 2 <= _PAIRS:
        left, right = np.triu_indices(len(rows), 1)
    else:
        rng = np.random.default_rng(0)
        left = rng.integers(0, len(rows), _PAIRS)
        right = (left + rng.integers(1, len(rows), _PAIRS)) % len(rows)
    seen = np.zeros(_BINS, np.int64)
    for start in range(0, len(left), 1 << 16):  # in blocks, because rows are copied
        part = slice(start, start + (1 << 16))
        cosines = np.einsum("ij,ij->i", rows[left[part]], rows[right[part]])
        seen += np.histogram(np.clip(cosines, -1, 1), _BINS, (-1, 1))[0]
    return {"from": -1.0, "to": 1.0, "pairs": seen.tolist(), "mean": mean_similarity(vectors)}
