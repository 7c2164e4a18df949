"""Spread: how similar vectors are to each other, over all pairs.

Before training they point anywhere, and the cosines lie around 0; training gives them something in common and
draws the related ones together.
"""

from typing import TYPE_CHECKING, Any

import numpy as np

from merganser.errors import EmbeddingsError

if TYPE_CHECKING:
    from numpy.typing import NDArray

_BINS = 80
#: More pairs than this are sampled: the picture would be the same.
_PAIRS = 1_000_000


def unit(vectors: "NDArray[np.float32]") -> "NDArray[np.float32]":
    """The vectors with length 1; those of length 0 stay."""
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    rows: NDArray[np.float32] = np.divide(vectors, lengths, out=np.zeros_like(vectors), where=lengths > 0)
    return rows


def finite(vectors: "NDArray[np.float32]") -> "NDArray[np.float32]":
    """The same, or an error that says where it is no number."""
    if not np.isfinite(vectors).all():
        row = int(np.argmin(np.isfinite(vectors).all(axis=1)))
        raise EmbeddingsError(
            f"the vector in row {row:,} holds NaN or infinity, which no training gives: the data are damaged"
        )
    return vectors


def mean_similarity(vectors: "NDArray[np.float32]") -> float:
    """The mean cosine of all pairs of different vectors, exactly, without going through the pairs.

    The length of the sum of all unit vectors, squared, is the sum of all their products.

    >>> mean_similarity(np.array([[1, 0], [0, 2], [1, 0]], np.float32))
    0.3333333333333333
    """
    rows = unit(vectors).astype(np.float64)
    total = rows.sum(axis=0)
    own = float((rows * rows).sum())
    return (float(total @ total) - own) / max(len(rows) * (len(rows) - 1), 1)


def histogram(vectors: "NDArray[np.float32]") -> dict[str, Any]:
    """How many pairs have which cosine: of all pairs, or of a million drawn with a fixed seed."""
    rows = unit(vectors)
    if len(rows) * (len(rows) - 1) // 2 <= _PAIRS:
        left, right = np.triu_indices(len(rows), 1)
    else:
        chance = np.random.default_rng(0)
        left = chance.integers(0, len(rows), _PAIRS)
        right = (left + chance.integers(1, len(rows), _PAIRS)) % len(rows)
    seen = np.zeros(_BINS, np.int64)
    for start in range(0, len(left), 1 << 16):  # a block at a time, for the rows are copied
        part = slice(start, start + (1 << 16))
        cosines = np.einsum("ij,ij->i", rows[left[part]], rows[right[part]])
        seen += np.histogram(np.clip(cosines, -1, 1), _BINS, (-1, 1))[0]
    return {"from": -1.0, "to": 1.0, "pairs": seen.tolist(), "mean": mean_similarity(vectors)}
