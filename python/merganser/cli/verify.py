"""merganser verify"""

from typing import TYPE_CHECKING, Any

import click

from merganser.cli import formatting, naming, options, progress
from merganser.cli.verbosity import add_verbosity
from merganser.corpus.addresses import Address

if TYPE_CHECKING:
    from rich.text import Text

    from merganser.verification import Difference, Segmentation, Verification

#: The exit code if the ids differ; 1 and 2 are errors.
DIFFERENT = 3
#: The maximum number of tokens or pre-tokens to print for each tokenizer.
_LIMIT = 40
_REASONS = {
    "split": "the text is split into different pre-tokens",
    "merges": "the same pre-token is merged differently",
    "ids": "the same tokens have different ids",
    "special": "one encodes a special token, the other plain text",
    "unknown": "the ids differ; one of the tokenizers does not expose its merges",
}


@click.command(cls=options.ManyOnCommand, epilog=f"{naming.HELP}\n\n{options.CORPUS_HELP}")
@click.argument("a", type=naming.TOKENIZER)
@click.argument("b", type=naming.TOKENIZER)
@click.option(
    "--on",
    multiple=True,
    required=True,
    type=Address,
    metavar="CORPUS...",
    shell_complete=naming.complete_path,
    help="Corpus to encode.",
)
@options.separator
@options.add_read_options
@add_verbosity
@options.as_json
@naming.revision
def command(
    a: naming.TokenizerName,
    b: naming.TokenizerName,
    on: tuple[Address, ...],
    separator: str | None,
    as_json: bool,
    **read_options: Any,
) -> int:
    """Verify that tokenizers A and B return the same ids for every document.

    Print the first difference: the pre-token, how each tokenizes it, and the first merge that differs. The
    exit code is 0 if all ids are the same, and 3 if not.

    merganser encodes with a PATH itself; tiktoken:NAME, transformers:NAME and tokenizers:FILE (a
    tokenizer.json) encode with that library.

    Special tokens in the text are encoded as plain text. tokenizers: and transformers: do not support that;
    with them, special tokens are recognized on both sides.

    Example: merganser verify merganser-out transformers:hf-out --on texts
    """
    from merganser import verify

    with progress.bars() as draw:
        result = verify(
            a.live(),
            b.live(),
            on=on,
            separator=options.separator_argument(separator),
            progress=draw,
            **read_options,
        )
    if as_json:
        formatting.print_json(_as_dict(result))
    else:
        _print_result(result, a.title, b.title)
    return 0 if result else DIFFERENT


def _as_dict(result: "Verification") -> dict[str, Any]:
    facts = {
        "same": result.same,
        "documents": result.documents,
        "tokens": result.tokens,
        "bytes": result.bytes,
    }
    difference = result.difference
    if difference is None:
        return {**facts, "difference": None}
    return {
        **facts,
        "difference": {
            "document": difference.document,
            "offset": difference.offset,
            "reason": difference.reason,
            "pretoken": difference.pretoken,
            "step": difference.step,
            "a": _side_as_dict(difference.a),
            "b": _side_as_dict(difference.b),
        },
    }


def _side_as_dict(side: "Segmentation") -> dict[str, Any]:
    return {
        "pretokens": side.pretokens,
        "tokens": [formatting.escape_token(token) for token in side.tokens],
        "ids": side.ids,
        "merge": side.merge and [formatting.escape_token(token) for token in side.merge],
    }


def _print_result(result: "Verification", a: str, b: str) -> None:
    amount = ", ".join(
        (
            formatting.count(result.documents, "document"),
            formatting.count(result.tokens, "token"),
            formatting.count(result.bytes, "byte"),
        )
    )
    if result.difference is None:
        click.echo(f"{click.style('same ids', fg='green', bold=True)}: {amount}")
        return
    from rich.console import Console

    difference = result.difference
    click.echo(f"{click.style('different ids', fg='red', bold=True)}: {_REASONS[difference.reason]}")
    click.echo(
        f"first difference: document {difference.document:,} (counted from 0), byte {difference.offset:,}\n"
        f"identical up to there: {amount}"
    )
    console = Console(highlight=False, soft_wrap=True)
    for name, side in ((a, difference.a), (b, difference.b)):
        console.print()
        console.print(formatting.short_path(name, formatting.WIDTH), style="bold", markup=False)
        colors = console.is_terminal and not console.no_color
        console.print(_parts(difference, side, colors), markup=False)
        if difference.reason != "split":
            console.print("ids", *side.ids[:_LIMIT], "…" if len(side.ids) > _LIMIT else "")
        if difference.reason in ("merges", "ids"):
            console.print(_merge(difference, side), markup=False)


def _parts(difference: "Difference", side: "Segmentation", colors: bool) -> "Text | str":
    """Format the pre-tokens if the split differs, else the tokens."""
    parts = (
        [pretoken.encode() for pretoken in side.pretokens]
        if difference.reason == "split"
        else list(side.tokens)
    )
    more = " …" if len(parts) > _LIMIT else ""
    if colors:
        return formatting.colored(parts[:_LIMIT]).append(more)
    return " | ".join(map(formatting.escape_token, parts[:_LIMIT])) + more


def _merge(difference: "Difference", side: "Segmentation") -> str:
    merge = " + ".join(formatting.escape_token(token) for token in side.merge or ())
    if difference.reason == "ids":
        return f"merged from {merge}" if merge else "a single byte"
    if difference.step is None:
        return "merges unknown"
    if not merge:
        return f"after {difference.step:,} merges: done"
    whole = "" if len(side.merge or ()) > 1 else " (matched as a whole)"
    return f"after {difference.step:,} merges: {merge}{whole}"
