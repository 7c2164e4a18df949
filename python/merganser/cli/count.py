"""merganser count"""

import time
from pathlib import Path

import click

from merganser.addresses import Address
from merganser.cli import options, progress, show


@click.command()
@options.corpus
@click.option(
    "--out", type=click.Path(path_type=Path), required=True, help="The file for the counts: name it .counts."
)
@options.reading
@options.threads
@options.as_json
def command(
    corpus: tuple[Address, ...],
    out: Path,
    pattern: str | None,
    special: tuple[str, ...],
    separator: str | None,
    threads: int | None,
    as_json: bool,
) -> None:
    """Count the pieces of CORPUS, to train from later; counts among it are added up.

    CORPUS is files, folders, globs, '-' for standard input, or addresses (s3://…, hf://…, https://…): of
    text, of .parquet with a column 'text', or of counts (.counts, .counts.tsv). Or it is a data set by its
    name: 'frankenstein', 'wikitext2' or 'python-stdlib'.

    Example: merganser count 'texts/*.txt' --out texts.counts
    """
    from merganser import Local, count

    if out.suffix != ".counts":
        raise click.UsageError(
            "name the file .counts, so that it is known for what it is: --out texts.counts"
        )
    start = time.perf_counter()
    with progress.drawn() as draw:
        settings = options.reading_settings(pattern, special, separator)
        counts = count(corpus, **settings, engine=Local(threads=threads), progress=draw)
    counts.save(out)
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
