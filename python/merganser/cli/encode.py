"""merganser encode"""

import time
from pathlib import Path
from typing import Any

import click

from merganser.cli import drawing, naming, options, progress
from merganser.cli.text import as_text, content
from merganser.corpus.addresses import Address

#: Options that decide how files are written, and mean nothing without --out.
_ON_DISK = (
    *("format", "dtype", "prepend", "append", "separator", "shard_tokens", "threads", "overwrite"),
    *options.FILE_OPTIONS,
)


@click.command(epilog=f"{naming.HELP}\n\n{options.CORPUS}")
@options.tokenizer
@click.argument("text", nargs=-1)
@click.option(
    "--allow-special",
    multiple=True,
    metavar="TOKEN",
    help="A special token to encode as such, or 'all'; may be given several times.",
)
@as_text
@click.option("--ordinary", is_flag=True, help="Encode what looks like a special token as plain text.")
@click.option(
    "--out", type=click.Path(path_type=Path, file_okay=False), help="The folder for the ids of a corpus."
)
@click.option(
    "--format",
    type=click.Choice(["bin", "npy", "llmc", "megatron"]),
    default="bin",
    show_default=True,
    help="How files are written: flat, for numpy, for llm.c and modded-nanogpt, for Megatron.",
)
@click.option(
    "--dtype",
    type=click.Choice(["auto", "uint16", "uint32"]),
    default="auto",
    show_default=True,
    help="How an id is written; auto is the smaller one that holds all ids.",
)
@click.option("--prepend", metavar="TOKEN", help="A special token, or an id, to put before every document.")
@click.option("--append", metavar="TOKEN", help="A special token, or an id, to put behind every document.")
@click.option("--separator", help="What stands between documents, or 'none'; <|endoftext|> if not given.")
@click.option(
    "--shard-tokens",
    type=options.TokenCount(1),
    default=100_000_000,
    show_default=True,
    help="A file ends with the document that brings it to so many tokens.",
)
@options.files
@options.threads
@click.option("--overwrite", is_flag=True, help="Empty the folder of tokens first.")
@options.as_json
def command(
    tokenizer: naming.Named,
    text: tuple[str, ...],
    allow_special: tuple[str, ...],
    as_text: bool,
    ordinary: bool,
    out: Path | None,
    as_json: bool,
    **on_disk: Any,
) -> None:
    """Turn TEXT into ids: a file if there is one of that name, '-' for standard input, else the text itself.

    A TEXT that looks like the path of a file that does not exist is an error: a single word that ends like a
    file (.txt, .json, …), or has folders before it (./notes, texts/notes.dat). Pass --text to encode it.

    With --out, TEXT is a CORPUS and the ids go to a folder. If a run is interrupted, the same command resumes
    it.

    Example: merganser encode merganser-out 'the cat sat'

    Example: merganser encode merganser-out 'texts/*.txt' --out tokens --append '<|endoftext|>'
    """
    if out is not None:
        if not text:
            raise click.UsageError("name a corpus to encode: files, folders, globs, or '-'")
        if ordinary and allow_special:
            raise click.UsageError("--ordinary and --allow-special exclude each other")
        if as_text:
            raise click.UsageError("--text goes without --out, which takes a corpus")
        _corpus(tokenizer, [Address(path) for path in text], allow_special, out, as_json, on_disk)
        return
    source = click.get_current_context().get_parameter_source
    unfit = [name for name in _ON_DISK if source(name) is click.core.ParameterSource.COMMANDLINE]
    if unfit:
        raise click.UsageError(f"--{unfit[0].replace('_', '-')} goes with --out")
    if len(text) > 1:
        raise click.UsageError("give one text, in quotes; several files are a corpus and need --out")
    meant = content(text[0], as_text) if text else content("-", as_text=False)
    _text(tokenizer, meant, allow_special, ordinary, as_json)


def _text(
    named: naming.Named, content: str, allow_special: tuple[str, ...], ordinary: bool, as_json: bool
) -> None:
    tokenizer = named.load()
    if ordinary:
        ids = tokenizer.encode_ordinary(content)
    else:
        allowed = "all" if "all" in allow_special else allow_special
        ids = tokenizer.encode(content, allowed_special=allowed)
    if as_json:
        tokens = [drawing.token(tokenizer.decode_bytes([id])) for id in ids]
        drawing.as_json({"ids": ids, "tokens": tokens})
    else:
        click.echo(" ".join(map(str, ids)))


def _corpus(
    named: naming.Named,
    corpus: list[Address],
    allow_special: tuple[str, ...],
    out: Path,
    as_json: bool,
    on_disk: dict[str, Any],
) -> None:
    from merganser import Local
    from merganser.cli import resumable
    from merganser.tokens.reading import FILE_NAME
    from merganser.tokens.writing import encode_corpus

    tokenizer = named.load()
    start = time.perf_counter()
    for name in ("prepend", "append"):
        token = on_disk[name]
        if token is not None and token not in tokenizer.special_tokens and token.isdecimal():
            on_disk[name] = int(token)
    separator = on_disk.pop("separator")
    engine = Local(threads=on_disk.pop("threads"))
    unfinished = "stopped before the first shard was finished; the same command starts over"
    with progress.drawn() as draw, resumable((out / FILE_NAME).is_file, unfinished):
        outcome = encode_corpus(
            tokenizer,
            corpus,
            out=out,
            separator=options.separator_setting(separator),
            allowed_special="all" if "all" in allow_special else allow_special,
            engine=engine,
            progress=draw,
            **on_disk,
        )
    seconds = time.perf_counter() - start
    tokens, facts = outcome.tokens, outcome.tokens.facts
    if as_json:
        names = ("shards", "tokens", "documents", "bytes", "invalid_bytes", "format")
        drawing.as_json(
            {
                "out": str(out),
                **{name: facts[name] for name in names},
                "dtype": tokens.shards[0].dtype,
                "found": outcome.found,
                "skipped": outcome.skipped.as_dict(),
                "seconds": seconds,
            }
        )
        return
    if outcome.found == len(tokens.shards):
        click.echo(drawing.with_path(f"nothing to do: {facts['tokens']:,} tokens are in ", out, " already"))
        return
    click.echo(
        f"{facts['tokens']:,} tokens of {facts['documents']:,} documents, {facts['bytes'] / 1e6:,.1f} MB"
    )
    click.echo(drawing.with_path(f"in {facts['shards']:,} shards in ", out, f" ({seconds:.2f} s)"))
    if outcome.found:
        click.echo(f"{outcome.found:,} of the shards were there from an interrupted run")
    if facts["invalid_bytes"]:
        click.echo(
            f"note: {facts['invalid_bytes']:,} bytes were not UTF-8; each was a pre-token of its own",
            err=True,
        )
