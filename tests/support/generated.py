"""Embeddings that are drawn at random instead of trained: clusters of any number of tokens, reproducibly."""

import numpy as np
from merganser import Tokenizer, train
from merganser.embed import Embeddings


def drawn(tokenizer: Tokenizer, tokens: int, dimension: int = 24) -> Embeddings:
    """Return vectors for the first ids of a tokenizer, drawn around twelve cluster centers."""
    chance = np.random.default_rng(7)
    centers = chance.normal(size=(12, dimension)) * 2.2
    vectors = centers[np.arange(tokens) % 12] + chance.normal(size=(tokens, dimension))
    counts = (1e7 / np.arange(1, tokens + 1)).astype(np.uint64)
    return Embeddings(vectors, np.arange(tokens), counts, tokenizer)


def large_tokenizer(tokens: int) -> Tokenizer:
    """Train a tokenizer with `tokens` tokens on random words."""
    chance = np.random.default_rng(3)
    words = chance.integers(97, 123, size=(tokens, 9), dtype=np.uint8)
    return train([b" ".join(word.tobytes() for word in words).decode()], tokens)
