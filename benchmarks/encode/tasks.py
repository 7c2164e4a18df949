"""The timed tasks, one function each; every task runs alone in a worker process.

The peer is imported and loaded before the clock starts. A str caches its UTF-8 on first use, so every text is
decoded again, and only `repeat` gets the same objects twice. The garbage collector is off, as in `timeit`;
results are dropped between two measurements.
"""

from __future__ import annotations

import gc
import hashlib
import tempfile
import time
from collections import deque
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.encode import peers, texts
from benchmarks.encode.peers import Encoder, Flat, Refused, joined
from benchmarks.memory import peak_mb
from benchmarks.peers import documents

Result = dict[str, Any]


class Clock:
    """Measures wall time and CPU time, one call at a time: {name: seconds}, and the number of busy cores."""

    def __init__(self) -> None:
        gc.disable()
        self.seconds: dict[str, float] = {}
        self.wall = self.processor = 0.0

    def time(self, name: str, call: Callable[[], Any], repeat: int = 1) -> None:
        """Time a call `repeat` times and keep the best time under this name."""
        for _ in range(repeat):
            processor, wall = time.process_time(), time.perf_counter()
            result = call()
            wall, processor = time.perf_counter() - wall, time.process_time() - processor
            del result
            self.seconds[name] = min(wall, self.seconds.get(name, wall))
            self.wall += wall
            self.processor += processor

    def result(self, **further: Any) -> Result:
        """Return the result of the worker."""
        return {
            "seconds": sum(self.seconds.values()),
            "peak_mb": peak_mb(),
            "stages": self.seconds,
            "cores": self.processor / self.wall if self.wall else None,
            **further,
        }


def prove(peer: str, pattern: str, paths: list[str], modes: list[str], threads: int, ids_to: str) -> Result:
    """Encode, untimed, in every mode that the peer has; write the ids of each mode to a file."""
    try:
        encoder = peers.load(peer, pattern, threads)
    except Refused as refusal:
        return {"seconds": None, "peak_mb": peak_mb(), "refused": str(refusal)}
    made = []
    for mode in modes:
        if (call := flat_of(encoder, mode)) is not None:
            ids, offsets = call([text for path in paths for text in documents(Path(path))])
            np.savez(f"{ids_to}-{mode}.npz", ids=ids, offsets=offsets.astype(np.int64))
            made.append(mode)
    return {"seconds": None, "peak_mb": peak_mb(), "modes": made}


def flat_of(encoder: Encoder, mode: str) -> Callable[[list[str]], Flat] | None:
    """Return a function that encodes in this mode and returns a flat result, for comparison."""
    if mode == "flat":
        return encoder.to_flat
    if mode == "lists":
        return lambda batch: joined(np.array(row, np.uint32) for row in encoder.to_lists(batch))
    one = getattr(encoder, mode)
    return (lambda batch: joined(np.array(one(text), np.uint32) for text in batch)) if one else None


def batch(peer: str, pattern: str, mode: str, first: str, second: str, threads: int) -> Result:
    """Time the first half (cold), the second half (held-out), and the second half again (repeat)."""
    encoder = peers.load(peer, pattern, threads)
    call = encoder.to_flat if mode == "flat" else encoder.to_lists
    assert call is not None
    before, after = list(documents(Path(first))), list(documents(Path(second)))
    clock = Clock()
    clock.time("cold", lambda: call(before))
    clock.time("held-out", lambda: call(after))
    clock.time("repeat", lambda: call(after))
    return clock.result()


