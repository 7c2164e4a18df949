"""merganser compare"""

import re
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from merganser.cli import drawing, naming, options, progress
from merganser.corpus.addresses import Address

if TYPE_CHECKING:
    from merganser.analyse.comparison import Row

#: What can be the name of a kind: no path and no address.
_KIND = re.compile(r"[^/\\:*?\[]+")
_HEADINGS = ("corpus", "tokenizer", "vocabulary", "tokens", "bytes/token", "tokens vs first")
#: Names are to the left, numbers to the right.
_NAMES = 2


@click.command(cls=options.Spreading, epilog=f"{naming.HELP}\n\n{options.CORPUS}")
@click.argument("tokenizers", nargs=-1, required=True, type=naming.TOKENIZER, metavar="TOKENIZER...")
@click.option(
    "--on",
    multiple=True,
    required=True,
    metavar="CORPUS...",
    help="What to encode; each is a row of its own. KIND=CORPUS names the row; all of a kind are one row.",
)
@options.files
@options.threads
@click.option("--markdown", is_flag=True, help="Print the table as Markdown.")
@options.as_json
def command(
    tokenizers: tuple[naming.Named, ...],
    on: tuple[str, ...],
    threads: int | None,
    markdown: bool,
    as_json: bool,
    **reading: Any,
) -> None:
    """Compare how many tokens each TOKENIZER makes of the same text; the first is the measure.

    Special tokens in the text are encoded as ordinary text.

    Kinds of text are named with the corpus, and what has the same name is added up.

    Example: merganser compare merganser-out gpt2.tiktoken@gpt2 --on news=news.txt 'code=src/*.py' code=lib
    """
    from merganser import Local
    from merganser.analyse.comparison import compare

    loaded = naming.loaded(tokenizers)
    with progress.drawn() as draw:
        rows = compare(
            loaded,
            _kinds(on),
            engine=Local(threads=threads),
            progress=draw,
            **reading,
        )
    if as_json:
        drawing.as_json({"rows": [{**asdict(row), "bytes_per_token": row.bytes_per_token} for row in rows]})
    elif markdown:
        _markdown(rows)
    else:
        _table(rows)


def _kinds(names: tuple[str, ...]) -> "dict[str, list[Address]]":
    """The corpora of each kind; without a kind, a corpus is one of its own."""
    from merganser.corpus.named_datasets import OF_A_COPY

    kinds: dict[str, list[Address]] = {}
    for name in names:
        kind, _, corpus = name.partition("=")
        named = _KIND.fullmatch(kind) and corpus and kind not in OF_A_COPY and not Path(name).exists()
        found = kinds.setdefault(kind if named else name, [])
        if named or not found:
            found.append(Address(corpus if named else name))
    return kinds


def _cells(row: "Row") -> tuple[str, ...]:
    return (
        row.corpus,
        row.tokenizer,
        f"{row.vocab_size:,}",
        f"{row.tokens:,}",
        f"{row.bytes_per_token:.3f}",
        f"{row.relative:+.1%}",
    )


def _table(rows: "list[Row]") -> None:
    lines = [_HEADINGS, *map(_cells, rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    room = (drawing.WIDTH - sum(widths[_NAMES:]) - len("  ") * (len(widths) - 1)) // _NAMES
    if sum(widths[:_NAMES]) > room * _NAMES:
        lines = [
            (*(drawing.short_path(name, room) for name in line[:_NAMES]), *line[_NAMES:]) for line in lines
        ]
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    for nth, line in enumerate(lines):
        if nth > 1 and rows[nth - 1].corpus != rows[nth - 2].corpus:
            click.echo()
        cells = [
            cell.ljust(width) if place < _NAMES else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(line, widths, strict=True))
        ]
        click.echo("  ".join(cells))


def _markdown(rows: "list[Row]") -> None:
    rule = ("---",) * _NAMES + ("---:",) * (len(_HEADINGS) - _NAMES)
    for line in (_HEADINGS, rule, *map(_cells, rows)):
        click.echo(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |")
