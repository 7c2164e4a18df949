"""Embeddings that were drawn, not trained: clouds of tokens, as many as are wanted, and always the same."""

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from merganser import Tokenizer, train
from numpy.typing import NDArray


class Near(NamedTuple):
    word: str
    id: int
    similarity: float


@dataclass(frozen=True)
class Drawn:
    """As much of `merganser.embed.Embeddings` as the studio asks for."""

    vectors: NDArray[np.float32]
    ids: NDArray[np.uint32]
    counts: NDArray[np.uint64]
    tokenizer: Tokenizer

    @cached_property
    def unit(self) -> NDArray[np.float32]:
        rows: NDArray[np.float32] = self.vectors / np.linalg.norm(self.vectors, axis=1, keepdims=True)
        return rows

    def most_similar(self, query: NDArray[np.float32], n: int = 10, *, only_words: bool = True) -> list[Near]:
        cosines = self.unit @ (query / np.linalg.norm(query))
        best = np.argsort(-cosines, kind="stable")[:n].tolist()
        return [Near("", int(self.ids[row]), float(cosines[row])) for row in best]


def drawn(tokenizer: Tokenizer, tokens: int, dimension: int = 24) -> Drawn:
    """Vectors around twelve centres, tokens of a centre being alike; the first ids of the tokenizer."""
    chance = np.random.default_rng(7)
    centres = chance.normal(size=(12, dimension)) * 2.2
    vectors = centres[np.arange(tokens) % 12] + chance.normal(size=(tokens, dimension))
    counts = (1e7 / np.arange(1, tokens + 1)).astype(np.uint64)
    return Drawn(vectors.astype(np.float32), np.arange(tokens, dtype=np.uint32), counts, tokenizer)


def large_tokenizer(tokens: int) -> Tokenizer:
    """One of so many tokens, learned from words that were drawn."""
    chance = np.random.default_rng(3)
    words = chance.integers(97, 123, size=(tokens, 9), dtype=np.uint8)
    return train([b" ".join(word.tobytes() for word in words).decode()], tokens)
