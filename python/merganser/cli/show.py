"""merganser show"""

import sys
from dataclasses import asdict

import click

from merganser.cli import drawing, naming, options


@click.command(epilog=naming.HELP)
@click.argument("text")
@click.option(
    "--tokenizer",
    "tokenizers",
    multiple=True,
    type=naming.TOKENIZER,
    default=("merganser-out",),
    show_default=True,
    help="Whose tokens; may be given several times, to see them side by side.",
)
@click.option(
    "--allow-special",
    multiple=True,
    metavar="TOKEN",
    help="A special token to show as such, or 'all'; may be given several times.",
)
@options.as_json
def command(
    text: str, tokenizers: tuple[naming.Named, ...], allow_special: tuple[str, ...], as_json: bool
) -> None:
    """Show TEXT cut into its tokens, the id of each below it; '-' is standard input.

    White space is drawn as glyphs, and control characters do not act. ⟨…⟩ is a character that several
    tokens share.

    Example: merganser show 'playing with tokens' --tokenizer merganser-out
    """
    from merganser import EncodeError

    if text == "-":
        try:
            text = sys.stdin.buffer.read().decode("utf-8")
        except UnicodeDecodeError as error:
            raise EncodeError(
                f"standard input is not UTF-8 at byte {error.start}; convert it first"
            ) from None
    allowed = "all" if "all" in allow_special else allow_special
    shown = [tokenizer.load().show(text, allowed_special=allowed) for tokenizer in tokenizers]
    names = [tokenizer.title for tokenizer in tokenizers]
    if as_json:
        rows = [
            {"tokenizer": name, **one.figures, "segments": [asdict(part) for part in one.segments]}
            for name, one in zip(names, shown, strict=True)
        ]
        drawing.as_json({"text": text, "shown": rows})
        return
    for nth, (name, one) in enumerate(zip(names, shown, strict=True)):
        if len(shown) > 1:
            click.echo(f"{chr(10) if nth else ''}{name}")
        click.echo(str(one))
