"""merganser demo"""

import shutil
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import click

from merganser.cli import formatting, options, progress
from merganser.cli.verbosity import add_verbosity

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
    help="Vocabulary size.",
)
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    default="merganser-demo",
    show_default=True,
    help="Folder to write the tokenizer and the report to.",
)
@options.force
@options.threads
@add_verbosity
@options.as_json
@click.pass_context
def command(
    ctx: click.Context, /, vocab_size: int, out: Path, force: bool, threads: int | None, as_json: bool
) -> None:
    """Train a tokenizer on Python's standard library, show how it tokenizes, and write a report.

    Example: merganser demo
    """
    from rich.console import Console

    from merganser import Local, count, train
    from merganser.corpus.named_datasets import python_stdlib
    from merganser.files import check_folder, make_folder
    from merganser.formats.native import FILE_NAME

    # Only the demo writes to its default folder, so an earlier demo may be replaced.
    is_default = ctx.get_parameter_source("out") is click.core.ParameterSource.DEFAULT
    options.refuse_overwrite(out / FILE_NAME, force or is_default)
    check_folder(out, "choose another --out")
    engine = Local(threads=threads)
    files = python_stdlib()
    size = sum(file.stat().st_size for file in files)
    with progress.bars() as draw:
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
        formatting.print_json(
            {
                "tokenizer": str(path),
                "vocab_size": tokenizer.vocab_size,
                "files": len(files),
                "bytes": size,
                "seconds": seconds,
                "round_trip": round_trip,
                "report": _write_report(files, vocab_size, out, engine),
            }
        )
        return
    console = Console(highlight=False)
    console.print(f"[bold]python-stdlib[/]: {len(files):,} files, {size / 1e6:.1f} MB")
    console.print(
        f"  count pre-tokens  {seconds['count']:6.2f} s   {counts.total:,} pre-tokens, {len(counts):,} unique"
    )
    console.print(f"  learn merges      {seconds['merge']:6.2f} s   {tokenizer.vocab_size:,} tokens\n")
    click.echo(f"{tokenizer.show(SAMPLE)}\n")
    verdict = "decode to the same text" if round_trip else "DECODE TO A DIFFERENT TEXT"
    console.print(f"{len(SAMPLE.encode())} bytes are {len(ids)} tokens, which {verdict}.\n")
    console.print("Try next:", style="bold")
    # `make demo` runs the program from .venv, which may not be on the PATH.
    program = "merganser" if shutil.which("merganser") else sys.argv[0]
    for line in (
        f"show 'import this' --tokenizer {out}",
        f"inspect {out}",
        f"report YOUR-FILES --out {out / 'report'}",
        "train YOUR-FILES --vocab-size 32000",
    ):
        console.print(f"  {program} {line}", markup=False, soft_wrap=True)
    _suggest_studio(console, program, out)
    page = _write_report(files, vocab_size, out, engine)
    if page is None:
        console.print(
            "\nFor a report with charts, run pip install 'merganser[plot]' and then the demo again.",
            markup=False,
        )
    else:
        console.print("\nReport on held-out text; open it in a browser:")
        console.print(formatting.with_path("  ", page), markup=False, soft_wrap=True)
    if not round_trip:
        raise SystemExit(1)


def _suggest_studio(console: "Console", program: str, out: Path) -> None:
    """Say how to open the new tokenizer in the studio."""
    from importlib.util import find_spec

    if find_spec("starlette") is None or find_spec("uvicorn") is None:
        console.print(
            "\nTo explore it in the browser, run pip install 'merganser[studio]' and then:", markup=False
        )
    else:
        console.print("\nTo explore it in the browser, on this machine only:")
    console.print(f"  {program} studio {out}", markup=False, soft_wrap=True)


def _write_report(files: list[Path], vocab_size: int, out: Path, engine: "Local") -> str | None:
    """Write a report on the same corpus with a held-out split; return None without the extra."""
    from importlib.util import find_spec

    if find_spec("vl_convert") is None:
        return None
    from merganser.reporting import report

    with progress.bars() as draw:
        page = report(out / "report", corpus=files, vocab_size=vocab_size, engine=engine, progress=draw)
    return str(page)
