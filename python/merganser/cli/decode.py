"""merganser decode"""

import re
import sys
from pathlib import Path

import click

from merganser.cli import options, show


@click.command()
@options.tokenizer
@click.argument("ids", nargs=-1)
@options.as_json
def command(tokenizer: Path, ids: tuple[str, ...], as_json: bool) -> None:
    """Turn IDS back into text, or those on standard input if none are given or '-' is.

    Example: merganser encode merganser-out 'the cat' | merganser decode merganser-out
    """
    from merganser import load

    loaded = load(tokenizer)
    given = " ".join(ids) if ids and ids != ("-",) else sys.stdin.read()
    words = re.findall(r"[^\s,\[\]]+", given)
    wrong = next((word for word in words if not re.fullmatch("[0-9]+", word)), None)
    if wrong is not None:
        raise click.UsageError(f"{wrong!r} is not an id; ids are whole numbers")
    data = loaded.decode_bytes(map(int, words))
    if as_json:
        show.as_json({"text": data.decode("utf-8", "replace")})
        return
    output = sys.stdout.buffer
    output.write(data)
    if output.isatty():
        output.write(b"\n")
    output.flush()
