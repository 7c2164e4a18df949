"""Options that several commands share, so that they behave and read the same everywhere."""

import os
import re
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from merganser import preset_names
from merganser.cli.naming import TOKENIZER, complete_path
from merganser.cli.suggestions import Choice
from merganser.corpus.addresses import Address, as_url

if TYPE_CHECKING:
    from merganser import Local, Ray
    from merganser.corpus.split_settings import Separator
    from merganser.training.training import Unit

corpus = click.argument("corpus", nargs=-1, required=True, type=Address, shell_complete=complete_path)
tokenizer = click.argument("tokenizer", type=TOKENIZER)
as_json = click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
threads = click.option("--threads", type=click.IntRange(1), help="Number of threads. Default: all cores.")
memory = click.option(
    "--memory",
    metavar="SIZE",
    help="Memory budget, such as 2GB or 512MiB. Default: 60% of the free memory.",
)
out_folder = click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    default="merganser-out",
    show_default=True,
    help="Folder to write the tokenizer to.",
)


class FolderOrUrl(click.Path):
    """A folder on this disk, or the URL of one."""

    def __init__(self) -> None:
        super().__init__(path_type=Path, file_okay=False)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        return Address(value) if as_url(os.fspath(value)) else super().convert(value, param, ctx)


force = click.option("--force", is_flag=True, help="Overwrite an existing result.")
separator = click.option("--separator", help="Text between documents, or 'none'. Default: <|endoftext|>.")


def refuse_overwrite(result: Path, force: bool) -> None:
    """Raise, before any work, if `result` exists and `--force` was not passed."""
    from merganser.errors import WriteError

    if result.exists() and not force:
        raise WriteError(f"{result} already exists; pass --force to replace it, or choose another --out")


def _complete_preset(_: click.Context, __: click.Parameter, incomplete: str) -> list[str]:
    return [name for name in preset_names() if name.startswith(incomplete)]


pattern = click.option(
    "--pattern",
    metavar="PRESET|REGEX",
    shell_complete=_complete_preset,  # a `click.Choice` would refuse regular expressions
    help=f"Split pattern: {', '.join(preset_names())}, or a regular expression. Default: gpt4.",
)

#: The formats of a corpus, printed below the options of the commands that read one.
CORPUS_HELP = """\
CORPUS is one or more files, folders, globs, URLs (s3://, gs://, hf://, https://), '-' for standard input, or
the data sets frankenstein, wikitext2 and python-stdlib. The file extension selects the format:

\b
  .jsonl, .ndjson, .json    JSON: objects with the key 'text', or strings
  .csv, .tsv, .parquet      tables: the column 'text'
  .counts, .counts.tsv      counts, for train and count
  all others                text; <|endoftext|> separates documents

All but .parquet and counts may be compressed: .gz, .zst, .xz, .bz2.
"""


#: Suffixes that shorten a number of tokens.
_UNITS = {"": 1, "k": 10**3, "m": 10**6, "b": 10**9}
#: A fraction needs a unit: 1.5M, but not 1.5.
_TOKEN_COUNT = re.compile(r"(-?\d+(?:_\d+)*|\d{1,3}(?:,\d{3})+|\d+\.\d{1,3}(?=[kmb]))([kmb]?)")


class TokenCount(click.IntRange):
    """A number of tokens, written as 32000, 32_000, 32,000, 32k or 1M."""

    name = "tokens"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if isinstance(value, int):
            return super().convert(value, param, ctx)
        match = _TOKEN_COUNT.fullmatch(str(value).strip().lower())
        if match is None:
            self.fail(f"{value!r} is not a number of tokens; write 32000, or 32k or 1M for short", param, ctx)
        number = Decimal(re.sub("[_,]", "", match[1])) * _UNITS[match[2]]
        return super().convert(int(number), param, ctx)


class ManyOnCommand(click.Command):
    """Accept `--on a b c` for `--on a --on b --on c`, so that the shell can expand a glob."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        expanded: list[str] = []
        after_on = False
        for nth, argument in enumerate(args):
            if argument.startswith("-") and argument != "-":
                after_on = argument == "--on"  # any other option ends the list
            elif after_on and args[nth - 1] != "--on":
                expanded.append("--on")
            expanded.append(argument)
        return super().parse_args(ctx, expanded)


def add_engine_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options of `merganser.Local`: threads, memory, and the work folder."""
    for option in (
        click.option(
            "--checkpoint-every",
            type=click.FloatRange(0, min_open=True),
            default=60,
            show_default=True,
            metavar="SECONDS",
            help="Time between checkpoints.",
        ),
        click.option(
            "--resume/--no-resume",
            default=True,
            show_default=True,
            help="Resume an interrupted run, or start over.",
        ),
        click.option(
            "--work-dir",
            type=click.Path(path_type=Path, file_okay=False),
            help="Folder for temporary files and checkpoints. Removed on success.",
        ),
        memory,
        threads,
    ):
        function = option(function)
    return function


