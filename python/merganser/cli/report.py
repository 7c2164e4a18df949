"""merganser report"""

import time
from pathlib import Path
from typing import TYPE_CHECKING

import click

from merganser.cli import drawing, naming, options, progress
from merganser.corpus.addresses import Address

if TYPE_CHECKING:
    from merganser import Tokenizer


@click.command(epilog=f"{naming.HELP}\n\n{options.CORPUS}")
@click.argument("names", nargs=-1, required=True, metavar="CORPUS|TOKENIZER|EMBEDDINGS...")
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    default="merganser-out/report",
    show_default=True,
    help="The folder for the report.",
)
@click.option(
    "--held-out",
    multiple=True,
    type=Address,
    metavar="CORPUS",
    help="What to measure on; a part of the corpus if not given. May be given several times.",
)
@click.option(
    "--vocab-size", type=options.TokenCount(1), help="How many tokens to train; 50,256 if not given."
)
@options.pattern
@click.option(
    "--domain",
    "domains",
    multiple=True,
    metavar="NAME=FILE",
    help="One more kind of text for the comparison across domains; may be given several times.",
)
@click.option(
    "--sentences",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Sentences to show instead of ours, one a line; or LANGUAGE<TAB>SENTENCE, the same sentences for "
    "each language, to measure parity on.",
)
@click.option("--token", help="The token whose family tree is drawn.")
@options.threads
@options.as_json
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
) -> None:
    """Write a report: a page of experiments, and every chart and table beside it as a file.

    On a CORPUS a tokenizer is trained, and measured on a part that was held out. Each TOKENIZER is measured
    beside it, or by itself.

    A folder of EMBEDDINGS, which 'merganser embed' wrote, has a report of its own; name it alone.

    Example: merganser report 'texts/*.txt' --vocab-size 32000 --out report
    """
    from merganser import Local
    from merganser.analyse.sentences import read_sentences
    from merganser.embed.folder import is_embeddings
    from merganser.reporting.tokenizers.report import VOCAB_SIZE, report

    start = time.perf_counter()
    if any(map(is_embeddings, names)):
        _tell(_of_embeddings(names, out), start, as_json)
        return
    found = {name: tokenizer for name in names if (tokenizer := _tokenizer(name))}
    corpus = [Address(name) for name in names if name not in found]
    if not corpus and vocab_size is not None:
        raise click.UsageError("--vocab-size goes with a corpus to train on")
    texts = {} if sentences is None else read_sentences(sentences)
    with progress.drawn() as draw:
        page = report(
            out,
            corpus=corpus or None,
            tokenizers=_loaded(list(found.values())),
            held_out=held_out or None,
            vocab_size=VOCAB_SIZE if vocab_size is None else vocab_size,
            pattern=pattern,
            domains=_domains(domains),
            token=token,
            engine=Local(threads=threads),
            progress=draw,
            **texts,
        )
    _tell(page, start, as_json)


def _tell(page: Path, start: float, as_json: bool) -> None:
    seconds = time.perf_counter() - start
    if as_json:
        drawing.as_json({"report": str(page), "seconds": seconds})
    else:
        click.echo(drawing.with_path("", page, f" ({seconds:.1f} s)"))


def _of_embeddings(names: tuple[str, ...], out: Path) -> Path:
    from merganser.reporting.embeddings.report import write

    if len(names) > 1:
        raise click.UsageError("a report about embeddings is about one folder of them; name it alone")
    with progress.drawn() as draw:
        return write(names[0], out, draw)


def _tokenizer(name: str) -> naming.Named | None:
    """The tokenizer of that name, or None where it is a corpus."""
    from merganser.formats.loading import is_tokenizer

    named = naming.named(name)
    return named if named.path is None or is_tokenizer(named.path) else None


def _loaded(tokenizers: list[naming.Named]) -> "dict[str, Tokenizer]":
    """Under the names of the files alone, where that is enough to tell them apart."""
    short = {tokenizer.short_title: tokenizer for tokenizer in tokenizers}
    if len(short) < len(tokenizers):
        return naming.loaded(tokenizers)
    return {title: tokenizer.load() for title, tokenizer in short.items()}


def _domains(given: tuple[str, ...]) -> dict[str, Address]:
    domains: dict[str, Address] = {}
    for domain in given:
        name, equals, path = domain.partition("=")
        if not (name and equals and path):
            raise click.UsageError(f"--domain is NAME=FILE, such as news=news.txt, not {domain}")
        if name in domains:
            raise click.UsageError(f"--domain {name} is given twice; name each kind of text differently")
        domains[name] = Address(path)
    return domains
