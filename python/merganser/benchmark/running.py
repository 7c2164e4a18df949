"""Start the workers, compare the ids, and collect the speeds."""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Literal

import numpy as np

from merganser import _core
from merganser.benchmark.libraries import TOKENIZER, Flat
from merganser.benchmark.texts import MEASURED, WARM_UP, Texts
from merganser.errors import InternalError
from merganser.tokenizer import Tokenizer

OURS = "merganser"
#: A library that takes longer than this in the first round, in seconds, is not measured again.
PATIENCE = 20.0
#: The most characters of a reason that another library gives.
_LONGEST = 200

Outcome = Literal["same", "different", "unsupported", "failed", "timed out"]


@dataclass(frozen=True)
class Speed:
    """MB/s on texts that the library has not seen, and on the same texts again."""

    new: float
    seen: float


@dataclass(frozen=True)
class Result:
    """What one library did. Only one whose ids are merganser's has speeds."""

    library: str
    version: str
    outcome: Outcome = "same"
    detail: str = ""
    #: By mode: "lists" and "arrays". A library may lack one.
    speeds: Mapping[str, Speed] = field(default_factory=dict)


def installed(library: str) -> str | None:
    """Return the installed version of a library, or None.

    >>> installed("no-such-library")
    """
    try:
        return version(library)
    except PackageNotFoundError:
        return None


def measure(
    tokenizer: Tokenizer,
    texts: Texts,
    libraries: Sequence[str],
    *,
    threads: int,
    rounds: int = 3,
    time_limit: float = 120,
    progress: Callable[[int, int], object] | None = None,
) -> list[Result]:
    """Prove that libraries return the same ids, then measure their speed.

    Parameters
    ----------
    tokenizer
        The tokenizer to load into each library, without its special tokens.
    texts
        What to encode.
    libraries
        Installed libraries of `PEERS`.
    threads
        The number of threads of each library, and of cores that it may use.
    rounds
        How often to measure; the best round counts.
    time_limit
        The most seconds of one process.
    progress
        Called with the number of finished steps and of all steps.

    Returns
    -------
    list of Result
        merganser's result first, then one for each library.

    Raises
    ------
    InternalError
        If merganser itself fails.
    """
    names = [OURS, *libraries]
    results = {name: Result(name, installed(name) or _core.__version__) for name in names}
    steps = len(names) * (1 + rounds)
    with tempfile.TemporaryDirectory(prefix="merganser-") as folder:
        workers = _Workers(Path(folder), threads, time_limit)
        workers.write(tokenizer, texts)
        done = 0
        for done in _prove(results, workers, texts):
            if progress:
                progress(done, steps)
        for nth in _clock(results, workers, texts, rounds):
            if progress:
                progress(done + nth, steps)
    return list(results.values())


def _prove(results: dict[str, Result], workers: "_Workers", texts: Texts) -> Iterator[int]:
    """Compare the ids of each library with merganser's; yield the number of libraries that are done."""
    everything = texts.warm_up + texts.measured
    for nth, (name, before) in enumerate(results.items(), 1):
        answer = workers.run(name, "prove")
        result = _with_outcome(before, answer)
        for mode in answer.get("modes", ()):
            wrong = _differing(workers.ids(OURS, "lists"), workers.ids(name, mode))
            if wrong:
                result = replace(result, outcome="different", detail=_described(wrong, everything))
            else:
                result = replace(result, speeds={**result.speeds, mode: Speed(0.0, 0.0)})
        if name == OURS and result.outcome != "same":
            raise InternalError(f"merganser failed: {result.outcome}: {result.detail}; please report this")
        results[name] = result
        yield nth


def _clock(results: dict[str, Result], workers: "_Workers", texts: Texts, rounds: int) -> Iterator[int]:
    """Time the libraries in turns; yield the number of measurements that are done."""
    slow: set[str] = set()
    nth = 0
    for _ in range(rounds):
        for name in list(results):
            if name not in slow:
                results[name], seconds = _one_round(results[name], workers, texts.bytes / 1e6)
                if seconds > PATIENCE:
                    slow.add(name)
            nth += 1
            yield nth


