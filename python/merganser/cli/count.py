"""merganser count"""

import time
from pathlib import Path
from typing import Any

import click

from merganser.cli import drawing, options, progress
from merganser.corpus.addresses import Address


@click.command(epilog=options.CORPUS)
@options.corpus
@click.option(
    "--out", type=click.Path(path_type=Path), required=True, help="The file for the counts: name it .counts."
)
@options.reading
@options.files
@options.working
@options.cluster
@options.force
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
    **given: Any,
) -> None:
    """Count the pre-tokens of CORPUS, to train from later; counts among it are added up.

    The counts need not fit in memory: what does not is kept in a folder beside the file until it is done.

    Example: merganser count 'texts/*.txt' --out texts.counts --memory 2GB
    """
    from merganser import Local, count
    from merganser.cli import resumable

    if out.suffix != ".counts":
        raise click.UsageError(
            "name the file .counts, so that it is known for what it is: --out texts.counts"
        )
    options.keep_unless_forced(out, force)
    start = time.perf_counter()
    files = {name: given.pop(name) for name in options.FILE_OPTIONS}
    with progress.drawn() as draw:
        settings = options.reading_settings(pattern, special, separator)
        work_dir = work_dir or out.with_name(f"{out.name}.work")
        engine = options.engine(Local(**given, work_dir=work_dir), ray, storage)
        with resumable(work_dir.is_dir):
            counts = count(corpus, **settings, **files, out=out, engine=engine, progress=draw)
    seconds = time.perf_counter() - start
    if as_json:
        drawing.as_json(
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
    made = f"{len(counts):,} unique pre-tokens, {counts.total:,} in all, in "
    click.echo(drawing.with_path(made, out, f" ({seconds:.2f} s)"))
    if counts.invalid_bytes:
        click.echo(
            f"note: {counts.invalid_bytes:,} bytes were not UTF-8; each was a pre-token of its own", err=True
        )
