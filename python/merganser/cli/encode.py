"""merganser encode"""

import sys
from pathlib import Path

import click

from merganser.cli import options, show


@click.command()
@options.tokenizer
@click.argument("text", default="-")
@click.option(
    "--allow-special",
    multiple=True,
    metavar="TOKEN",
    help="A special token to encode as such, or 'all'; may be given several times.",
)
@click.option("--ordinary", is_flag=True, help="Encode what looks like a special token as plain text.")
@options.as_json
def command(
    tokenizer: Path, text: str, allow_special: tuple[str, ...], ordinary: bool, as_json: bool
) -> None:
    """Turn TEXT into ids: a file if there is one of that name, '-' for standard input, else the text itself.

    Example: merganser encode merganser-out 'the cat sat'
    """
    from merganser import load

    loaded = load(tokenizer)
    content = _content(text)
    if ordinary:
        ids = loaded.encode_ordinary(content)
    else:
        allowed = "all" if "all" in allow_special else allow_special
        ids = loaded.encode(content, allowed_special=allowed)
    if as_json:
        tokens = [show.token(loaded.decode_bytes([id])) for id in ids]
        show.as_json({"ids": ids, "tokens": tokens})
    else:
        click.echo(" ".join(map(str, ids)))


def _content(text: str) -> str:
    from merganser import EncodeError

    if text == "-":
        data = sys.stdin.buffer.read()
    elif _is_file(text):
        data = Path(text).read_bytes()
    else:
        return text
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        name = "standard input" if text == "-" else text
        raise EncodeError(f"{name} is not UTF-8 at byte {error.start}; convert it first") from None


def _is_file(text: str) -> bool:
    try:
        return Path(text).is_file()
    except OSError:  # too long for a name
        return False
