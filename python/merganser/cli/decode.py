"""merganser decode"""

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from merganser.cli import drawing, naming, options

if TYPE_CHECKING:
    from merganser import Tokenizer


@click.command(epilog=naming.HELP)
@options.tokenizer
@click.argument("ids", nargs=-1)
@click.option("--separator", help="What to put between documents, or 'none'; what stood there if not given.")
@options.as_json
def command(tokenizer: naming.Named, ids: tuple[str, ...], separator: str | None, as_json: bool) -> None:
    """Turn IDS back into text, or those on standard input if none are given or '-' is.

    IDS can also be a folder or file of ids that `merganser encode --out` wrote. What it prepended and
    appended to documents is left out.

    Example: merganser encode merganser-out 'the cat' | merganser decode merganser-out

    Example: merganser decode merganser-out tokens > text
    """
    loaded = tokenizer.load()
    if len(ids) == 1 and _is_path(ids[0]):
        parts = _stored(loaded, Path(ids[0]), separator)
    elif separator is not None:
        raise click.UsageError("--separator goes with a folder or file of ids")
    else:
        parts = iter([_given(loaded, ids)])
    if as_json:
        drawing.as_json({"text": b"".join(parts).decode("utf-8", "replace")})
        return
    output = sys.stdout.buffer
    for part in parts:
        output.write(part)
    if output.isatty():
        output.write(b"\n")
    output.flush()


def _given(tokenizer: "Tokenizer", ids: tuple[str, ...]) -> bytes:
    given = " ".join(ids) if ids and ids != ("-",) else sys.stdin.read()
    words = re.findall(r"[^\s,\[\]]+", given)
    wrong = next((word for word in words if not re.fullmatch("[0-9]+", word)), None)
    if wrong is not None:
        raise click.UsageError(f"{wrong!r} is not an id; ids are whole numbers")
    return tokenizer.decode_bytes(map(int, words))


def _stored(tokenizer: "Tokenizer", path: Path, separator: str | None) -> Iterator[bytes]:
    from merganser import Tokens

    tokens = Tokens.open(path)
    if not tokens.complete:
        click.echo(f"warning: {path} is not complete; run the encoding again to go on with it", err=True)
    between = options.separator_setting(separator)
    return tokens.decode(tokenizer, separator=between)


def _is_path(word: str) -> bool:
    """Numbers are ids even where there is a file of that name: write ./123 for the file."""
    try:
        return not re.fullmatch(r"[\s\[\],0-9]*", word) and Path(word).exists()
    except OSError:  # too long for a name
        return False
