"""merganser decode"""

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from merganser.cli import formatting, naming, options
from merganser.cli.text import read_stdin

if TYPE_CHECKING:
    from merganser import Tokenizer


@click.command(epilog=naming.HELP)
@options.tokenizer
@click.argument("ids", nargs=-1)
@click.option("--separator", help="Text to write between documents, or 'none'. Default: the original.")
@options.as_json
@naming.revision
def command(
    tokenizer: naming.TokenizerName, ids: tuple[str, ...], separator: str | None, as_json: bool
) -> None:
    """Decode IDS to text. Without IDS, or with '-', read ids from standard input.

    IDS can also be a token folder or file written by `merganser encode --out`. Tokens that it added before or
    after documents are left out.

    Example: merganser decode merganser-out 1820 8415

    Example: merganser decode merganser-out tokens > text
    """
    loaded = tokenizer.load()
    if len(ids) == 1 and _is_path(ids[0]):
        parts = _decode_files(loaded, Path(ids[0]), separator)
    elif separator is not None:
        raise click.UsageError("--separator requires a token folder or file")
    else:
        parts = iter([_decode_ids(loaded, ids)])
    if as_json:
        formatting.print_json({"text": b"".join(parts).decode("utf-8", "replace")})
        return
    output = sys.stdout.buffer
    for part in parts:
        output.write(part)
    if output.isatty():
        output.write(b"\n")
    output.flush()


def _decode_ids(tokenizer: "Tokenizer", ids: tuple[str, ...]) -> bytes:
    from merganser.errors import shortened

    text = " ".join(ids) if ids and ids != ("-",) else read_stdin().decode("utf-8", "replace")
    numbers = re.findall(r"[^\s,\[\]]+", text)
    wrong = next((number for number in numbers if not re.fullmatch("[0-9]+", number)), None)
    if wrong is not None:
        raise click.UsageError(f"{shortened(repr(wrong))} is not an id; ids are non-negative integers")
    return tokenizer.decode_bytes(map(int, numbers))


def _decode_files(tokenizer: "Tokenizer", path: Path, separator: str | None) -> Iterator[bytes]:
    from merganser import Tokens

    tokens = Tokens.open(path)
    if not tokens.complete:
        click.echo(f"warning: {path} is incomplete; run the same encode command again to resume it", err=True)
    return tokens.decode(tokenizer, separator=options.separator_argument(separator))


def _is_path(argument: str) -> bool:
    """Whether an argument is a path. A number is an id even if a file has that name: write ./123."""
    try:
        return not re.fullmatch(r"[\s\[\],0-9]*", argument) and Path(argument).exists()
    except OSError:  # name too long
        return False
