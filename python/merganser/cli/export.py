"""merganser export"""

from itertools import chain
from pathlib import Path
from typing import Literal

import click

from merganser.cli import options, show

#: How many pieces make a row group of Parquet.
_BATCH = 1 << 17


@click.command()
@click.argument("path", type=click.Path(path_type=Path))
@click.option(
    "--to", "form", type=click.Choice(["tsv", "parquet"]), required=True, help="The format to write."
)
@click.option(
    "--out", type=click.Path(path_type=Path, dir_okay=False), required=True, help="The file to write."
)
@options.as_json
def command(path: Path, form: Literal["tsv", "parquet"], out: Path, as_json: bool) -> None:
    """Write the counts in PATH, a .counts file, for other programs: piece<TAB>count lines, or Parquet.

    The pieces come in the order of their bytes, and are never in memory as a whole.

    Example: merganser export all.counts --to tsv --out all.tsv
    """
    from merganser import CountsFile, SettingsError
    from merganser.formats import parquet, tsv

    if path.suffix != ".counts":
        raise SettingsError(f"{path} is not a .counts file, and nothing else can be exported yet")
    counts = CountsFile.open(path)
    if form == "tsv":
        tsv.write(chain.from_iterable(counts.batches()), out)
    else:
        facts = {
            "pattern": counts.pattern,
            "special_tokens": counts.special_tokens,
            "separator": counts.separator,
            "documents": counts.documents,
            "invalid_bytes": counts.invalid_bytes,
        }
        parquet.write(counts.batches(_BATCH), facts, out)
    if as_json:
        show.as_json(
            {"out": str(out), "format": form, "different_pieces": len(counts), "pieces": counts.total}
        )
        return
    click.echo(f"{len(counts):,} different pieces, {counts.total:,} in all, in {out}")
