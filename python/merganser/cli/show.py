"""merganser show"""

from dataclasses import asdict

import click

from merganser.cli import drawing, options
from merganser.cli.text import as_text, content


@click.command()
@click.argument("text")
@click.option(
    "--tokenizer",
    "tokenizers",
    multiple=True,
    metavar="PATH",
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
@as_text
@options.as_json
def command(
    text: str, tokenizers: tuple[str, ...], allow_special: tuple[str, ...], as_text: bool, as_json: bool
) -> None:
    """Show the tokens of TEXT, with the id of each below it.

    TEXT is a file if there is one of that name, '-' for standard input, else the text itself. If it looks
    like the path of a file that does not exist, that is an error; pass --text to show it all the same.

    White space is drawn as glyphs, and control characters do not act. ⟨…⟩ is a character that several
    tokens share. For a file of ranks, name its pattern as well: cl100k_base.tiktoken@gpt4.

    Example: merganser show 'playing with tokens' --tokenizer merganser-out
    """
    text = content(text, as_text)
    allowed = "all" if "all" in allow_special else allow_special
    shown = [options.load_tokenizer(name).show(text, allowed_special=allowed) for name in tokenizers]
    if as_json:
        rows = [
            {"tokenizer": name, **one.figures, "segments": [asdict(part) for part in one.segments]}
            for name, one in zip(tokenizers, shown, strict=True)
        ]
        drawing.as_json({"text": text, "shown": rows})
        return
    for nth, (name, one) in enumerate(zip(tokenizers, shown, strict=True)):
        if len(shown) > 1:
            click.echo(f"{chr(10) if nth else ''}{name}")
        click.echo(str(one))
