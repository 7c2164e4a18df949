"""ffbpe by its fastest exact path: documents streamed into its native word counter, then its trainer.

`get_words_from_file` builds a Python dictionary of all words and is slower, and `add_text` does not remove
the separator. The gpt2 pattern is ffbpe's default, with a hand-written scanner. Threads are set by
RAYON_NUM_THREADS.
"""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

import ffbpe
from ffbpe.trainer import TieBreak

from benchmarks.patterns import SEPARATOR
from benchmarks.peers import Merge, Trained, documents
from benchmarks.printable import to_bytes

PACKAGE = "ffbpe"
TIES: dict[str, TieBreak] = {
    "ids": "smallest_pair_id",
    "bytes": "largest_content",
    "huggingface": "smallest_pair_id",
}


def train(path: Path, vocab_size: int, tie: str, threads: int) -> Trained:
    """Count natively, pass the counter on without a Python dictionary, and train."""
    start = time.perf_counter()
    counter = ffbpe.PreTokenizer([], SEPARATOR).word_counter()
    counter.add_source(documents(path))
    counted = time.perf_counter()
    trainer = ffbpe.BpeTrainer(
        [],
        # Byte ids decide ties: in GPT-2's order of characters they equal Hugging Face's.
        initial_alphabet="byte_level" if tie == "huggingface" else "raw",
        tie_break=TIES[tie],
    )
    trainer.add_word_counter(counter)
    trainer.train(vocab_size)
    model = trainer.validate_model()
    stages = {"split and count": counted - start, "merge": time.perf_counter() - counted}
    return Trained(lambda: saved_merges(model), stages)


def saved_merges(model: ffbpe.BpeModel) -> list[Merge]:
    """Read the merges back from the file that ffbpe saves: lines of `left right => count`."""
    with tempfile.TemporaryDirectory() as folder:
        merges = Path(folder) / "merges.txt"
        model.save_files(Path(folder) / "vocab.json", merges, format="gpt2")
        lines = merges.read_text(encoding="utf-8").split("\n")
    pairs = [line.split(" => ")[0].split(" ") for line in lines if line]
    return [(to_bytes(left), to_bytes(right)) for left, right in pairs]
