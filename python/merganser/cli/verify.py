"""merganser verify"""

from typing import TYPE_CHECKING, Any

import click

from merganser.cli import drawing, naming, options, progress
from merganser.corpus.addresses import Address

if TYPE_CHECKING:
    from rich.text import Text

    from merganser.verification import Difference, Segmentation, Verification

#: How the command ends when the ids are not the same; 1 and 2 are errors.
DIFFERENT = 3
#: How many tokens, merges or pre-tokens of a side are shown.
_SHOWN = 40
_REASONS = {
    "split": "the text is split into other pre-tokens",
    "merges": "the same pre-token is merged in another way",
    "ids": "the same tokens have other ids",
    "special": "a special token for one, text for the other",
    "unknown": "the ids differ; how one of them comes to its ids cannot be told",
}


@click.command(cls=options.Spreading, epilog=f"{naming.HELP}\n\n{options.CORPUS}")
@click.argument("a", type=naming.TOKENIZER)
@click.argument("b", type=naming.TOKENIZER)
@click.option("--on", multiple=True, required=True, type=Address, metavar="CORPUS...", help="What to encode.")
@click.option("--separator", help="What stands between documents, or 'none'; <|endoftext|> if not given.")
@options.files
@options.as_json
def command(
    a: naming.Named,
    b: naming.Named,
    on: tuple[Address, ...],
    separator: str | None,
    as_json: bool,
    **reading: Any,
) -> int:
    """Verify that the tokenizers A and B give the same ids to every document.

    The first difference is shown: the pre-token, what each makes of it, and the merge at which they part. The
    exit code is 0 if all ids are the same, and 3 if not.

    merganser reads a file itself; tiktoken:NAME, transformers:NAME and tokenizers:FILE (a tokenizer.json)
    ask that library.

    Special tokens in the text are encoded as ordinary text; with tokenizers: and transformers:, where that
    cannot be, they are special for both.

    Example: merganser verify merganser-out transformers:for-transformers --on texts
    """
    from merganser import verify

    with progress.drawn() as draw:
        found = verify(
            a.live(),
            b.live(),
            on=on,
            separator=options.separator_setting(separator),
            progress=draw,
            **reading,
        )
    if as_json:
        drawing.as_json(_facts(found))
    else:
        _show(found, a.title, b.title)
    return 0 if found else DIFFERENT


def _facts(found: "Verification") -> dict[str, Any]:
    facts = {"same": found.same, "documents": found.documents, "tokens": found.tokens, "bytes": found.bytes}
    parted = found.difference
    if parted is None:
        return {**facts, "difference": None}
    return {
        **facts,
        "difference": {
            "document": parted.document,
            "offset": parted.offset,
            "reason": parted.reason,
            "pretoken": parted.pretoken,
            "step": parted.step,
            "a": _side_facts(parted.a),
            "b": _side_facts(parted.b),
        },
    }


def _side_facts(side: "Segmentation") -> dict[str, Any]:
    return {
        "pretokens": side.pretokens,
        "tokens": [drawing.token(token) for token in side.tokens],
        "ids": side.ids,
        "merge": side.merge and [drawing.token(token) for token in side.merge],
    }


def _show(found: "Verification", a: str, b: str) -> None:
    amount = f"{found.documents:,} documents, {found.tokens:,} tokens, {found.bytes:,} bytes"
    if found.difference is None:
        click.echo(f"{click.style('the same', fg='green', bold=True)}: {amount}")
        return
    from rich.console import Console

    parted = found.difference
    click.echo(f"{click.style('different', fg='red', bold=True)}: {_REASONS[parted.reason]}")
    click.echo(
        f"in document {parted.document:,} (the first is 0), at byte {parted.offset:,}; before: {amount}"
    )
    console = Console(highlight=False, soft_wrap=True)
    for name, side in ((a, parted.a), (b, parted.b)):
        console.print()
        console.print(drawing.short_path(name, drawing.WIDTH), style="bold", markup=False)
        console.print(_parts(parted, side, console.is_terminal), markup=False)
        if parted.reason != "split":
            console.print("ids", *side.ids[:_SHOWN], "…" if len(side.ids) > _SHOWN else "")
        if parted.reason in ("merges", "ids"):
            console.print(_merge(parted, side), markup=False)


def _parts(parted: "Difference", side: "Segmentation", colours: bool) -> "Text | str":
    """Pre-tokens where the split differs, and tokens otherwise."""
    parts = (
        [pretoken.encode() for pretoken in side.pretokens] if parted.reason == "split" else list(side.tokens)
    )
    more = " …" if len(parts) > _SHOWN else ""
    if colours:
        return drawing.coloured(parts[:_SHOWN]).append(more)
    return " | ".join(map(drawing.token, parts[:_SHOWN])) + more


def _merge(parted: "Difference", side: "Segmentation") -> str:
    shown = " + ".join(drawing.token(token) for token in side.merge or ())
    if parted.reason == "ids":
        return f"made by {shown}" if shown else "a single byte"
    if parted.step is None:
        return "how it merges cannot be told"
    if not shown:
        return f"after {parted.step:,} merges: no more to merge"
    return f"after {parted.step:,} merges: {shown}{'' if len(side.merge or ()) > 1 else ', taken whole'}"
