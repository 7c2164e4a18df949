"""rustbpe: documents are streamed from Python; it splits with fancy-regex and breaks ties by ids.

Threads are set by RAYON_NUM_THREADS. It lists only tokens; the merges are derived from them.
"""

from __future__ import annotations

from pathlib import Path

import rustbpe

from benchmarks.patterns import GPT2
from benchmarks.peers import Trained, documents, merges_from_tokens

PACKAGE = "rustbpe"
TIES = {"ids": ""}


def train(path: Path, vocab_size: int, tie: str, threads: int) -> Trained:
    """Stream the documents into `train_from_iterator`."""
    tokenizer = rustbpe.Tokenizer()
    tokenizer.train_from_iterator(documents(path), vocab_size, pattern=GPT2)
    return Trained(lambda: merges_from_tokens([bytes(t) for t, _ in tokenizer.get_mergeable_ranks()]))
