"""merganser compare"""

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from merganser.addresses import Address
from merganser.cli import drawing, options, progress

if TYPE_CHECKING:
    from merganser.comparison import Row

_HEADINGS = ("corpus", "tokenizer", "vocabulary", "tokens", "bytes/token", "tokens vs first")
#: Names are to the left, numbers to the right.
_NAMES = 2


class _Comparing(click.Command):
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


@click.command(cls=_Comparing)
@click.argument("tokenizers", nargs=-1, required=True, metavar="TOKENIZER...")
@click.option(
    "--on",
    multiple=True,
    required=True,
    metavar="CORPUS...",
    help="What to encode; each is a row of its own: one for news, one for code, and so on.",
)
@options.files
@options.threads
@click.option("--markdown", is_flag=True, help="Print the table as Markdown.")
@options.as_json
def command(
    tokenizers: tuple[str, ...],
    on: tuple[str, ...],
    threads: int | None,
    markdown: bool,
    as_json: bool,
    **reading: Any,
) -> None:
    """Compare how many tokens each TOKENIZER makes of the same text; the first is the measure.

    For a file of ranks, name its pattern as well: cl100k_base.tiktoken@gpt4. Special tokens in the text are
    encoded as ordinary text.

    Example: merganser compare merganser-out gpt2.tiktoken@gpt2 --on news.txt code.txt
    """
    from merganser import Local
    from merganser.comparison import compare

    loaded = {name: options.loaded(name) for name in tokenizers}
    with progress.drawn() as draw:
        rows = compare(
            loaded,
            {name: Address(name) for name in on},
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
    above = rows[0].corpus
    for nth, line in enumerate(lines):
        if nth and line[0] != above:
            above = line[0]
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
