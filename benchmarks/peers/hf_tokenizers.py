"""Hugging Face tokenizers: BPE with its ByteLevel pre-tokenizer, which has gpt2's pattern.

Documents are streamed from Python, because its own file reader splits at lines, which is a different corpus.
Threads are set by RAYON_NUM_THREADS.
"""

from __future__ import annotations

import json
from pathlib import Path

from tokenizers import Tokenizer, models, pre_tokenizers, trainers

from benchmarks.peers import Merge, Trained, documents
from benchmarks.printable import to_bytes

PACKAGE = "tokenizers"
TIES = {"huggingface": ""}


def train(path: Path, vocab_size: int, tie: str, threads: int) -> Trained:
    """Train with all bytes as the alphabet, no special tokens and no minimum frequency."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    trainer = trainers.BpeTrainer(
        vocab_size=vocab_size,
        min_frequency=0,
        show_progress=False,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
    )
    tokenizer.train_from_iterator(documents(path), trainer)
    return Trained(lambda: listed_merges(tokenizer))


def listed_merges(tokenizer: Tokenizer) -> list[Merge]:
    """Return the merges in its JSON."""
    merges = json.loads(tokenizer.to_str())["model"]["merges"]
    return [(to_bytes(left), to_bytes(right)) for left, right in merges]
