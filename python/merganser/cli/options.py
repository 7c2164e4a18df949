"""Options that several commands share, so that they mean and say the same everywhere."""

from collections.abc import Callable
from pathlib import Path
from types import EllipsisType
from typing import Any

import click

from merganser.addresses import Address

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]

corpus = click.argument("corpus", nargs=-1, required=True, type=Address)
tokenizer = click.argument("tokenizer", type=click.Path(path_type=Path))
as_json = click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
threads = click.option("--threads", type=click.IntRange(1), help="How many threads; all cores if not given.")
out_folder = click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    default="merganser-out",
    show_default=True,
    help="The folder for the tokenizer.",
)


def reading(function: Callable[..., Any]) -> Callable[..., Any]:
    """The options that decide which pieces a corpus has."""
    for option in (
        click.option(
            "--separator",
            help="What stands between documents, or 'none'; <|endoftext|> if not given.",
        ),
        click.option(
            "--special", multiple=True, metavar="TOKEN", help="A special token; may be given several times."
        ),
        click.option(
            "--pattern", help="How text is split: a preset or a regular expression; gpt4 if not given."
        ),
    ):
        function = option(function)
    return function


def reading_settings(pattern: str | None, special: tuple[str, ...], separator: str | None) -> dict[str, Any]:
    """The same as arguments of `count` and `train`, which tell "not given" from "none"."""
    kept: str | EllipsisType | None = ... if separator is None else separator
    return {
        "pattern": pattern,
        "special_tokens": special or None,
        "separator": None if kept == "none" else kept,
    }
