"""Options and output that the `merganser learn` commands share."""

import json
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from merganser.cli import formatting

corpus = click.argument("corpus", required=False)
max_mb = click.option(
    "--max-mb",
    type=click.FloatRange(0, min_open=True),
    default=2.0,
    show_default=True,
    help="Maximum size of the text in MB.",
)
out = click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    default="merganser-out/learn",
    show_default=True,
    help="Folder to write figures and charts to.",
)


def check_out(folder: Path) -> None:
    """Raise, before any work, if the folder is not writable."""
    from merganser.files import check_folder

    check_folder(folder, "choose another --out")


def read(name: str | None, size: float) -> tuple[str, str]:
    """Return the name of a corpus and its text."""
    from merganser.corpus import default
    from merganser.learn import text

    name = default() if name is None else name
    return name, text.read(name, size)


def short_name(name: str) -> str:
    """Return the name of a data set without the path of its copy, or of a file without its folders."""
    return Path(name.partition("=")[0]).name or name


def save(
    folder: Path,
    name: str,
    result: dict[str, Any],
    specs: dict[str, dict[str, Any]],
    more: Mapping[str, str] | None = None,
) -> list[str]:
    """Write the figures as JSON, more texts by file name, and the charts if `merganser[plot]` is installed.

    Return the paths.
    """
    from merganser import charts
    from merganser.errors import MerganserWarning
    from merganser.files import make_folder, written_whole

    make_folder(folder, "choose another --out")
    texts = {f"{name}.json": json.dumps(result, ensure_ascii=False, indent=1), **(more or {})}
    for file_name, text in texts.items():
        with written_whole(folder / file_name) as file:
            file.write(text.encode() + b"\n")
    files = [folder / file_name for file_name in texts]
    try:
        for title, spec in specs.items():
            files += charts.save_all(spec, folder, title)
    except ImportError as error:
        warnings.warn(f"no charts were written: {error}", MerganserWarning, stacklevel=2)
    return [str(file) for file in files]


def print_files(files: list[str]) -> None:
    click.echo("\nFigures and charts:")
    for file in files:
        click.echo(formatting.with_path("  ", file))
