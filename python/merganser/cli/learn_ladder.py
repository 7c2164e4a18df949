"""merganser learn ladder"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from merganser.cli import drawing, learn_options, options, progress

if TYPE_CHECKING:
    from merganser.learn.ladder.running import Run
    from merganser.learn.ladder.settings import Settings


@click.command()
@click.argument("corpus", default="python-stdlib")
@click.option("--steps", default="1-14", show_default=True, help="Which: 1-8, 9,13,14; also 'approximate'.")
@click.option(
    "--vocab-size",
    type=options.TokenCount(1),
    default=512,
    show_default=True,
    help="The 256 bytes and the merges.",
)
@click.option(
    "--max-mb", type=float, default=0.5, show_default=True, help="How much of the text is read, in MB."
)
@click.option("--debug-logging", is_flag=True, help="Print the counters of each step, which show why.")
@click.option("--time-limit", type=float, default=300, show_default=True, help="Seconds for each step.")
@click.option(
    "--sweep", is_flag=True, help="Also an eighth, a quarter and half of the text, and of the merges."
)
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    default="merganser-ladder",
    show_default=True,
    help="The folder for ladder.json and the charts.",
)
@options.as_json
def ladder(
    corpus: str,
    steps: str,
    vocab_size: int,
    max_mb: float,
    debug_logging: bool,
    time_limit: float,
    sweep: bool,
    out: Path,
    as_json: bool,
) -> None:
    """Run the fourteen trainers, check that their merges are equal, and show time and memory.

    Each step runs in a process of its own. CORPUS is plain text: files, a folder, a glob, or a name such as
    frankenstein. Charts need merganser[plot]; without it there are only figures.

    Example: merganser learn ladder --steps 5-14
    """
    from merganser.errors import InternalError
    from merganser.learn.ladder.running import APPROXIMATE, parse_steps, text_file
    from merganser.learn.ladder.settings import Settings
    from merganser.learn.text import plain_lines

    chosen = parse_steps(steps)
    settings = Settings(vocab_size, debug_logging=debug_logging)
    learn_options.check(out)
    result: dict[str, Any] = {"corpus": corpus, "vocab_size": vocab_size, "max_mb": max_mb, "sweep": []}
    with text_file(plain_lines(corpus), max_mb) as path:
        size = result["bytes"] = path.stat().st_size
        if not as_json:
            click.echo(f"{corpus}: {size / 1e6:.2f} MB, {vocab_size:,} tokens\n")
            click.echo(f"{'':32}{'seconds':>9}{'processor':>11}{'memory':>10}{'merges':>9}{'speed-up':>10}")
        runs = _run(chosen, path, settings, time_limit, as_json)
    checked = list(runs)
    for part in (1 / 8, 1 / 4, 1 / 2) if sweep else ():
        for bytes_, vocab in ((int(size * part), vocab_size), (size, 256 + int(settings.merges * part))):
            with text_file(plain_lines(corpus), bytes_ / 1e6) as path:
                if not as_json:
                    click.echo(f"\n{bytes_ / 1e6:.2f} MB, {vocab:,} tokens")
                smaller = _run(chosen, path, Settings(vocab), time_limit, as_json)
            point = {"bytes": bytes_, "vocab_size": vocab}
            result["sweep"] += [point | run.as_dict() for run in smaller]
            checked += smaller
    result["steps"] = [run.as_dict() for run in runs]
    written = _write(result, out)
    result["files"] = [str(path) for path in written]
    if as_json:
        drawing.as_json(result)
    else:
        click.echo()
        for path in written:
            click.echo(drawing.with_path("wrote ", path))
    wrong = [run for run in checked if run.differs_at is not None and run.step != APPROXIMATE]
    if wrong:
        names = ", ".join(f"{run.name} (merge {run.differs_at})" for run in wrong)
        raise InternalError(f"the merges differ from the core's: {names}")


def _run(steps: list[str], path: Path, settings: "Settings", limit: float, quiet: bool) -> "list[Run]":
    """Runs the core and then the steps, with a row for each as it ends, and the progress below the rows."""
    from merganser.learn.ladder.running import run_steps

    row = _rows()
    with progress.drawn() as draw:
        ended = 0

        def listen(run: "Run") -> None:
            nonlocal ended
            ended += 1
            if not quiet:
                row(run)
            if draw:
                draw("run", ended, len(steps) + 1)

        if draw:
            draw("run", 0, len(steps) + 1)
        return run_steps(steps, path, settings, limit, listen)


def _rows() -> "Callable[[Run], None]":
    """Prints runs as they come; the speed-up is over the first step, in time of the processor."""
    first: float | None = None

    def row(run: "Run") -> None:
        nonlocal first
        if run.cpu_seconds is None:
            click.echo(f"{run.name:32}   did not finish in time")
            return
        if run.step != "core":
            first = first or run.cpu_seconds
        times = f"{first / run.cpu_seconds:9.1f}×" if first else ""
        verdict = "" if run.differs_at is None else f"  DIFFERS from merge {run.differs_at} on"
        click.echo(
            f"{run.name:32}{run.seconds:9.2f}{run.cpu_seconds:11.2f}{(run.peak_bytes or 0) / 1e6:7.0f} MB"
            f"{run.merges:9,}{times}{verdict}"
        )
        if run.counters:
            click.echo("    " + "  ".join(f"{name} {value:,}" for name, value in run.counters.items()))

    return row


def _write(result: dict[str, Any], out: Path) -> list[Path]:
    from merganser.files import make_folder, written_whole
    from merganser.learn.ladder import pictures

    make_folder(out, "choose another --out")
    path = out / "ladder.json"
    with written_whole(path) as file:
        file.write(json.dumps(result, indent=1).encode())
    try:
        return [path, *pictures.save(result, out)]
    except ImportError as error:
        click.echo(f"no charts: {error}", err=True)
        return [path]
