"""One proof or measurement of one library, in a process of its own.

Run as `python -m merganser.benchmark.worker LIBRARY TASK FOLDER THREADS`. TASK is "prove", which encodes all
texts in every mode and writes the ids to FOLDER, or the mode to time: "lists" or "arrays". The last line of
standard output is JSON: the modes that were proven, the seconds of a timed mode, or the reason why the
library cannot do it.
"""

import gc
import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from merganser.benchmark.libraries import MODES, TOKENIZER, Encoder, Flat, joined, load
from merganser.benchmark.texts import MEASURED, WARM_UP
from merganser.errors import MerganserError
from merganser.formats import native


def main(library: str, task: str, folder: Path, threads: int) -> dict[str, Any]:
    use_cores(threads)
    tokenizer = native.parse((folder / TOKENIZER).read_bytes())
    try:
        encoder = load(library, tokenizer, folder, threads)
    except BaseException as error:
        return {"unsupported": _reason(error)}
    try:
        return prove(library, encoder, folder) if task == "prove" else clock(encoder, task, folder)
    except BaseException as error:
        return {"failed": _reason(error)}


def use_cores(threads: int) -> None:
    """Limit this process to `threads` cores: a library may start more threads than it was asked to."""
    if hasattr(os, "sched_setaffinity"):  # Linux
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[-threads:])


def prove(library: str, encoder: Encoder, folder: Path) -> dict[str, Any]:
    """Write the ids of all texts for each mode."""
    texts = read(folder, WARM_UP) + read(folder, MEASURED)
    proven = []
    for mode in MODES:
        if (encode := flat(encoder, mode)) is not None:
            ids, offsets = encode(texts)
            np.savez(folder / f"{library}-{mode}.npz", ids=ids, offsets=np.asarray(offsets, np.int64))
            proven.append(mode)
    return {"modes": proven}


def flat(encoder: Encoder, mode: str) -> Callable[[list[str]], Flat] | None:
    """Return a function that encodes in this mode and returns arrays, to compare them."""
    if mode == "lists":
        return lambda texts: joined(np.array(ids, np.uint32) for ids in encoder.lists(texts))
    return encoder.arrays


def clock(encoder: Encoder, mode: str, folder: Path) -> dict[str, Any]:
    """Warm up, then time texts that the library has not seen, and the same texts again."""
    encode: Callable[[list[str]], object] | None = getattr(encoder, mode)
    assert encode is not None
    encode(read(folder, WARM_UP))
    texts = read(folder, MEASURED)
    gc.disable()  # as in timeit
    seconds = []
    for _ in range(2):
        start = time.perf_counter()
        result = encode(texts)
        seconds.append(time.perf_counter() - start)
        del result
    return {"new": seconds[0], "seen": seconds[1]}


def read(folder: Path, name: str) -> list[str]:
    texts: list[str] = json.loads((folder / name).read_bytes())
    return texts


def _reason(error: BaseException) -> str:
    # A panic in another library's Rust code is raised as a BaseException.
    if not isinstance(error, Exception) and type(error).__name__ != "PanicException":
        raise error
    message = " ".join(str(error).split())
    return message if isinstance(error, MerganserError) else f"{type(error).__name__}: {message}"


if __name__ == "__main__":
    answer = main(sys.argv[1], sys.argv[2], Path(sys.argv[3]), int(sys.argv[4]))
    print("\n" + json.dumps(answer))
