"""Progress bars on standard error, if it is a terminal and `--quiet` was not passed.

Each stage is one line of at most 80 columns: percentage, amount, rate and time left. If the total is unknown,
the line shows the amount, the rate and the elapsed time. With `--verbose`, a file or pipe gets the same
figures as a line every few seconds and at the end of a stage, for the logs of long runs.
"""

import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from time import monotonic
from typing import TYPE_CHECKING

import click

from merganser.cli.verbosity import is_quiet, is_verbose

if TYPE_CHECKING:
    from rich.progress import Task

    from merganser.engines.local import ProgressCallback

_TITLES = {
    "count": "counting",
    "merge": "merging",
    "certify": "proving",
    "encode": "encoding",
    "verify": "verifying",
    "combine": "combining",
    "pretokens": "encoding",
    "words": "encoding",
    "embed": "training",
    "compare": "comparing",
    "measure": "measuring",
    "draw": "drawing",
    "run": "running",
}
#: The unit of each stage that does not count bytes.
_UNITS = {
    "merge": "merges",
    "combine": "counts",
    "pretokens": "pre-tokens",
    "words": "words",
    "embed": "batches",
    "compare": "corpora",
    "measure": "steps",
    "draw": "charts",
    "run": "steps",
}
_WIDTH = 80
#: Seconds between two lines of a stage where no bar can be drawn.
_INTERVAL = 5.0


@contextmanager
def bars() -> "Iterator[ProgressCallback | None]":
    """Yield a progress callback that draws a line for each stage, or None if progress is not shown."""
    is_terminal = sys.stderr.isatty()
    if is_quiet() or not (is_terminal or is_verbose()):
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, ProgressColumn, TaskID, TextColumn
    from rich.table import Column
    from rich.text import Text

    class Figures(ProgressColumn):
        def render(self, task: "Task") -> Text:
            return Text(_figures(task))

    console = Console(stderr=True)
    console.width = min(console.width, _WIDTH)
    drawing = Progress(
        TextColumn("{task.description:>9}"),
        BarColumn(bar_width=None),
        Figures(Column(no_wrap=True)),
        console=console,
        transient=True,
        expand=True,
        # Results printed meanwhile appear above the bars; piped results must not end up on the terminal.
        redirect_stdout=sys.stdout.isatty(),
        disable=not is_terminal,
    )
    with drawing if is_terminal else nullcontext(drawing) as lines:
        tasks: dict[str, TaskID] = {}
        log = _Log()

        def draw(stage: str, done: int, total: int) -> None:
            known = total if total >= done else 0  # an underestimate is worse than none
            if stage not in tasks:
                unit = _UNITS.get(stage, "")
                tasks[stage] = lines.add_task(_TITLES.get(stage, stage), total=known or None, unit=unit)
            task = lines.tasks[tasks[stage]]
            if done < task.completed:  # the next corpus in the same stage
                lines.reset(task.id, total=known or None)
            if not known and task.total is not None:
                task.total = None
            lines.update(task.id, completed=done, total=known or None)
            if not is_terminal:
                log.print(stage, task)

        yield draw


class _Log:
    """Prints the figures of each stage every few seconds, and once when it is done."""

    def __init__(self) -> None:
        self._printed: dict[str, float] = {}
        self._done: set[str] = set()

    def print(self, stage: str, task: "Task") -> None:
        now = monotonic()
        if task.finished:
            if stage in self._done:
                return
            self._done.add(stage)
        else:
            self._done.discard(stage)
            if now - self._printed.setdefault(stage, now) < _INTERVAL:
                return
        self._printed[stage] = now
        click.echo(f"{task.description}: {_figures(task)}", err=True)


def _figures(task: "Task") -> str:
    """Format the figures of a stage: `45%  12.3 of 27.3 MB  8.1 MB/s  0:02 left`."""
    amount, rate = _amount(task)
    if task.total is None:
        return "  ".join(part for part in (amount, rate, _clock(task.elapsed or 0)) if part)
    if task.finished:
        time = _clock(task.finished_time or 0)
    else:
        left = task.time_remaining
        time = "" if left is None else f"{_clock(left)} left"
    return "  ".join(part for part in (f"{int(task.percentage):>3}%", amount, rate, time) if part)


def _amount(task: "Task") -> tuple[str, str]:
    """Format the amount done and the rate."""
    unit: str = task.fields["unit"]
    done, total = int(task.completed), task.total
    speed = task.finished_speed or task.speed
    if unit:
        amount = f"{done:,}" if total is None else f"{done:,} of {int(total):,}"
        return f"{amount} {unit}", f"{_figure(speed)}/s" if speed else ""
    size, name = _size(done if total is None else int(total))
    amount = _figure(done / size) if total is None else f"{_figure(done / size)} of {_figure(total / size)}"
    if not speed:
        return f"{amount} {name}", ""
    rate_size, rate_name = _size(int(speed))
    return f"{amount} {name}", f"{_figure(speed / rate_size)} {rate_name}/s"


def _size(number: int) -> tuple[int, str]:
    """Return the unit to show a number of bytes in, as a size and a name."""
    for size, name in ((10**12, "TB"), (10**9, "GB"), (10**6, "MB")):
        if number >= size:
            return size, name
    return 1000, "kB"


def _figure(number: float) -> str:
    return f"{number:,.1f}" if number < 100 else f"{number:,.0f}"


def _clock(seconds: float) -> str:
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
