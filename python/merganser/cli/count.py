"""merganser count"""

import time
from pathlib import Path
from typing import Any

import click

from merganser.cli import options, progress, show


@click.command()
@options.corpus
@click.option(
    "--out", type=click.Path(path_type=Path), required=True, help="The file for the counts: name it .counts."
)
@options.reading
@options.working
@options.cluster
@options.as_json
def command(
    corpus: tuple[Path, ...],
    out: Path,
    pattern: str | None,
    special: tuple[str, ...],
    separator: str | None,
    work_dir: Path | None,
    ray: str | None,
    storage: str | None,
    as_json: bool,
    **limits: Any,
) -> None:
    """Count the pieces of CORPUS, to train from later; .counts files among it are added up.

    The counts need not fit in memory: what does not is kept in a folder beside the file until it is done.

    Example: merganser count 'texts/*.txt' --out texts.counts --memory 2GB
    """
    from merganser import Local, count

    if out.suffix != ".counts":
        raise click.UsageError(
            "name the file .counts, so that it is known for what it is: --out texts.counts"
        )
    start = time.perf_counter()
    with progress.drawn() as draw:
        settings = options.reading_settings(pattern, special, separator)
        local = Local(**limits, work_dir=work_dir or out.with_name(f"{out.name}.work"))
        engine = options.engine(local, ray, storage)
        counts = count(corpus, **settings, out=out, engine=engine, progress=draw)
    seconds = time.perf_counter() - start
    if as_json:
        show.as_json(
            {
                "counts": str(out),
                "different_pieces": len(counts),
                "pieces": counts.total,
                "documents": counts.documents,
                "invalid_bytes": counts.invalid_bytes,
                "seconds": seconds,
            }
        )
        return
    click.echo(f"{len(counts):,} different pieces, {counts.total:,} in all, in {out} ({seconds:.2f} s)")
    if counts.invalid_bytes:
        click.echo(
            f"note: {counts.invalid_bytes:,} bytes were not UTF-8; each was a piece of its own", err=True
        )
