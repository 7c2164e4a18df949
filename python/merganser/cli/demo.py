"""merganser demo"""

import shutil
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import click

from merganser.cli import drawing, options, progress

if TYPE_CHECKING:
    from rich.console import Console

    from merganser import Local

SAMPLE = '''\
def greet(name: str = "world") -> str:
    """Return a greeting; naïve, but it works."""
    return f"Hello, {name}!"
'''


@click.command()
@click.option(
    "--vocab-size",
    type=options.TokenCount(1),
    default=8192,
    show_default=True,
    help="How many tokens to learn.",
)
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    default="merganser-demo",
    show_default=True,
    help="The folder for the tokenizer and the report.",
)
@options.force
@options.threads
@options.as_json
@click.pass_context
def command(
    ctx: click.Context, /, vocab_size: int, out: Path, force: bool, threads: int | None, as_json: bool
) -> None:
    """Train on Python's own library, which every machine has, show what comes of it, and write a report.

    Example: merganser demo
    """
    from rich.console import Console

    from merganser import Local, count, train
    from merganser.corpus.named_datasets import python_stdlib
    from merganser.files import check_folder, make_folder
    from merganser.formats.native import FILE_NAME

    # The default folder is the demo's alone: nothing but an earlier demo is lost there.
    is_ours = ctx.get_parameter_source("out") is click.core.ParameterSource.DEFAULT
    options.keep_unless_forced(out / FILE_NAME, force or is_ours)
    check_folder(out, "choose another --out")
    engine = Local(threads=threads)
    files = python_stdlib()
    size = sum(file.stat().st_size for file in files)
    with progress.drawn() as draw:
        start = time.perf_counter()
        counts = count(files, engine=engine, progress=draw)
        counted = time.perf_counter()
        tokenizer = train(counts, vocab_size, engine=engine, progress=draw)
        merged = time.perf_counter()
    make_folder(out, "choose another --out")
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
                "report": _report(files, vocab_size, out, engine),
            }
        )
        return
    console = Console(highlight=False)
    console.print(f"[bold]python-stdlib[/]: {len(files):,} files, {size / 1e6:.1f} MB")
    console.print(
        f"  split and count  {seconds['count']:6.2f} s   {len(counts):,} unique pre-tokens "
        f"of {counts.total:,}"
    )
    console.print(f"  merge            {seconds['merge']:6.2f} s   {tokenizer.vocab_size:,} tokens\n")
    click.echo(f"{tokenizer.show(SAMPLE)}\n")
    same = "the same text comes back" if round_trip else "BUT ANOTHER TEXT COMES BACK"
    console.print(f"{len(SAMPLE.encode())} bytes became {len(ids)} tokens, and {same}.\n")
    console.print("Try next:", style="bold")
    # As it can be typed here: `make demo` runs it from .venv, which need not be on the path.
    program = "merganser" if shutil.which("merganser") else sys.argv[0]
    for line in (
        f"show 'import this' --tokenizer {out}",
        f"inspect {out}",
        f"report YOUR-FILES --out {out / 'report'}",
        "train YOUR-FILES --vocab-size 32000",
    ):
        console.print(f"  {program} {line}", markup=False, soft_wrap=True)
    _invite(console, program, out)
    page = _report(files, vocab_size, out, engine)
    if page is None:
        console.print(
            "\nFor a report with charts, pip install 'merganser[plot]' and run this again.", markup=False
        )
    else:
        console.print("\nWhat it does with text that it was not trained on, to be opened in a browser:")
        console.print(drawing.with_path("  ", page), markup=False, soft_wrap=True)
    if not round_trip:
        raise SystemExit(1)


def _invite(console: "Console", program: str, out: Path) -> None:
    """How to open the studio on what was just trained."""
    from importlib.util import find_spec

    if find_spec("starlette") is None or find_spec("uvicorn") is None:
        console.print(
            "\nTo play with it in the browser, pip install 'merganser[studio]' first:", markup=False
        )
    else:
        console.print("\nTo play with it in the browser, on this machine only:")
    console.print(f"  {program} studio {out}", markup=False, soft_wrap=True)


def _report(files: list[Path], vocab_size: int, out: Path, engine: "Local") -> str | None:
    """The path of a report about the same corpus, a part of which is held out; None without the extra."""
    from importlib.util import find_spec

    if find_spec("vl_convert") is None:
        return None
    from merganser.reporting import report

    with progress.drawn() as draw:
        page = report(out / "report", corpus=files, vocab_size=vocab_size, engine=engine, progress=draw)
    return str(page)
