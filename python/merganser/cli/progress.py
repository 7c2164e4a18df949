"""Progress drawn on standard error, where that is a terminal; nothing elsewhere."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from merganser.engines.local import ProgressCallback

_TITLES = {
    "count": "counting",
    "merge": "merging",
    "certify": "proving",
    "encode": "encoding",
    "verify": "verifying",
    "words": "encoding",
}
#: What a stage counts, where that is not bytes.
_UNITS = {"merge": "merges", "words": "words"}


@contextmanager
def drawn() -> Iterator[ProgressCallback | None]:
    """A callback for `count`, `train` and `encode_corpus` that draws a bar for each stage."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

    columns = (
        TextColumn("{task.description:>8}"),
        BarColumn(),
        TextColumn("{task.fields[amount]}"),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bars:
        tasks: dict[str, TaskID] = {}

        def draw(stage: str, done: int, total: int) -> None:
            unit = _UNITS.get(stage)
            amount = f"{done:,} {unit}" if unit else f"{done / 1e6:,.0f} MB"
            if stage not in tasks:
                tasks[stage] = bars.add_task(_TITLES.get(stage, stage), amount=amount)
            bars.update(tasks[stage], completed=done, total=total or None, amount=amount)

        yield draw
