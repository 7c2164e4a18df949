"""merganser report"""

import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from merganser.cli import formatting, naming, options, progress
from merganser.cli.verbosity import add_verbosity
from merganser.corpus.addresses import Address

if TYPE_CHECKING:
    from merganser import Tokenizer


@click.command(epilog=f"{naming.HELP}\n\n{options.CORPUS_HELP}")
@click.argument("names", nargs=-1, required=True, metavar="CORPUS|TOKENIZER|EMBEDDINGS...")
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    default="merganser-out/report",
    show_default=True,
    help="Folder to write the report to.",
)
@click.option(
    "--held-out",
    multiple=True,
    type=Address,
    metavar="CORPUS",
    help="Corpus to measure on. Default: a held-out split of CORPUS. Repeatable.",
)
@click.option(
    "--vocab-size",
    type=options.TokenCount(1),
    help="Vocabulary size of the tokenizer to train. Default: by the size of the corpus, 256 bytes and "
    "2,000 merges for a novel, 50,000 for 100 MB.",
)
@options.pattern
@click.option(
    "--domain",
    "domains",
    multiple=True,
    metavar="NAME=FILE",
    help="Additional text for the comparison across domains. Repeatable.",
)
@click.option(
    "--sentences",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Sentences to show, one per line. Lines LANGUAGE<TAB>SENTENCE, with the same sentences in every "
    "language, also measure parity.",
)
@click.option("--token", help="Token to draw the family tree of.")
@options.add_read_options
@options.threads
@add_verbosity
@options.as_json
@naming.revision
def command(
    names: tuple[str, ...],
    out: Path,
    held_out: tuple[Address, ...],
    vocab_size: int | None,
    pattern: str | None,
    domains: tuple[str, ...],
    sentences: Path | None,
    token: str | None,
    threads: int | None,
    as_json: bool,
    **read_options: Any,
) -> None:
    """Write a report: an HTML page of experiments, with every chart and table as a file.

    Given a CORPUS, train a tokenizer on it and measure it on a held-out split. Each TOKENIZER is measured
    alongside it, or on its own.

    Given EMBEDDINGS, a folder written by `merganser embed`, report on these embeddings. Pass nothing else
    with it.

    Example: merganser report 'texts/*.txt' --vocab-size 32000 --out report
    """
    from merganser import Local
    from merganser.analyse.sentences import read_sentences
    from merganser.embed.folder import is_embeddings
    from merganser.reporting.tokenizers.report import report

    start = time.perf_counter()
    if any(map(is_embeddings, names)):
        _print_result(_report_embeddings(names, out), start, as_json)
        return
    tokenizers = {name: tokenizer for name in names if (tokenizer := _parse_tokenizer(name))}
    corpus = [Address(name) for name in names if name not in tokenizers]
    if not corpus and vocab_size is not None:
        raise click.UsageError("--vocab-size requires a CORPUS to train on")
    sentence_arguments = {} if sentences is None else read_sentences(sentences)
    with progress.bars() as draw:
        page = report(
            out,
            corpus=corpus or None,
            tokenizers=_load(list(tokenizers.values())),
            held_out=held_out or None,
            vocab_size=vocab_size,
            pattern=pattern,
            domains=_domains(domains),
            token=token,
            engine=Local(threads=threads),
            progress=draw,
            **sentence_arguments,
            **read_options,
        )
    _print_result(page, start, as_json)


def _print_result(page: Path, start: float, as_json: bool) -> None:
    seconds = time.perf_counter() - start
    if as_json:
        formatting.print_json({"report": str(page), "seconds": seconds})
    else:
        click.echo(formatting.with_path("", page, f" ({seconds:.1f} s)"))


def _report_embeddings(names: tuple[str, ...], out: Path) -> Path:
    from merganser.reporting.embeddings.report import write

    if len(names) > 1:
        raise click.UsageError("a report on embeddings takes one folder; pass it alone")
    with progress.bars() as draw:
        return write(names[0], out, draw)


def _parse_tokenizer(argument: str) -> naming.TokenizerName | None:
    """Return the name of a tokenizer, or None if the argument is a corpus."""
    from merganser.formats.recognizing import is_tokenizer

    name = naming.TOKENIZER.convert(argument, None, click.get_current_context())
    return name if name.path is None or is_tokenizer(name.path) else None


def _load(names: list[naming.TokenizerName]) -> "dict[str, Tokenizer]":
    """Load tokenizers by file name if these are unique, else by the full title."""
    by_file_name = {name.short_title: name for name in names}
    if len(by_file_name) < len(names):
        return naming.load_all(names)
    return {title: name.load() for title, name in by_file_name.items()}


def _domains(given: tuple[str, ...]) -> dict[str, Address]:
    domains: dict[str, Address] = {}
    for domain in given:
        name, equals, path = domain.partition("=")
        if not (name and equals and path):
            raise click.UsageError(f"--domain takes NAME=FILE, such as news=news.txt, got {domain}")
        if name in domains:
            raise click.UsageError(f"--domain {name} is given twice; give each domain a different name")
        domains[name] = Address(path)
    return domains