def add_read_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options of `merganser.ReadOptions`: how files are read."""
    for option in (
        click.option(
            "--allow-binary",
            is_flag=True,
            help="Read binary files, which are otherwise rejected, or skipped inside folders.",
        ),
        click.option(
            "--max-record",
            help="Maximum size of a record, or of text without a place to cut. Default: a share of --memory.",
        ),
        click.option(
            "--max-window",
            default="128MiB",
            show_default=True,
            help="Maximum memory for decompressing one file.",
        ),
        click.option(
            "--max-size", default="1TB", show_default=True, help="Maximum size of a decompressed file."
        ),
        click.option(
            "--max-ratio",
            type=click.IntRange(1),
            default=1000,
            show_default=True,
            help="Maximum ratio of decompressed to compressed size.",
        ),
        click.option(
            "--on-error",
            type=Choice(["stop", "skip"]),
            default="stop",
            show_default=True,
            help="What to do with unreadable records and files.",
        ),
        click.option(
            "--text-key",
            default="text",
            show_default=True,
            help="JSON key or table column that holds the text.",
        ),
    ):
        function = option(function)
    return function


#: The parameters that `add_read_options` adds.
READ_OPTIONS = (
    "text_key",
    "on_error",
    "max_ratio",
    "max_size",
    "max_window",
    "max_record",
    "allow_binary",
)


def add_ray_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that move the work to a Ray cluster."""
    for option in (
        click.option(
            "--storage",
            metavar="FOLDER|URL",
            help="With --ray: storage that all nodes share, such as s3://bucket/folder. Emptied on success. "
            "Default: next to the output, if there is one.",
        ),
        click.option(
            "--ray",
            metavar="ADDRESS|local",
            help="Run on the Ray cluster at ADDRESS ('auto' finds a running one), or start one with "
            "'local'. Memory is then per task. Default: 1GB.",
        ),
    ):
        function = option(function)
    return function


def engine(local: "Local", ray: str | None, storage: str | None) -> "Local | Ray":
    """Return the Ray engine if `--ray` was passed, else `local`."""
    from merganser import Ray

    if ray is None:
        if storage is not None:
            raise click.UsageError("--storage requires --ray")
        return local
    return Ray(
        ray,
        storage or local.work_dir,
        memory=local.memory or "1GB",
        resume=local.resume,
        keep_work=local.keep_work,
        local=local,
    )


#: The options of `merganser.Characters`.
_CHARACTER_OPTIONS = (
    click.option("--max-token-characters", type=int, help="Maximum length of a token. Default: 16."),
    click.option("--split-scripts/--no-split-scripts", default=None, help="End tokens where scripts meet."),
    click.option("--split-digits", is_flag=True, default=None, help="Never merge digits."),
    click.option("--user-defined", multiple=True, metavar="TOKEN", help="Token always found. Repeatable."),
    click.option("--byte-fallback", is_flag=True, default=None, help="Encode unknown characters as bytes."),
    click.option(
        "--character-coverage", type=float, help="Part of the text in known characters. Default: 1."
    ),
    click.option("--word-mark", type=Choice(["▁", "</w>"]), help="Mark of words. Default: ▁."),
)


def add_character_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add `--unit` and the options of `merganser.Characters`."""
    unit = click.option(
        "--unit",
        type=Choice(["bytes", "characters"]),
        default="bytes",
        show_default=True,
        help="What merging starts from. The options below are for characters.",
    )
    for option in (*_CHARACTER_OPTIONS, unit):
        function = option(function)
    return function


def take_unit(arguments: dict[str, Any]) -> "Unit":
    """Remove `--unit` and the options of characters from the arguments; return what they mean."""
    from dataclasses import fields

    from merganser import Characters

    names = [field.name for field in fields(Characters)]
    found = {name: arguments.pop(name) for name in names}
    given = {name: value for name, value in found.items() if value not in (None, ())}
    if arguments.pop("unit") == "characters":
        return Characters(**given)
    if given:
        raise click.UsageError(f"--{next(iter(given)).replace('_', '-')} requires --unit characters")
    return "bytes"


def add_split_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that determine the pre-tokens of a corpus."""
    for option in (
        separator,
        click.option("--special", multiple=True, metavar="TOKEN", help="Special token. Repeatable."),
        pattern,
    ):
        function = option(function)
    return function


def split_arguments(pattern: str | None, special: tuple[str, ...], separator: str | None) -> dict[str, Any]:
    """Return the split options as arguments of `count` and `train`."""
    return {
        "pattern": pattern,
        "special_tokens": special or None,
        "separator": separator_argument(separator),
    }


def separator_argument(separator: str | None) -> "Separator":
    """Return `...` if `--separator` was not passed, and None for `--separator none`."""
    if separator is None:
        return ...
    return None if separator == "none" else separator
