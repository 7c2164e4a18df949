"""merganser learn ladder"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from merganser.cli import formatting, learn_options, options, progress
from merganser.cli.verbosity import add_verbosity

if TYPE_CHECKING:
    from merganser.learn.ladder.running import StepRun
    from merganser.learn.ladder.settings import LadderSettings


@click.command()
@click.argument("corpus", default="python-stdlib")
@click.option(
    "--steps",
    default="1-14",
    show_default=True,
    help="Steps to run, such as 1-8 or 9,13,14; also 'approximate', which is not exact.",
)
@click.option(
    "--vocab-size",
    type=options.TokenCount(1),
    default=512,
    show_default=True,
    help="Vocabulary size: 256 bytes and the merges.",
)
@click.option("--max-mb", type=float, default=0.5, show_default=True, help="Maximum size of the text in MB.")
@click.option("--debug-logging", is_flag=True, help="Print the counters of each step.")
@click.option(
    "--time-limit", type=float, default=300, show_default=True, help="Time limit per step in seconds."
)
@click.option("--sweep", is_flag=True, help="Also run on 1/8, 1/4 and 1/2 of the text, and of the merges.")
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    default="merganser-ladder",
    show_default=True,
    help="Folder to write ladder.json and the charts to.",
)
@add_verbosity
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

    Each step runs in a separate process. CORPUS is plain text: files, a folder, a glob, or a data set such as
    frankenstein. Charts need merganser[plot].

    Example: merganser learn ladder --steps 5-14
    """
    from merganser.errors import InternalError
    from merganser.learn.ladder.running import APPROXIMATE, parse_steps, text_file
    from merganser.learn.ladder.settings import LadderSettings
    from merganser.learn.text import plain_lines

    chosen = parse_steps(steps)
    settings = LadderSettings(vocab_size, debug_logging=debug_logging)
    learn_options.check_out(out)
    result: dict[str, Any] = {"corpus": corpus, "vocab_size": vocab_size, "max_mb": max_mb, "sweep": []}
    with text_file(plain_lines(corpus), max_mb) as path:
        size = result["bytes"] = path.stat().st_size
        if not as_json:
            click.echo(f"{corpus}: {size / 1e6:.2f} MB, {vocab_size:,} tokens\n")
            click.echo(f"{'':32}{'seconds':>9}{'CPU':>11}{'memory':>10}{'merges':>9}{'speedup':>10}")
        runs = _run(chosen, path, settings, time_limit, as_json)
    all_runs = list(runs)
    for part in (1 / 8, 1 / 4, 1 / 2) if sweep else ():
        for bytes_, vocab in ((int(size * part), vocab_size), (size, 256 + int(settings.merges * part))):
            with text_file(plain_lines(corpus), bytes_ / 1e6) as path:
                if not as_json:
                    click.echo(f"\n{bytes_ / 1e6:.2f} MB, {vocab:,} tokens")
                smaller = _run(chosen, path, LadderSettings(vocab), time_limit, as_json)
            point = {"bytes": bytes_, "vocab_size": vocab}
            result["sweep"] += [point | run.as_dict() for run in smaller]
            all_runs += smaller
    result["steps"] = [run.as_dict() for run in runs]
    written = _write(result, out)
    result["files"] = [str(path) for path in written]
    if as_json:
        formatting.print_json(result)
    else:
        click.echo()
        for path in written:
            click.echo(formatting.with_path("wrote ", path))
    wrong = [run for run in all_runs if run.differs_at is not None and run.step != APPROXIMATE]
    if wrong:
        names = ", ".join(f"{run.name} (merge {run.differs_at})" for run in wrong)
        raise InternalError(f"merges differ from those of the Rust core: {names}; please report this")


def _run(
    steps: list[str], path: Path, settings: "LadderSettings", limit: float, quiet: bool
) -> "list[StepRun]":
    """Run the core and then the steps, printing a row as each finishes, above the progress bar."""
    from merganser.learn.ladder.running import run_steps

    print_row = _row_printer()
    with progress.bars() as draw:
        finished = 0

        def on_run(run: "StepRun") -> None:
            nonlocal finished
            finished += 1
            if not quiet:
                print_row(run)
            if draw:
                draw("run", finished, len(steps) + 1)

        if draw:
            draw("run", 0, len(steps) + 1)
        return run_steps(steps, path, settings, limit, on_run)


def _row_printer() -> "Callable[[StepRun], None]":
    """Return a function that prints a run; the speedup is in CPU time, over the first step."""
    first: float | None = None

    def print_row(run: "StepRun") -> None:
        nonlocal first
        if run.cpu_seconds is None:
            click.echo(f"{run.name:32}   exceeded the time limit")
            return
        if run.step != "core":
            first = first or run.cpu_seconds
        times = f"{first / run.cpu_seconds:9.1f}×" if first else ""
        verdict = "" if run.differs_at is None else f"  DIFFERS from merge {run.differs_at}"
        click.echo(
            f"{run.name:32}{run.seconds:9.2f}{run.cpu_seconds:11.2f}{(run.peak_bytes or 0) / 1e6:7.0f} MB"
            f"{run.merges:9,}{times}{verdict}"
        )
        if run.counters:
            click.echo("    " + "  ".join(f"{name} {value:,}" for name, value in run.counters.items()))

    return print_row


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
        click.echo(f"no charts were written: {error}", err=True)
        return [path]
