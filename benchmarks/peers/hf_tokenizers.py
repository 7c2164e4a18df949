"""Hugging Face tokenizers: BPE over its ByteLevel pre-tokenizer, whose pattern is gpt2's.

Fed with documents from Python: its own file reader cuts at lines, which is another corpus.
Threads by RAYON_NUM_THREADS.
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
    """The whole byte alphabet, no special tokens, no frequency floor."""
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
    """The merges as they stand in its JSON."""
    merges = json.loads(tokenizer.to_str())["model"]["merges"]
    return [(to_bytes(left), to_bytes(right)) for left, right in merges]
