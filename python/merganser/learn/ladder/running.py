"""Run steps in separate processes, with a time limit each, and compare their merges with the Rust core's."""

import json
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from merganser.errors import CorpusError, InternalError, SettingsError
from merganser.learn.ladder import STEPS
from merganser.learn.ladder.settings import LadderSettings
from merganser.learn.ladder.words import lines

APPROXIMATE = "approximate"
CORE = "core"


@dataclass(frozen=True)
class StepRun:
    """Measurements of one step. `differs_at` is the first merge that differs from the core's, or None."""

    step: str
    name: str
    seconds: float | None = None
    cpu_seconds: float | None = None
    peak_bytes: int | None = None
    merges: int | None = None
    differs_at: int | None = None
    timed_out: bool = False
    counters: dict[str, float] = field(default_factory=dict)

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def parse_steps(text: str) -> list[str]:
    """Parse a list of steps.

    >>> parse_steps("1-3,14,approximate")
    ['1', '2', '3', '14', 'approximate']
    """
    steps: list[str] = []
    for part in text.replace(" ", "").split(","):
        first, _, last = part.partition("-")
        if part == APPROXIMATE:
            steps.append(part)
        elif (
            first.isdecimal()
            and (last or first).isdecimal()
            and 1 <= int(first) <= int(last or first) <= len(STEPS)
        ):
            steps.extend(map(str, range(int(first), int(last or first) + 1)))
        else:
            raise SettingsError(
                f"{part!r} is not a step; write steps such as 1-{len(STEPS)}, 9,13,14 or {APPROXIMATE}"
            )
    return list(dict.fromkeys(steps))


def name_of(step: str) -> str:
    """Return the display name of a step.

    >>> name_of("14")
    '14 structure of arrays'
    """
    if step == CORE:
        return "the Rust core"
    if step == APPROXIMATE:
        return "approximate re-sort (not exact)"
    return f"{step} {STEPS[int(step)].partition('_')[2].replace('_', ' ')}"


@contextmanager
def text_file(source: Iterable[bytes], max_mb: float | None) -> Iterator[Path]:
    """Write the first `max_mb` MB of a text to a temporary file."""
    with tempfile.TemporaryDirectory(prefix="merganser-") as folder:
        path = Path(folder, "text.txt")
        with path.open("wb") as file:
            file.writelines(lines(source, LadderSettings(max_mb=max_mb)))
        if not path.stat().st_size:
            raise CorpusError("the corpus contains no text; check the path")
        yield path


def run_steps(
    steps: Iterable[str],
    path: Path,
    settings: LadderSettings,
    time_limit: float,
    on_run: Callable[[StepRun], None] = lambda run: None,
) -> list[StepRun]:
    """Run the core, then each step; call `on_run` after each."""
    expected, core = _run(CORE, path, settings, max(time_limit, 60))
    if expected is None:
        raise SettingsError(
            f"the Rust core exceeded the time limit of {time_limit:g} s; use less text or a higher limit"
        )
    on_run(core)
    runs = [core]
    for step in steps:
        _, run = _run(step, path, settings, time_limit, expected)
        on_run(run)
        runs.append(run)
    return runs


def _run(
    step: str, path: Path, settings: LadderSettings, time_limit: float, expected: list[Any] | None = None
) -> tuple[list[Any] | None, StepRun]:
    command = [sys.executable, "-m", f"{__package__}.worker", step, str(path), str(settings.vocab_size)]
    try:
        done = subprocess.run(
            command + ["--debug"] * settings.debug_logging,
            capture_output=True,
            text=True,
            timeout=time_limit,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return None, StepRun(step, name_of(step), timed_out=True)
    if done.returncode:
        last_line = done.stderr.strip().rpartition("\n")[2]
        raise InternalError(f"{name_of(step)} failed: {last_line or f'exit code {done.returncode}'}")
    result = json.loads(done.stdout)
    merges: list[Any] = result.pop("merges")
    counters = [line for line in done.stderr.splitlines() if line.startswith("{")]
    return merges, StepRun(
        step,
        name_of(step),
        **result,
        merges=len(merges),
        differs_at=None if expected is None else first_difference(merges, expected),
        counters=json.loads(counters[-1]) if counters else {},
    )


def first_difference(merges: list[Any], expected: list[Any]) -> int | None:
    """Return the index of the first difference, or None.

    >>> first_difference([1, 2, 3], [1, 2, 4])
    2
    >>> first_difference([1, 2], [1, 2])
    """
    if merges == expected:
        return None
    pairs = enumerate(zip(merges, expected, strict=False))
    return next((nth for nth, (left, right) in pairs if left != right), min(len(merges), len(expected)))