def _one_round(result: Result, workers: "_Workers", megabytes: float) -> tuple[Result, float]:
    """Time every mode of a library once; return the result with the best speeds so far, and the seconds."""
    total = 0.0
    for mode, best in result.speeds.items() if result.outcome == "same" else ():
        answer = workers.run(result.library, mode)
        result = _with_outcome(result, answer)
        if result.outcome != "same":
            break
        new, seen = answer["new"], answer["seen"]
        speed = Speed(max(best.new, megabytes / new), max(best.seen, megabytes / seen))
        result = replace(result, speeds={**result.speeds, mode: speed})
        total += new + seen
    return result, total


def _with_outcome(result: Result, answer: dict[str, Any]) -> Result:
    """Return a result with the reason if the worker could not do its task."""
    outcomes: tuple[Outcome, ...] = ("unsupported", "failed", "timed out")
    for outcome in outcomes:
        if outcome in answer:
            return replace(result, outcome=outcome, detail=str(answer[outcome])[:_LONGEST])
    return result


def _differing(reference: Flat, other: Flat) -> list[int]:
    """Return the indices of the texts whose ids differ."""
    (ids, ends), (other_ids, other_ends) = reference, other
    if np.array_equal(ends, other_ends) and np.array_equal(ids, other_ids):
        return []
    if len(ends) != len(other_ends):
        return list(range(len(ends) - 1))
    return [
        nth
        for nth in range(len(ends) - 1)
        if not np.array_equal(
            ids[ends[nth] : ends[nth + 1]], other_ids[other_ends[nth] : other_ends[nth + 1]]
        )
    ]


def _described(wrong: list[int], texts: list[str]) -> str:
    return f"{len(wrong):,} of {len(texts):,} texts; the first begins {texts[wrong[0]][:30]!r}"


class _Workers:
    """Starts the processes; their input and output is in one folder."""

    def __init__(self, folder: Path, threads: int, time_limit: float) -> None:
        self._folder, self._threads, self._time_limit = folder, threads, time_limit

    def write(self, tokenizer: Tokenizer, texts: Texts) -> None:
        _without_special_tokens(tokenizer).save(self._folder / TOKENIZER)
        for name, half in ((WARM_UP, texts.warm_up), (MEASURED, texts.measured)):
            (self._folder / name).write_text(json.dumps(half), "utf-8")

    def run(self, library: str, task: str) -> dict[str, Any]:
        """Return the worker's answer, or why there is none."""
        arguments = [library, task, str(self._folder), str(self._threads)]
        environment = {
            **os.environ,
            "RAYON_NUM_THREADS": str(self._threads),
            "TOKENIZERS_PARALLELISM": "true" if self._threads > 1 else "false",
            "PYTHONSAFEPATH": "1",  # a file in the current folder must not take the place of a library
        }
        try:
            done = subprocess.run(
                [sys.executable, "-m", "merganser.benchmark.worker", *arguments],
                capture_output=True,
                text=True,
                encoding="utf-8",
                errors="replace",
                timeout=self._time_limit,
                env=environment,
                stdin=subprocess.DEVNULL,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return {"timed out": f"more than {self._time_limit:g} s"}
        if done.returncode:
            last_line = done.stderr.strip().rpartition("\n")[2]
            return {"failed": last_line or f"exit code {done.returncode}"}
        answer: dict[str, Any] = json.loads(done.stdout.strip().rpartition("\n")[2])
        return answer

    def ids(self, library: str, mode: str) -> Flat:
        with np.load(self._folder / f"{library}-{mode}.npz", allow_pickle=False) as file:
            return file["ids"], file["offsets"]


def _without_special_tokens(tokenizer: Tokenizer) -> Tokenizer:
    """Return a tokenizer to which all text is ordinary, because some libraries find special tokens always."""
    if tokenizer.has_stages or not tokenizer.special_tokens:
        return tokenizer
    return Tokenizer(tokenizer.mergeable_ranks, pattern=tokenizer.pattern_name or tokenizer.pattern)
