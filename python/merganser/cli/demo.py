"""merganser demo"""

import shutil
import sys
import time
from pathlib import Path

import click

from merganser.cli import drawing, options, progress

SAMPLE = '''\
def greet(name: str = "world") -> str:
    """Return a greeting; naïve, but it works."""
    return f"Hello, {name}!"
'''


@click.command()
@click.option("--vocab-size", type=int, default=8192, show_default=True, help="How many tokens to learn.")
@options.out_folder
@options.threads
@options.as_json
def command(vocab_size: int, out: Path, threads: int | None, as_json: bool) -> None:
    """Train on Python's own library, which every machine has, and show what comes of it.

    Example: merganser demo
    """
    from rich.console import Console

    from merganser import Local, count, train
    from merganser.formats.native import FILE_NAME
    from merganser.named import python_stdlib

    engine = Local(threads=threads)
    files = python_stdlib()
    size = sum(file.stat().st_size for file in files)
    with progress.drawn() as draw:
        start = time.perf_counter()
        counts = count(files, engine=engine, progress=draw)
        counted = time.perf_counter()
        tokenizer = train(counts, vocab_size, engine=engine, progress=draw)
        merged = time.perf_counter()
    out.mkdir(parents=True, exist_ok=True)
    path = out / FILE_NAME
    tokenizer.save(path)

    ids = tokenizer.encode(SAMPLE)
    round_trip = tokenizer.decode(ids) == SAMPLE
    seconds = {"count": counted - start, "merge": merged - counted}
    if as_json:
        drawing.as_json(
            {
                "tokenizer": str(path),
                "vocab_size": tokenizer.vocab_size,
                "files": len(files),
                "bytes": size,
                "seconds": seconds,
                "round_trip": round_trip,
            }
        )
        return
    console = Console(highlight=False)
    console.print(f"[bold]python-stdlib[/]: {len(files):,} files, {size / 1e6:.1f} MB")
    console.print(
        f"  split and count  {seconds['count']:6.2f} s   {len(counts):,} different pieces of {counts.total:,}"
    )
    console.print(f"  merge            {seconds['merge']:6.2f} s   {tokenizer.vocab_size:,} tokens\n")
    tokens = [tokenizer.decode_bytes([id]) for id in ids]
    if console.is_terminal:
        console.print(drawing.coloured(tokens))
    else:
        console.print("│".join(drawing.token(token) for token in tokens) + "\n", markup=False, soft_wrap=True)
    same = "the same text comes back" if round_trip else "BUT ANOTHER TEXT COMES BACK"
    console.print(f"{len(SAMPLE.encode())} bytes became {len(ids)} tokens, and {same}.\n")
    console.print("Try next:", style="bold")
    # As it can be typed here: `make demo` runs it from .venv, which need not be on the path.
    program = "merganser" if shutil.which("merganser") else sys.argv[0]
    for line in (
        f"inspect {out}",
        f"encode {out} 'import this' --json",
        "train YOUR-FILES --vocab-size 32000",
    ):
        console.print(f"  {program} {line}", markup=False, soft_wrap=True)
    if not round_trip:
        raise SystemExit(1)
