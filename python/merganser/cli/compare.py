"""merganser compare"""

import re
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from merganser.cli import formatting, naming, options, progress
from merganser.cli.verbosity import add_verbosity
from merganser.corpus.addresses import Address

if TYPE_CHECKING:
    from merganser.analyse.comparison import Row

#: The label of a row: excludes paths, globs and URLs.
_LABEL = re.compile(r"[^/\\:*?\[]+")
_HEADINGS = ("corpus", "tokenizer", "vocabulary", "tokens", "bytes/token", "tokens vs first")
#: The number of columns that are aligned left: the names.
_NAMES = 2


@click.command(cls=options.ManyOnCommand, epilog=f"{naming.HELP}\n\n{options.CORPUS_HELP}")
@click.argument("tokenizers", nargs=-1, required=True, type=naming.TOKENIZER, metavar="TOKENIZER...")
@click.option(
    "--on",
    multiple=True,
    required=True,
    metavar="CORPUS...",
    shell_complete=naming.complete_path,
    help="Corpus to encode. LABEL=CORPUS labels its row; corpora with the same label share a row.",
)
@options.add_read_options
@options.threads
@options.add_ray_options
@click.option("--markdown", is_flag=True, help="Print the table as Markdown.")
@add_verbosity
@options.as_json
@naming.revision
def command(
    tokenizers: tuple[naming.TokenizerName, ...],
    on: tuple[str, ...],
    threads: int | None,
    ray: str | None,
    storage: str | None,
    markdown: bool,
    as_json: bool,
    **read_options: Any,
) -> None:
    """Compare how many tokens each TOKENIZER needs for the same text, relative to the first one.

    Special tokens in the text are encoded as plain text.

    Example: merganser compare merganser-out gpt2.tiktoken@gpt2 --on code=src
    """
    from merganser import Local
    from merganser.analyse.comparison import compare

    loaded = naming.load_all(tokenizers)
    with progress.bars() as draw:
        rows = compare(
            loaded,
            _by_label(on),
            # Each corpus is a job of its own, so an interrupted run starts over.
            engine=options.engine(Local(threads=threads, resume=False), ray, storage),
            progress=draw,
            **read_options,
        )
    if as_json:
        formatting.print_json(
            {"rows": [{**asdict(row), "bytes_per_token": row.bytes_per_token} for row in rows]}
        )
    elif markdown:
        _markdown(rows)
    else:
        _table(rows)


def _by_label(arguments: tuple[str, ...]) -> "dict[str, list[Address]]":
    """Group the corpora by label; a corpus without a label is its own group."""
    from merganser.corpus.named_datasets import OF_A_COPY

    groups: dict[str, list[Address]] = {}
    for argument in arguments:
        label, _, corpus = argument.partition("=")
        is_labeled = (
            _LABEL.fullmatch(label) and corpus and label not in OF_A_COPY and not Path(argument).exists()
        )
        group = groups.setdefault(label if is_labeled else argument, [])
        if is_labeled or not group:
            group.append(Address(corpus if is_labeled else argument))
    return groups


def _cells(row: "Row") -> tuple[str, ...]:
    return (
        formatting.inert(row.corpus),
        formatting.inert(row.tokenizer),
        f"{row.vocab_size:,}",
        f"{row.tokens:,}",
        f"{row.bytes_per_token:.3f}",
        f"{row.relative:+.1%}",
    )


def _table(rows: "list[Row]") -> None:
    lines = [_HEADINGS, *map(_cells, rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    room = (formatting.WIDTH - sum(widths[_NAMES:]) - len("  ") * (len(widths) - 1)) // _NAMES
    if sum(widths[:_NAMES]) > room * _NAMES:
        lines = [
            (*(formatting.short_path(name, room) for name in line[:_NAMES]), *line[_NAMES:]) for line in lines
        ]
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    for nth, line in enumerate(lines):
        if nth > 1 and rows[nth - 1].corpus != rows[nth - 2].corpus:
            click.echo()
        cells = [
            cell.ljust(width) if column < _NAMES else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(line, widths, strict=True))
        ]
        click.echo("  ".join(cells))


def _markdown(rows: "list[Row]") -> None:
    rule = ("---",) * _NAMES + ("---:",) * (len(_HEADINGS) - _NAMES)
    for line in (_HEADINGS, rule, *map(_cells, rows)):
        click.echo(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |")
