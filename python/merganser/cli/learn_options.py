"""What the commands of `merganser learn` share: the text, the folder, and the charts."""

import json
import warnings
from pathlib import Path
from typing import Any

import click

from merganser.cli import drawing

corpus = click.argument("corpus", required=False)
max_mb = click.option(
    "--max-mb",
    type=click.FloatRange(0, min_open=True),
    default=2.0,
    show_default=True,
    help="How much of the text to take, in millions of bytes.",
)
out = click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    default="merganser-out/learn",
    show_default=True,
    help="The folder for figures and charts.",
)


def check(folder: Path) -> None:
    """Notice before the work that the folder cannot be written to."""
    from merganser.files import check_folder

    check_folder(folder, "choose another --out")


def read(name: str | None, size: float) -> tuple[str, str]:
    """The name of a corpus and its text."""
    from merganser.corpus import default
    from merganser.learn import text

    name = default() if name is None else name
    return name, text.read(name, size)


def shown(name: str) -> str:
    """The name of a corpus, short enough for a title: without the path of a copy, or of a file."""
    return Path(name.partition("=")[0]).name or name


def save(folder: Path, name: str, result: dict[str, Any], specs: dict[str, dict[str, Any]]) -> list[str]:
    """Writes the figures as JSON, and the charts if they can be drawn; gives the paths."""
    from merganser import charts
    from merganser.errors import MerganserWarning
    from merganser.files import make_folder, written_whole

    make_folder(folder, "choose another --out")
    path = folder / f"{name}.json"
    with written_whole(path) as file:
        file.write(json.dumps(result, ensure_ascii=False, indent=1).encode() + b"\n")
    files = [path]
    try:
        for title, spec in specs.items():
            files += charts.save_all(spec, folder, title)
    except ImportError as error:
        warnings.warn(f"there are no charts: {error}", MerganserWarning, stacklevel=2)
    return [str(file) for file in files]


def tell_files(files: list[str]) -> None:
    click.echo("\nFigures and charts:")
    for file in files:
        click.echo(drawing.with_path("  ", file))
