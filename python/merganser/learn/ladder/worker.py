"""One training in a separate process.

Run as `python -m merganser.learn.ladder.worker STEP FILE VOCAB_SIZE [--debug]`. STEP is a number,
"approximate", or "core" for the Rust core. Prints one line of JSON: the merges, the wall-clock and CPU time
of the call, and the peak memory of the process, interpreter included.
"""

import json
import sys
import time
import warnings
from pathlib import Path

from merganser.engines import memory
from merganser.learn.ladder import approximate, load_step
from merganser.learn.ladder.settings import LadderSettings, Merges
from merganser.learn.ladder.words import PATTERN, TIE_BREAK


def run(step: str, path: Path, settings: LadderSettings) -> Merges:
    if step == "core":
        return train_with_core(path, settings)
    train = approximate.train if step == "approximate" else load_step(int(step))
    with path.open("rb") as file:
        return train(file, settings)


def train_with_core(path: Path, settings: LadderSettings) -> Merges:
    from merganser.engines.local import Local
    from merganser.errors import MerganserWarning
    from merganser.training import train as train_core

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MerganserWarning)  # pairs may run out, as in the steps
        tokenizer = train_core(
            path,
            settings.vocab_size,
            pattern=PATTERN,
            tie_break=TIE_BREAK,
            separator=None,
            engine=Local(threads=1),
        )
    return tokenizer.merges


def main(arguments: list[str]) -> None:
    step, path, vocab_size, *debug = arguments
    settings = LadderSettings(int(vocab_size), debug_logging=bool(debug))
    if step == "core":
        import merganser.training  # noqa: F401  # import first, so that it is not timed
    wall_start, cpu_start = time.perf_counter(), time.process_time()
    merges = run(step, Path(path), settings)
    seconds, cpu_seconds = time.perf_counter() - wall_start, time.process_time() - cpu_start
    result = {
        "seconds": seconds,
        "cpu_seconds": cpu_seconds,
        "peak_bytes": memory.peak(),
        "merges": [[left.hex(), right.hex()] for left, right in merges],
    }
    print(json.dumps(result))


if __name__ == "__main__":
    main(sys.argv[1:])
