"""merganser export"""

from itertools import chain
from pathlib import Path
from typing import Literal

import click

from merganser.cli import drawing, options

#: How many pieces make a row group of Parquet.
_BATCH = 1 << 17


@click.command()
@click.argument("path", type=click.Path(path_type=Path))
@click.option(
    "--to",
    "form",
    type=click.Choice(["tiktoken", "huggingface", "gpt2", "tsv", "parquet"]),
    required=True,
    help="The format to write: tsv and parquet for counts, the others for tokenizers.",
)
@click.option(
    "--out", type=click.Path(path_type=Path), required=True, help="The file to write, or the folder."
)
@options.as_json
def command(
    path: Path, form: Literal["tiktoken", "huggingface", "gpt2", "tsv", "parquet"], out: Path, as_json: bool
) -> None:
    """Write the tokenizer or the counts in PATH for other programs.

    A tokenizer becomes a file of ranks (tiktoken), a folder for AutoTokenizer (huggingface), or one with
    vocab.json and merges.txt (gpt2). A .counts file becomes piece<TAB>count lines (tsv) or Parquet: pieces
    come in the order of their bytes, and are never in memory as a whole.

    Example: merganser export tokenizer.merganser --to huggingface --out for-transformers
    """
    from merganser import CountsFile, SettingsError, load
    from merganser.formats import parquet, tsv

    if form != "tsv" and form != "parquet":  # noqa: PLR1714 (mypy narrows only this)
        files = [str(file) for file in load(path).export(out, format=form)]
        if as_json:
            drawing.as_json({"out": str(out), "format": form, "files": files})
        else:
            click.echo(f"wrote {' and '.join(files)}")
        return
    if path.suffix != ".counts":
        raise SettingsError(f"{path} is not a .counts file, and only counts are written as {form}")
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
        drawing.as_json(
            {"out": str(out), "format": form, "different_pieces": len(counts), "pieces": counts.total}
        )
        return
    click.echo(f"{len(counts):,} different pieces, {counts.total:,} in all, in {out}")
