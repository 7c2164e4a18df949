"""Options that several commands share, so that they mean and say the same everywhere."""

import re
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from types import EllipsisType
from typing import TYPE_CHECKING, Any

import click

from merganser import preset_names
from merganser.cli.naming import TOKENIZER
from merganser.corpus.addresses import Address

if TYPE_CHECKING:
    from merganser import Local, Ray
    from merganser.corpus.split_settings import Separator

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]

corpus = click.argument("corpus", nargs=-1, required=True, type=Address)
tokenizer = click.argument("tokenizer", type=TOKENIZER)
as_json = click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
threads = click.option("--threads", type=click.IntRange(1), help="How many threads; all cores if not given.")
out_folder = click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    default="merganser-out",
    show_default=True,
    help="The folder for the tokenizer.",
)
force = click.option("--force", is_flag=True, help="Replace the result of an earlier run.")


def keep_unless_forced(result: Path, force: bool) -> None:
    """Refuse, before the work starts, to replace what may have taken long."""
    from merganser.errors import WriteError

    if result.exists() and not force:
        raise WriteError(f"{result} already exists; pass --force to replace it, or choose another --out")


pattern = click.option(
    "--pattern",
    metavar="PRESET|REGEX",
    help=f"How text is split: {', '.join(preset_names())}, or a regular expression; gpt4 if not given.",
)

#: What a corpus can be, below the options of the commands that read one.
CORPUS = """\
CORPUS is one or more of: files, folders, globs, '-' for standard input, addresses (s3://…, gs://…, hf://…,
https://…), or data sets by name: frankenstein, wikitext2, python-stdlib. The name of a file decides how it is
read:

\b
  .jsonl, .ndjson, .json    JSON: objects with the key 'text', or strings
  .csv, .tsv, .parquet      tables: the column 'text'
  .counts, .counts.tsv      counts, for train and count
  all others                text; <|endoftext|> separates documents

All but .parquet and counts may be compressed: .gz, .zst, .xz, .bz2.
"""


#: How people shorten numbers of tokens.
_UNITS = {"": 1, "k": 10**3, "m": 10**6, "b": 10**9}
#: A fraction needs a unit: 1.5M, but not 1.5.
_WRITTEN = re.compile(r"(-?\d+(?:_\d+)*|\d{1,3}(?:,\d{3})+|\d+\.\d{1,3}(?=[kmb]))([kmb]?)")


class TokenCount(click.IntRange):
    """A number of tokens, also as people write it: 32000, 32_000, 32,000, 32k or 1M."""

    name = "tokens"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if isinstance(value, int):
            return super().convert(value, param, ctx)
        written = _WRITTEN.fullmatch(str(value).strip().lower())
        if written is None:
            self.fail(f"{value!r} is not a number of tokens; write 32000, or 32k or 1M for short", param, ctx)
        number = Decimal(re.sub("[_,]", "", written[1])) * _UNITS[written[2]]
        return super().convert(int(number), param, ctx)


class Spreading(click.Command):
    """`--on a b c` as `--on a --on b --on c`, so that the shell may expand a glob there."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        spread: list[str] = []
        of_corpus = False
        for nth, argument in enumerate(args):
            if argument.startswith("-") and argument != "-":
                of_corpus = argument == "--on"  # any other option ends the list
            elif of_corpus and args[nth - 1] != "--on":
                spread.append("--on")
            spread.append(argument)
        return super().parse_args(ctx, spread)


def working(function: Callable[..., Any]) -> Callable[..., Any]:
    """The options that decide where and within which limits the work is done."""
    for option in (
        click.option(
            "--checkpoint-every",
            type=click.FloatRange(0, min_open=True),
            default=60,
            show_default=True,
            metavar="SECONDS",
            help="How much work may be lost when it is interrupted.",
        ),
        click.option(
            "--resume/--no-resume",
            default=True,
            show_default=True,
            help="Go on from what an interrupted run of the same job has left, or start afresh.",
        ),
        click.option(
            "--work-dir",
            type=click.Path(path_type=Path, file_okay=False),
            help="The folder for what does not fit in memory and what can be resumed; removed on success.",
        ),
        click.option(
            "--memory",
            metavar="SIZE",
            help="What the work may take, such as 2GB or 512MiB; 60% of what is free if not given.",
        ),
        threads,
    ):
        function = option(function)
    return function


def files(function: Callable[..., Any]) -> Callable[..., Any]:
    """The options that decide how files are read: the names of `merganser.ReadOptions`."""
    for option in (
        click.option(
            "--allow-binary",
            is_flag=True,
            help="Read files that are not text, instead of refusing those named and skipping those found.",
        ),
        click.option(
            "--max-window",
            default="128MiB",
            show_default=True,
            help="How much memory decompressing one file may take.",
        ),
        click.option(
            "--max-size", default="1TB", show_default=True, help="How large a compressed file may become."
        ),
        click.option(
            "--max-ratio",
            type=click.IntRange(1),
            default=1000,
            show_default=True,
            help="How many times its size a compressed file may grow to.",
        ),
        click.option(
            "--on-error",
            type=click.Choice(["stop", "skip"]),
            default="stop",
            show_default=True,
            help="What to do about records and files that cannot be read.",
        ),
        click.option(
            "--text-key",
            default="text",
            show_default=True,
            help="The key of JSON objects, or the column, that holds the text.",
        ),
    ):
        function = option(function)
    return function


def cluster(function: Callable[..., Any]) -> Callable[..., Any]:
    """The options that move counting to a Ray cluster."""
    for option in (
        click.option(
            "--storage",
            metavar="FOLDER|ADDRESS",
            help="With --ray: a folder or an address such as s3://bucket/folder that all nodes share, for "
            "what can be resumed; --work-dir if not given. Emptied on success.",
        ),
        click.option(
            "--ray",
            metavar="ADDRESS|local",
            help="Count on the Ray cluster at this address ('auto': the one of this machine), or on one that "
            "is started here; --memory is then that of a task, 1GB if not given.",
        ),
    ):
        function = option(function)
    return function


#: What `files` adds.
FILE_OPTIONS = ("text_key", "on_error", "max_ratio", "max_size", "max_window", "allow_binary")


def engine(local: "Local", ray: str | None, storage: str | None) -> "Local | Ray":
    """This machine, or a cluster."""
    from merganser import Ray

    if ray is None:
        if storage is not None:
            raise click.UsageError("--storage goes with --ray")
        return local
    return Ray(
        ray,
        storage or local.work_dir,
        memory=local.memory or "1GB",
        resume=local.resume,
        keep_work=local.keep_work,
        local=local,
    )


def reading(function: Callable[..., Any]) -> Callable[..., Any]:
    """The options that decide which pre-tokens a corpus has."""
    for option in (
        click.option(
            "--separator",
            help="What stands between documents, or 'none'; <|endoftext|> if not given.",
        ),
        click.option(
            "--special", multiple=True, metavar="TOKEN", help="A special token; may be given several times."
        ),
        pattern,
    ):
        function = option(function)
    return function


def reading_settings(pattern: str | None, special: tuple[str, ...], separator: str | None) -> dict[str, Any]:
    """The same as arguments of `count` and `train`, which tell "not given" from "none"."""
    return {
        "pattern": pattern,
        "special_tokens": special or None,
        "separator": separator_setting(separator),
    }


def separator_setting(separator: str | None) -> "Separator":
    kept: str | EllipsisType | None = ... if separator is None else separator
    return None if kept == "none" else kept
