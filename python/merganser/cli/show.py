"""merganser show"""

from dataclasses import asdict

import click

from merganser.cli import formatting, naming, options
from merganser.cli.text import as_text, read_text


@click.command(epilog=naming.HELP)
@click.argument("text")
@click.option(
    "--tokenizer",
    "tokenizers",
    multiple=True,
    type=naming.TOKENIZER,
    default=(naming.DEFAULT,),
    show_default=True,
    help="Tokenizer to use. Repeatable, to compare several.",
)
@click.option(
    "--allow-special",
    multiple=True,
    metavar="TOKEN",
    help="Special token to recognize in the text, or 'all'. Repeatable.",
)
@as_text
@options.as_json
@naming.revision
def command(
    text: str,
    tokenizers: tuple[naming.TokenizerName, ...],
    allow_special: tuple[str, ...],
    as_text: bool,
    as_json: bool,
) -> None:
    """Show the tokens of TEXT, with the id of each below it.

    TEXT is a text, the path of a file, or '-' for standard input. A TEXT that looks like the path of a file
    that does not exist is an error; pass --text to show it anyway.

    Whitespace is shown as glyphs, control characters are escaped, and a character that is split between
    several tokens is shown in ⟨⟩.

    Example: merganser show 'playing with tokens' --tokenizer merganser-out
    """
    text = read_text(text, as_text)
    allowed = "all" if "all" in allow_special else allow_special
    displays = [tokenizer.load().show(text, allowed_special=allowed) for tokenizer in tokenizers]
    titles = [tokenizer.title for tokenizer in tokenizers]
    if as_json:
        rows = [
            {"tokenizer": title, **shown.figures, "segments": [asdict(part) for part in shown.segments]}
            for title, shown in zip(titles, displays, strict=True)
        ]
        formatting.print_json({"text": text, "shown": rows})
        return
    for nth, (title, shown) in enumerate(zip(titles, displays, strict=True)):
        if len(displays) > 1:
            click.echo(f"{chr(10) if nth else ''}{title}")
        click.echo(str(shown))
