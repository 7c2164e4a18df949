"""The timed tasks, one function each; every task runs alone in a worker process.

A task takes JSON values, imports its modules, starts the clock, and returns a dictionary with at
least `seconds` and `peak_mb`. `processor` is the processor time of all threads and children, which other
processes hardly affect.
"""

from __future__ import annotations

import resource
import time
from collections import Counter
from collections.abc import Callable, Iterable
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.memory import peak_mb
from benchmarks.patterns import GPT2

Result = dict[str, Any]


def processor_time() -> float:
    """Return the processor time of this process, all its threads and its ended children."""
    usages = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


def train(
    *,
    peer: str,
    path: str,
    vocab_size: int,
    tie: str,
    threads: int,
    merges_to: str | None = None,
    pattern: str | None = None,
) -> Result:
    """Train one trainer on a file; the merges are written after the clock has stopped."""
    from benchmarks import equality, peers

    module = peers.load(peer)
    options = {"pattern": pattern} if pattern else {}
    before = peak_mb()
    start, processor = time.perf_counter(), processor_time()
    trained = module.train(Path(path), vocab_size, tie, threads, **options)
    seconds, processor = time.perf_counter() - start, processor_time() - processor
    peak = peak_mb()
    merges = trained.merges()
    if merges_to:
        equality.write(merges, Path(merges_to))
    return {
        "seconds": seconds,
        "processor": processor,
        "peak_mb": peak,
        "imported_mb": before,
        "stages": trained.stages,
        "merges": len(merges),
    }


def count(path: str, pattern: str, threads: int) -> Result:
    """Split and count with merganser."""
    import merganser

    start, processor = time.perf_counter(), processor_time()
    counts = merganser.count(path, pattern=pattern, engine=merganser.Local(threads=threads))
    seconds, processor = time.perf_counter() - start, processor_time() - processor
    return {"seconds": seconds, "processor": processor, "peak_mb": peak_mb(), "unique": len(counts)}


def split_only(path: str, pattern: str, threads: int) -> Result:
    """Split a file as one document on one thread, and discard the pre-tokens."""
    from merganser import _core

    text = Path(path).read_bytes().decode()  # line endings are preserved
    _core.split_length(text, "whitespace")  # Python caches the UTF-8 here, before the clock starts
    start, processor = time.perf_counter(), processor_time()
    pretokens = _core.split_length(text, pattern)
    seconds, processor = time.perf_counter() - start, processor_time() - processor
    return {"seconds": seconds, "processor": processor, "peak_mb": peak_mb(), "pretokens": pretokens}


def stages(path: str, pattern: str, vocab_size: int, threads: int) -> Result:
    """Run merganser in two timed stages: file → Counts, Counts → Tokenizer."""
    import merganser

    engine = merganser.Local(threads=threads)
    start = time.perf_counter()
    counts = merganser.count(path, pattern=pattern, engine=engine)
    counted = time.perf_counter()
    merganser.train(counts, vocab_size, engine=engine)
    end = time.perf_counter()
    return {
        "seconds": end - start,
        "peak_mb": peak_mb(),
        "stages": {"split and count": counted - start, "merge": end - counted},
    }


def train_counts(path: str, vocab_size: int, threads: int) -> Result:
    """Train from a `.counts` file; loading is timed separately."""
    import merganser

    start = time.perf_counter()
    counts = merganser.Counts.load(path)
    loaded = time.perf_counter()
    tokenizer = merganser.train(counts, vocab_size, engine=merganser.Local(threads=threads))
    end = time.perf_counter()
    return {
        "seconds": end - start,
        "peak_mb": peak_mb(),
        "stages": {"load": loaded - start, "merge": end - loaded},
        "unique": len(counts),
        "merges": len(tokenizer.merges),
    }


def python_split(path: str, threads: int) -> Result:
    """Run the first step: split with the `regex` module, count with `Counter`."""
    import regex

    return _count_in_processes(path, threads, regex.compile(GPT2).findall)


def rust_split_python_count(path: str, threads: int) -> Result:
    """Run the second step: split with merganser, count in Python."""
    import merganser

    return _count_in_processes(path, threads, partial(merganser.split, pattern="gpt2"))


def _count_in_processes(path: str, threads: int, split: Callable[[str], Iterable[Any]]) -> Result:
    """Count the pre-tokens of a file in Python, in processes if `threads` > 1, because of the GIL.

    Splitting and counting are timed separately, in processor seconds; with several processes, they are sums.
    """
    from benchmarks.peers import documents

    start, processor = time.perf_counter(), processor_time()
    if threads == 1:
        total, splitting, counting = _count_batch(split, documents(Path(path)))
    else:
        total, splitting, counting = Counter(), 0.0, 0.0
        with ProcessPoolExecutor(threads) as pool:
            for part in pool.map(partial(_count_batch, split), _batches(path)):
                total.update(part[0])
                splitting, counting = splitting + part[1], counting + part[2]
    seconds, processor = time.perf_counter() - start, processor_time() - processor
    stages = {"split": splitting, "count": counting}
    return {
        "seconds": seconds,
        "processor": processor,
        "peak_mb": peak_mb(),
        "stages": stages,
        "unique": len(total),
    }


def _batches(path: str, size: int = 500_000) -> Iterable[list[str]]:
    """Yield batches of documents of about half a million characters."""
    from benchmarks.peers import documents

    batch: list[str] = []
    characters = 0
    for text in documents(Path(path)):
        batch.append(text)
        characters += len(text)
        if characters >= size:
            yield batch
            batch, characters = [], 0
    yield batch


def _count_batch(
    split: Callable[[str], Iterable[Any]], texts: Iterable[str]
) -> tuple[Counter[Any], float, float]:
    """Return the counts, the seconds of splitting and the seconds of counting."""
    counter: Counter[Any] = Counter()
    splitting = counting = 0.0
    for text in texts:
        start = time.process_time()
        pretokens = split(text)
        between = time.process_time()
        counter.update(pretokens)
        splitting += between - start
        counting += time.process_time() - between
    return counter, splitting, counting


TASKS: dict[str, Callable[..., Result]] = {
    "train": train,
    "count": count,
    "split_only": split_only,
    "stages": stages,
    "train_counts": train_counts,
    "python_split": python_split,
    "rust_split_python_count": rust_split_python_count,
}
