"""merganser count"""

import time
from pathlib import Path
from typing import Any

import click

from merganser.cli import formatting, options, progress
from merganser.cli.verbosity import add_verbosity
from merganser.corpus.addresses import Address


@click.command(epilog=options.CORPUS_HELP)
@options.corpus
@click.option("--out", type=click.Path(path_type=Path), required=True, help="The .counts file to write.")
@options.add_split_options
@options.add_read_options
@options.add_engine_options
@options.add_ray_options
@options.force
@add_verbosity
@options.as_json
def command(
    corpus: tuple[Address, ...],
    out: Path,
    pattern: str | None,
    special: tuple[str, ...],
    separator: str | None,
    work_dir: Path | None,
    ray: str | None,
    storage: str | None,
    force: bool,
    as_json: bool,
    **read_and_engine: Any,
) -> None:
    """Count the pre-tokens of CORPUS to train from later. Counts in CORPUS are added up.

    Counts that exceed the memory budget are spilled to a folder next to the output file until counting is
    done.

    Example: merganser count 'texts/*.txt' --out texts.counts --memory 2GB
    """
    from merganser import Local, count
    from merganser.cli import resumable

    if out.suffix != ".counts":
        raise click.UsageError(f"--out must end in .counts, such as texts.counts, got {out}")
    options.refuse_overwrite(out, force)
    start = time.perf_counter()
    read_options = {name: read_and_engine.pop(name) for name in options.READ_OPTIONS}
    with progress.bars() as draw:
        split = options.split_arguments(pattern, special, separator)
        work_dir = work_dir or out.with_name(f"{out.name}.work")
        engine = options.engine(Local(**read_and_engine, work_dir=work_dir), ray, storage)
        with resumable(work_dir.is_dir):
            counts = count(corpus, **split, **read_options, out=out, engine=engine, progress=draw)
    seconds = time.perf_counter() - start
    if as_json:
        formatting.print_json(
            {
                "counts": str(out),
                "unique_pretokens": len(counts),
                "pretokens": counts.total,
                "documents": counts.documents,
                "invalid_bytes": counts.invalid_bytes,
                "skipped": counts.skipped.as_dict(),
                "seconds": seconds,
            }
        )
        return
    summary = f"{len(counts):,} unique pre-tokens, {counts.total:,} in total: "
    click.echo(formatting.with_path(summary, out, f" ({seconds:.2f} s)"))
    formatting.note_invalid_bytes(counts.invalid_bytes)