def strings(peer: str, call: str, count: int, threads: int) -> Result:
    """Time one call on unique short strings, after a warm-up."""
    function = getattr(peers.load(peer, "gpt4", threads), call)
    clock = Clock()
    for size in texts.STRING_BYTES:
        several = texts.strings(size, max(count // size * 5, 500))
        _exhaust(function, several)
        clock.time(str(size), partial(_exhaust, function, several), repeat=5)
        clock.seconds[str(size)] /= len(several)
    return clock.result()


def _exhaust(function: Callable[[str], object], several: list[str]) -> None:
    deque(map(function, several), maxlen=0)


def decode(peer: str, ids: str, path: str, repeat: int, threads: int) -> Result:
    """Decode the ids of a text as one sequence with every decoder of the peer, after verifying it."""
    encoder = peers.load(peer, "gpt4", threads)
    whole = b"".join(text.encode() for text in documents(Path(path)))
    array = np.load(ids)["ids"]
    listed = array.tolist()
    clock = Clock()
    for mode in ("array_to_str", "list_to_str", "array_to_bytes", "list_to_bytes"):
        if (function := getattr(encoder, mode)) is None:
            continue
        given = array if mode.startswith("array") else listed
        back = function(given)
        if (back.encode() if isinstance(back, str) else back) != whole:
            raise ValueError(f"{mode}: not the text that was encoded")
        del back
        clock.time(mode, partial(function, given), repeat)
    return clock.result()


def in_memory(path: str, threads: int) -> Result:
    """Time merganser: documents in memory → flat arrays."""
    to_flat = peers.load("merganser", "gpt4", threads).to_flat
    assert to_flat is not None
    several = list(documents(Path(path)))
    clock = Clock()
    clock.time("all", lambda: to_flat(several))
    return clock.result()


def corpus_to_disk(path: str, folder: str, expected: str, threads: int) -> Result:
    """Time merganser's `encode_corpus`: file → ids on disk; the ids are verified afterwards."""
    import merganser

    from benchmarks.encode.peers.merganser import tokenizer

    peers.keep_to(threads)
    loaded = tokenizer("gpt4")
    engine = merganser.Local(threads=threads)
    clock = Clock()
    with tempfile.TemporaryDirectory(dir=folder) as target:
        out = Path(target) / "ids"
        clock.time("all", lambda: loaded.encode_corpus(Path(path), out=out, engine=engine))
        files = sorted(out.glob("*.bin"))
        ids = np.concatenate([np.fromfile(file, np.uint32) for file in files])
        check(ids, expected)
    return clock.result(note=f"{len(files)} files")


def flat_to_disk(peer: str, path: str, folder: str, expected: str, threads: int) -> Result:
    """Time a peer: the documents of a file → flat output → `numpy.tofile`; nothing without flat output."""
    encoder = peers.load(peer, "gpt4", threads)
    clock = Clock()
    if encoder.to_flat is None:
        return clock.result()
    to_flat, file_to_flat = encoder.to_flat, encoder.file_to_flat
    with tempfile.TemporaryDirectory(dir=folder) as target:
        out = Path(target) / "ids.bin"

        def whole() -> None:
            ids, _ = file_to_flat(Path(path)) if file_to_flat else to_flat(list(documents(Path(path))))
            ids.tofile(out)

        clock.time("all", whole)
        check(np.fromfile(out, np.uint32), expected)
    return clock.result()


def check(ids: np.ndarray[Any, np.dtype[np.uint32]], expected: str) -> None:
    """Check that the written ids equal those of the proof."""
    if not np.array_equal(ids, np.load(expected)["ids"]):
        raise ValueError("the ids on disk are not those of tiktoken")


def growth(kind: str, size: int, pattern: str, threads: int) -> Result:
    """Time merganser on one adversarial string; its ids must decode to the string."""
    encoder = peers.load("merganser", pattern, threads)
    to_flat, array_to_bytes = encoder.to_flat, encoder.array_to_bytes
    assert to_flat is not None
    assert array_to_bytes is not None
    text = texts.ADVERSARIAL[kind](size)
    clock = Clock()
    clock.time("all", lambda: to_flat([text]))
    if array_to_bytes(to_flat([text])[0]) != text.encode():
        raise ValueError("the ids do not decode to the text")
    return clock.result()


def million(peer: str, path: str, threads: int) -> Result:
    """A document at a time, by the plain call. The note has the number of ids, and a digest of them."""
    encoder = peers.load(peer, "gpt4", threads)
    several = list(documents(Path(path)))
    made: list[list[int]] = []
    clock = Clock()
    clock.time("all", lambda: made.extend([encoder.encode(text) for text in several]))
    result = clock.result()
    ids = np.fromiter((id for one in made for id in one), np.uint32)
    return result | {"note": [len(ids), hashlib.sha256(ids.tobytes()).hexdigest()]}


TASKS: dict[str, Callable[..., Result]] = {
    "encode_prove": prove,
    "encode_batch": batch,
    "encode_strings": strings,
    "encode_decode": decode,
    "encode_in_memory": in_memory,
    "encode_corpus_to_disk": corpus_to_disk,
    "encode_flat_to_disk": flat_to_disk,
    "encode_growth": growth,
    "encode_million": million,
}
