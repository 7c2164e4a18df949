"""Embeddings that were drawn, not trained: clouds of tokens, as many as are wanted, and always the same."""

import numpy as np
from merganser import Tokenizer, train
from merganser.embed import Embeddings


def drawn(tokenizer: Tokenizer, tokens: int, dimension: int = 24) -> Embeddings:
    """Vectors around twelve centres, tokens of a centre being alike; the first ids of the tokenizer."""
    chance = np.random.default_rng(7)
    centres = chance.normal(size=(12, dimension)) * 2.2
    vectors = centres[np.arange(tokens) % 12] + chance.normal(size=(tokens, dimension))
    counts = (1e7 / np.arange(1, tokens + 1)).astype(np.uint64)
    return Embeddings(vectors, np.arange(tokens), counts, tokenizer)


def large_tokenizer(tokens: int) -> Tokenizer:
    """One of so many tokens, learned from words that were drawn."""
    chance = np.random.default_rng(3)
    words = chance.integers(97, 123, size=(tokens, 9), dtype=np.uint8)
    return train([b" ".join(word.tobytes() for word in words).decode()], tokens)
