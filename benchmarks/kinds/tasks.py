"""The timed tasks of this folder; every task runs alone in a worker process."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.encode.peers import keep_to
from benchmarks.encode.tasks import Clock, Result
from benchmarks.kinds import libraries
from benchmarks.kinds.texts import HOSTILE
from benchmarks.memory import peak_mb
from benchmarks.peers import documents


def encode(library: str, file: str, texts: dict[str, list[str]], threads: int) -> Result:
    """Time each text: its first half (cold), its second half (held-out), and the latter again (repeat).

    The note has the digest of the ids of each half.
    """
    keep_to(threads)
    try:
        to_lists = libraries.LOADERS[library](Path(file))
    except libraries.Refused as refusal:
        return {"seconds": None, "peak_mb": peak_mb(), "refused": str(refusal)}
    clock = Clock()
    digests = {}
    for kind, paths in texts.items():
        for path, stages in zip(paths, (["cold"], ["held-out", "repeat"]), strict=True):
            several = list(documents(Path(path)))
            for stage in stages:
                clock.time(f"{kind}, {stage}", lambda several=several: to_lists(several))
            digests[f"{kind}, {stages[0]}"] = digest(to_lists(several))
    return clock.result(note=digests)


def digest(ids: list[list[int]]) -> str:
    """Return the digest of the ids of documents and of where they end."""
    sums = hashlib.sha256()
    sums.update(np.array([len(row) for row in ids], np.uint32).tobytes())
    sums.update(np.fromiter(chain.from_iterable(ids), np.uint32).tobytes())
    return sums.hexdigest()


def growth(file: str, size: int, threads: int) -> Result:
    """Time merganser on each hostile text of `size` and of 2 * `size` characters, in processor seconds."""
    keep_to(threads)
    to_lists = libraries.LOADERS["merganser"](Path(file))
    stages = {}
    for name, text in HOSTILE.items():
        for count in (size, 2 * size):
            batch = [text(count)]
            stages[f"{name}, {count}"] = min(
                processor_seconds(lambda batch=batch: to_lists(batch)) for _ in range(3)
            )
    return {"seconds": sum(stages.values()), "peak_mb": peak_mb(), "stages": stages}


def processor_seconds(call: Callable[[], Any]) -> float:
    start = time.process_time()
    call()
    return time.process_time() - start


def train(trainer: str, path: str, vocab_size: int, memory: str | None, threads: int) -> Result:
    """Time the training of SentencePiece's kind: file → vocabulary. The note is the digest of the pieces."""
    keep_to(threads)
    start, processor = time.perf_counter(), time.process_time()
    pieces = TRAINERS[trainer](path, vocab_size, memory, threads)
    seconds, processor = time.perf_counter() - start, time.process_time() - processor
    return {
        "seconds": seconds,
        "processor": processor,
        "peak_mb": peak_mb(),
        "note": [len(pieces), hashlib.sha256("\n".join(pieces).encode()).hexdigest()],
    }


def _train_merganser(path: str, vocab_size: int, memory: str | None, threads: int) -> list[str]:
    import merganser

    engine = merganser.Local(threads=threads, memory=memory)
    tokenizer = merganser.train(Path(path), vocab_size, unit="characters", separator=None, engine=engine)
    tokens = sorted(tokenizer.vocab.items(), key=lambda entry: entry[1])
    # The first decodes to the text that stands for unknown characters; sentencepiece lists its name.
    return ["<unk>", *(token.decode(errors="replace").replace(" ", "▁") for token, _ in tokens[1:])]


def _train_sentencepiece(path: str, vocab_size: int, memory: str | None, threads: int) -> list[str]:
    import io

    import sentencepiece

    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        input=path,
        model_writer=model,
        model_type="bpe",
        vocab_size=vocab_size,
        character_coverage=1.0,
        normalization_rule_name="identity",
        max_sentence_length=1 << 30,
        num_threads=threads,
        minloglevel=2,
    )
    processor = sentencepiece.SentencePieceProcessor(model_proto=model.getvalue())
    return [processor.id_to_piece(id) for id in range(processor.vocab_size())]


TRAINERS = {"merganser": _train_merganser, "sentencepiece": _train_sentencepiece}

TASKS: dict[str, Callable[..., Result]] = {
    "kinds_encode": encode,
    "kinds_growth": growth,
    "kinds_train": train,
}
