"""Vectors of tokens, as they are stored: the value that files and exports know."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from merganser.embed import spread
from merganser.embed.text import check_ids
from merganser.errors import EmbeddingsError
from merganser.tokenizer import Tokenizer

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True, eq=False, repr=False)
class Vectors:
    """Vectors of tokens, the most frequent token first.

    ids, counts: the token of each row, and how often it occurs in the text.
    training: facts about the training: settings, figures of every interval.
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
                f"there are {len(ids):,} tokens, {len(counts):,} counts and vectors of shape "
                f"{vectors.shape}: each token has one of each, and there is at least one"
            )
        check_ids(ids, self.tokenizer, "the list of tokens")
        if len(np.unique(ids)) < len(ids):
            raise EmbeddingsError("a token has two vectors; give each id once")
        spread.finite(vectors)
        for name, array in (("vectors", vectors), ("ids", ids), ("counts", counts)):
            array.flags.writeable = False
            object.__setattr__(self, name, array)

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def dimension(self) -> int:
        return int(self.vectors.shape[1])

    @cached_property
    def tokens(self) -> list[bytes]:
        """The bytes of every row's token."""
        return [self.tokenizer.decode_bytes([id]) for id in self.ids.tolist()]
