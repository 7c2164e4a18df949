"""Progress drawn on standard error, where that is a terminal; nothing elsewhere.

A stage is one line of at most 80 columns: how much is done, how fast, and how much time is left. Without a
known total, the line has the amount, the rate and the elapsed time.
"""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from merganser.engines.local import ProgressCallback

if TYPE_CHECKING:
    from rich.progress import Task

_TITLES = {
    "count": "counting",
    "merge": "merging",
    "certify": "proving",
    "encode": "encoding",
    "verify": "verifying",
    "combine": "combining",
    "pretokens": "encoding",
    "words": "encoding",
    "embed": "learning",
    "compare": "comparing",
    "measure": "measuring",
    "draw": "drawing",
    "run": "running",
}
#: What a stage counts, where that is not bytes.
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


@contextmanager
def drawn() -> Iterator[ProgressCallback | None]:
    """A callback for `count`, `train` and `encode_corpus` that draws a line for each stage."""
    if not sys.stderr.isatty():
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
    with Progress(
        TextColumn("{task.description:>9}"),
        BarColumn(bar_width=None),
        Figures(Column(no_wrap=True)),
        console=console,
        transient=True,
        expand=True,
        # Results printed meanwhile appear above the lines; piped results must not end up here.
        redirect_stdout=sys.stdout.isatty(),
    ) as lines:
        tasks: dict[str, TaskID] = {}

        def draw(stage: str, done: int, total: int) -> None:
            known = total if total >= done else 0  # an underestimate says nothing
            if stage not in tasks:
                unit = _UNITS.get(stage, "")
                tasks[stage] = lines.add_task(_TITLES.get(stage, stage), total=known or None, unit=unit)
            task = lines.tasks[tasks[stage]]
            if done < task.completed:  # the next corpus of the same stage
                lines.reset(task.id, total=known or None)
            if not known and task.total is not None:
                task.total = None
            lines.update(task.id, completed=done, total=known or None)

        yield draw


def _figures(task: "Task") -> str:
    """What is known of a stage, such as `45%  12.3 of 27.3 MB  8.1 MB/s  0:02 left`."""
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
    """How much is done, of how much, and how much in a second."""
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
    of_speed, name_of_speed = _size(int(speed))
    return f"{amount} {name}", f"{_figure(speed / of_speed)} {name_of_speed}/s"


def _size(number: int) -> tuple[int, str]:
    """The unit in which a number of bytes is shown."""
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
