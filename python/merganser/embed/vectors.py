"""Vectors of tokens as a value that files and exports store; `Embeddings` adds queries."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from merganser.embed import similarities
from merganser.embed.text import check_ids
from merganser.errors import EmbeddingsError
from merganser.tokenizer import Tokenizer

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True, eq=False, repr=False)
class Vectors:
    """Vectors of tokens, most frequent token first.

    Attributes
    ----------
    vectors
        One row per token.
    ids, counts
        The id of each row's token, and how often it occurs in the text.
    tokenizer
        The tokenizer of the ids.
    training
        Facts about the training: its settings and the figures of every interval.
    """

    vectors: "NDArray[np.float32]"
    ids: "NDArray[np.uint32]"
    counts: "NDArray[np.uint64]"
    tokenizer: Tokenizer
    training: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        vectors = np.array(self.vectors, np.float32, order="C")
        ids, counts = np.array(self.ids, np.uint32), np.array(self.counts, np.uint64)
        if vectors.ndim != 2 or not len(vectors) or not len(vectors) == len(ids) == len(counts):
            raise EmbeddingsError(
                "vectors, ids and counts must have one row per token and at least one row, got "
                f"{len(ids):,} ids, {len(counts):,} counts and vectors of shape {vectors.shape}"
            )
        check_ids(ids, self.tokenizer, "ids")
        if len(np.unique(ids)) < len(ids):
            raise EmbeddingsError("an id has two vectors; pass each id once")
        similarities.check_finite(vectors)
        for name, array in (("vectors", vectors), ("ids", ids), ("counts", counts)):
            array.flags.writeable = False
            object.__setattr__(self, name, array)

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def dimension(self) -> int:
        """The dimension of the vectors."""
        return int(self.vectors.shape[1])

    @cached_property
    def tokens(self) -> list[bytes]:
        """The bytes of each row's token."""
        return [self.tokenizer.decode_bytes([id]) for id in self.ids.tolist()]
