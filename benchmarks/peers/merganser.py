"""merganser itself, through its public API."""

from __future__ import annotations

from pathlib import Path

import merganser

from benchmarks.patterns import SEPARATOR
from benchmarks.peers import Trained

PACKAGE = "merganser"
TIES = {"ids": "ids", "huggingface": "huggingface", "bytes": "bytes"}


def train(path: Path, vocab_size: int, tie: str, threads: int, pattern: str = "gpt2") -> Trained:
    """Run `merganser.train` on the file, with the default separator."""
    assert SEPARATOR == "<|endoftext|>"
    tokenizer = merganser.train(
        path,
        vocab_size,
        pattern=pattern,
        tie_break=TIES[tie],
        engine=merganser.Local(threads=threads),
    )
    return Trained(lambda: list(tokenizer.merges))
