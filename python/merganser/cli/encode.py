"""merganser encode"""

import os
import time
from pathlib import Path
from typing import Any

import click

from merganser.cli import formatting, naming, options, progress
from merganser.cli.suggestions import Choice
from merganser.cli.text import as_text, read_text
from merganser.cli.verbosity import add_verbosity
from merganser.corpus.addresses import Address

#: Options that require --out.
_CORPUS_OPTIONS = (
    *("format", "dtype", "prepend", "append", "separator", "shard_tokens", "threads", "memory", "overwrite"),
    *("ray", "storage"),
    *options.READ_OPTIONS,
)


@click.command(epilog=f"{naming.HELP}\n\n{options.CORPUS_HELP}")
@options.tokenizer
@click.argument("text", nargs=-1)
@click.option(
    "--allow-special",
    multiple=True,
    metavar="TOKEN",
    help="Special token to recognize in the text, or 'all'. Repeatable.",
)
@as_text
@click.option(
    "--add-special-tokens",
    is_flag=True,
    help="Add the tokens that the tokenizer's owner puts around a text: bos, eos.",
)
@click.option("--ordinary", is_flag=True, help="Encode special tokens in the text as plain text.")
@click.option(
    "--out",
    type=options.FolderOrUrl(),
    metavar="FOLDER|URL",
    help="Folder to write the token files of a corpus to, or its URL.",
)
@click.option(
    "--format",
    type=Choice(["bin", "npy", "llmc", "megatron"]),
    default="bin",
    show_default=True,
    help="File format: bin (flat ids), npy (NumPy), llmc (llm.c, modded-nanogpt) or megatron.",
)
@click.option(
    "--dtype",
    type=Choice(["auto", "uint16", "uint32"]),
    default="auto",
    show_default=True,
    help="Integer type of the ids. auto is the smallest that fits.",
)
@click.option("--prepend", metavar="TOKEN", help="Special token or id to add before every document.")
@click.option("--append", metavar="TOKEN", help="Special token or id to add after every document.")
@options.separator
@click.option(
    "--shard-tokens",
    type=options.TokenCount(1),
    default=100_000_000,
    show_default=True,
    help="Minimum tokens per file. A file ends at a document boundary.",
)
@options.add_read_options
@options.threads
@options.memory
@options.add_ray_options
@click.option("--overwrite", is_flag=True, help="Delete the token files in the folder first.")
@add_verbosity
@options.as_json
@naming.revision
def command(
    tokenizer: naming.TokenizerName,
    text: tuple[str, ...],
    allow_special: tuple[str, ...],
    as_text: bool,
    ordinary: bool,
    add_special_tokens: bool,
    out: Path | Address | None,
    as_json: bool,
    **corpus_options: Any,
) -> None:
    """Encode TEXT to ids. TEXT is a text, the path of a file, or '-' for standard input.

    A TEXT that looks like the path of a file that does not exist is an error: a single word with a file
    extension (notes.txt), or with folders (./notes, texts/notes.dat). Pass --text to encode it anyway.

    With --out, TEXT is a CORPUS, and its ids are written to a folder. Run the same command again to resume an
    interrupted run.

    Example: merganser encode merganser-out 'the cat sat'

    Example: merganser encode merganser-out 'texts/*.txt' --out tokens
    """
    if out is not None:
        if not text:
            raise click.UsageError("--out needs a corpus to encode; pass files, folders, globs or '-'")
        if ordinary and allow_special:
            raise click.UsageError("--ordinary and --allow-special cannot be combined; pass one of them")
        if as_text:
            raise click.UsageError("--text and --out cannot be combined; --out encodes a corpus, not a text")
        if add_special_tokens and (corpus_options["prepend"] or corpus_options["append"]):
            raise click.UsageError(
                "--add-special-tokens cannot be combined with --prepend or --append; pass one of them"
            )
        corpus = [Address(path) for path in text]
        _encode_corpus(tokenizer, corpus, allow_special, add_special_tokens, out, as_json, corpus_options)
        return
    source = click.get_current_context().get_parameter_source
    misplaced = [name for name in _CORPUS_OPTIONS if source(name) is click.core.ParameterSource.COMMANDLINE]
    if misplaced:
        raise click.UsageError(f"--{misplaced[0].replace('_', '-')} requires --out")
    if len(text) > 1:
        raise click.UsageError(
            "expected one TEXT; quote a text with spaces, or pass --out to encode several files"
        )
    content = read_text(text[0], as_text) if text else read_text("-", as_text=False)
    _encode_text(tokenizer, content, allow_special, ordinary, add_special_tokens, as_json)


def _encode_text(
    name: naming.TokenizerName,
    text: str,
    allow_special: tuple[str, ...],
    ordinary: bool,
    add_special_tokens: bool,
    as_json: bool,
) -> None:
    tokenizer = name.load()
    around: dict[str, Any] = {**tokenizer.template} if add_special_tokens else {}
    if ordinary:
        ids = tokenizer.encode(text, disallowed_special=(), **around)
    else:
        allowed = "all" if "all" in allow_special else allow_special
        ids = tokenizer.encode(text, allowed_special=allowed, **around)
    if as_json:
        tokens = [formatting.escape_token(tokenizer.decode_bytes([id])) for id in ids]
        formatting.print_json({"ids": ids, "tokens": tokens})
    else:
        click.echo(" ".join(map(str, ids)))


def _encode_corpus(
    name: naming.TokenizerName,
    corpus: list[Address],
    allow_special: tuple[str, ...],
    add_special_tokens: bool,
    out: Path | Address,
    as_json: bool,
    settings: dict[str, Any],
) -> None:
    from merganser import Local
    from merganser.cli import resumable
    from merganser.tokens.folders import folder_at
    from merganser.tokens.writing import encode_corpus

    tokenizer = name.load()
    start = time.perf_counter()
    for option in ("prepend", "append"):
        token = settings[option]
        if token is not None and token not in tokenizer.special_tokens and token.isdecimal():
            settings[option] = int(token)
    if add_special_tokens:
        settings |= tokenizer.template
    separator = settings.pop("separator")
    local = Local(threads=settings.pop("threads"), memory=settings.pop("memory"))
    ray, storage = settings.pop("ray"), settings.pop("storage")
    engine = options.engine(local, ray, storage or (f"{os.fspath(out)}.work" if ray else None))
    unfinished = "stopped before the first shard was complete; run the same command again to start over"
    with progress.bars() as draw, resumable(folder_at(out).is_begun, unfinished):
        outcome = encode_corpus(
            tokenizer,
            corpus,
            out=out,
            separator=options.separator_argument(separator),
            allowed_special="all" if "all" in allow_special else allow_special,
            engine=engine,
            progress=draw,
            **settings,
        )
    seconds = time.perf_counter() - start
    tokens, facts = outcome.tokens, outcome.tokens.facts
    if as_json:
        names = ("shards", "tokens", "documents", "bytes", "invalid_bytes", "format")
        formatting.print_json(
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
        click.echo(formatting.with_path(f"nothing to do: {facts['tokens']:,} tokens are already in ", out))
        return
    documents = formatting.count(facts["documents"], "document")
    shards = formatting.count(facts["shards"], "shard")
    click.echo(f"{facts['tokens']:,} tokens from {documents} ({facts['bytes'] / 1e6:,.1f} MB)")
    click.echo(formatting.with_path(f"{shards} in ", out, f" ({seconds:.2f} s)"))
    if outcome.found:
        click.echo(f"{outcome.found:,} of the shards were complete from an interrupted run")
    formatting.note_invalid_bytes(facts["invalid_bytes"])
