"""merganser embed"""

import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from merganser.cli import drawing, naming, options, progress

if TYPE_CHECKING:
    from merganser.embed import Embeddings, Interval

_SHOWN = 5


@click.command(epilog=f"{naming.HELP}\n\n{options.CORPUS}")
@click.argument("corpus", required=False)
@click.option("--dataset", metavar="CORPUS", help="The same as CORPUS.")
@click.option(
    "--tokenizer",
    type=naming.TOKENIZER,
    help="The tokenizer whose tokens get vectors; if not given, one of up to 32,768 tokens is trained on the "
    "corpus, which makes most words one token.",
)
@click.option("--embedding-dim", type=int, default=100, show_default=True, help="Numbers in a vector.")
@click.option(
    "--batch-size",
    type=int,
    default=512,
    show_default=True,
    help="How many tokens of text a thread takes at a time, with one learning rate. Threads share the "
    "vectors without locks, and every pair is a step of its own: nothing is averaged over a batch.",
)
@click.option(
    "--num-negative-samples",
    type=int,
    default=10,
    show_default=True,
    help="Random tokens that each neighbour is told from.",
)
@click.option(
    "--window-size",
    type=int,
    default=5,
    show_default=True,
    help="How many tokens on each side are neighbours.",
)
@click.option("--epochs", type=int, default=10, show_default=True, help="How often the text is gone through.")
@click.option(
    "--learning-rate",
    type=float,
    default=0.025,
    show_default=True,
    help="The largest; it falls in a straight line to 0.0001.",
)
@click.option(
    "--preset",
    type=click.Choice(["fast", "balanced", "best"]),
    help="fast: batch 2048, 5 negatives, window 3; balanced: 512, 10, 5, 10 epochs; best: 512, 20, 7, 15 "
    "epochs. What is given besides goes before it.",
)
@click.option(
    "--objective",
    type=click.Choice(["negatives", "shared", "softmax"]),
    default="negatives",
    show_default=True,
    help="negatives of its own for each pair, negatives shared in a window (faster), or the full softmax "
    "(slow).",
)
@click.option(
    "--dynamic-window/--fixed-window", default=True, show_default=True, help="Draw windows from 1 up."
)
@click.option(
    "--subsample",
    type=float,
    default=1e-3,
    show_default=True,
    help="Tokens above this share of the text are left out now and then; 0 keeps all.",
)
@click.option(
    "--min-count", type=int, default=5, show_default=True, help="Tokens seen less often get no vector."
)
@click.option(
    "--seed", type=int, default=1, show_default=True, help="With --threads 1: the same numbers every time."
)
@click.option(
    "--device",
    type=click.Choice(["auto", "cpu", "cuda", "mps"]),
    default="auto",
    show_default=True,
    help="cuda and mps need the extra [torch]; auto is the processor, or with --backend torch the best there "
    "is: mps, cuda or cpu.",
)
@click.option(
    "--backend",
    type=click.Choice(["core", "torch"]),
    default="core",
    show_default=True,
    help="What trains: our core, on the processor, or torch.",
)
@options.threads
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    default="merganser-out/embeddings",
    show_default=True,
    help="The folder for the embeddings.",
)
@options.force
@click.option(
    "--export",
    "exports",
    multiple=True,
    type=click.Choice(["word2vec", "word2vec-bin", "tsv", "parquet"]),
    help="Write this format as well; may be given several times.",
)
@click.option(
    "--evaluate",
    "lists",
    multiple=True,
    metavar="NAME|PATH",
    help="Measure on wordsim353, simlex999 or google-analogies of an installed gensim, or on a file like "
    "these.",
)
@click.option(
    "--resume/--no-resume", default=True, show_default=True, help="Go on from a run that was stopped."
)
@click.option(
    "--checkpoint-every",
    type=click.FloatRange(0, min_open=True),
    default=10,
    show_default=True,
    metavar="SECONDS",
    help="How much work may be lost when it is killed; Ctrl-C loses none.",
)
@options.as_json
@click.pass_context
def command(
    ctx: click.Context,
    /,
    corpus: str | None,
    dataset: str | None,
    tokenizer: naming.Named | None,
    preset: str | None,
    device: Any,
    backend: Any,
    threads: int | None,
    out: Path,
    force: bool,
    exports: tuple[Any, ...],
    lists: tuple[str, ...],
    resume: bool,
    checkpoint_every: float,
    as_json: bool,
    **given: Any,
) -> None:
    """Learn a vector for every token of CORPUS, from the tokens around it.

    Without a CORPUS, frankenstein is used, or python-stdlib where that cannot be fetched. 'merganser report
    OUT' then draws what was learned.

    Example: merganser embed frankenstein --out frankenstein-vectors
    """
    from merganser.cli import resumable
    from merganser.corpus import default
    from merganser.embed import PRESETS, EmbedSettings, checkpoint, evaluate, folder
    from merganser.embed.text import VOCAB_SIZE, read, tokenizer_for
    from merganser.embed.training import CheckpointSettings, train_on
    from merganser.engines import memory
    from merganser.files import check_folder
    from merganser.formats.native import FILE_NAME

    if corpus and dataset:
        raise click.UsageError("name the corpus once: as CORPUS or as --dataset")
    for name, value in PRESETS.get(preset or "", {}).items():
        if ctx.get_parameter_source(name) is not click.core.ParameterSource.COMMANDLINE:
            given[name] = value
    settings = EmbedSettings(**given, threads=threads)
    options.keep_unless_forced(out / folder.FACTS, force)
    if not (out / checkpoint.FILE_NAME).exists() and not (tokenizer and tokenizer.path == out):
        options.keep_unless_forced(out / FILE_NAME, force)
    check_folder(out, "choose another --out")
    start = time.perf_counter()
    name = corpus or dataset or default()
    told: list[Interval] = []
    with progress.drawn() as draw:
        known = tokenizer.load() if tokenizer else None
        known = known or tokenizer_for(name, VOCAB_SIZE, threads, draw)
        text = read(name, known, threads, draw)
        prepared = time.perf_counter()

        def tell(interval: "Interval", left: float) -> None:
            told.append(interval)
            if not as_json and interval.mean_similarity is not None:
                _tell_epoch(told, settings.epochs, left)

        with resumable((out / checkpoint.FILE_NAME).is_file):
            made = train_on(
                text,
                known,
                settings,
                backend=backend,
                device=device,
                checkpoints=CheckpointSettings(out, resume, checkpoint_every, keep=True),
                on_interval=tell,
                progress=draw,
            )
    made.training["corpus"] = name  # type: ignore[index]  # the dictionary was made for this
    files = folder.save(made, out, text)
    checkpoint.remove(out)
    for format in exports:
        files += made.export(out if format == "tsv" else out / _FILES[format], format=format)
    measured = {path: evaluate(made, path) for path in lists}
    facts = {
        "corpus": name,
        "device": made.training["device"],
        "vocab_size": known.vocab_size,
        "tokens": len(text.ids),
        "vectors": len(made),
        "dimension": made.dimension,
        "pairs": made.training["pairs"],
        "loss": next((row.loss for row in reversed(told) if row.loss is not None), None),
        "seconds": {
            "prepare": prepared - start,
            "train": made.training["seconds"],
            "epoch": made.training["seconds"] / settings.epochs,
        },
        "peak_memory_mb": memory.peak() / 1e6,
        "evaluation": {path: _as_facts(result) for path, result in measured.items()},
        "files": list(map(str, files)),
    }
    if as_json:
        drawing.as_json(facts)
    else:
        _tell(facts, made)


#: The names of exported files.
_FILES = {"word2vec": "vectors.txt", "word2vec-bin": "vectors.bin", "parquet": "vectors.parquet"}


def _tell_epoch(told: "list[Interval]", epochs: int, left: float) -> None:
    rows = [row for row in told if row.epoch == told[-1].epoch and row.loss is not None]
    pairs = sum(row.pairs for row in rows)
    seconds = max(sum(row.seconds for row in rows), 1e-9)
    tokens = sum(row.tokens for row in rows)
    loss = f"loss {rows[-1].loss:.4f}" if rows else "loss unknown"
    click.echo(
        f"epoch {told[-1].epoch:>2}/{epochs}  {loss}  {tokens / seconds:>10,.0f} tokens/s"
        f"  {pairs / seconds:>11,.0f} pairs/s  {seconds:6.2f} s  {left:6.1f} s left"
    )


def _as_facts(result: Any) -> dict[str, Any]:
    from dataclasses import asdict

    return {**asdict(result), "coverage": result.coverage}


def _tell(facts: dict[str, Any], made: "Embeddings") -> None:
    seconds = facts["seconds"]
    click.echo(
        f"\n{facts['corpus']}: {facts['tokens']:,} tokens of text, {facts['vectors']:,} vectors of "
        f"{facts['dimension']} numbers, from {facts['pairs']:,} pairs"
    )
    click.echo(f"device       {facts['device']}")
    click.echo(
        f"time         {seconds['train']:.2f} s, {seconds['epoch']:.2f} s per epoch; before it, reading "
        f"and tokenizing {seconds['prepare']:.2f} s"
    )
    click.echo(f"peak memory  {facts['peak_memory_mb']:.0f} MB")
    for path, result in facts["evaluation"].items():
        share = "spearman" if "spearman" in result else "right"
        figure = f"{result['spearman']:.3f}" if share == "spearman" else f"{result['right']:,}"
        total = result.get("pairs", result.get("questions"))
        click.echo(
            f"{path}: {share} {figure} on {result['covered']:,} of {total:,} ({result['coverage']:.0%})"
        )
    click.echo("")
    from merganser.embed.study import lists_for

    for word in [word for word in lists_for(made).shown if word in made][:_SHOWN]:
        near = ", ".join(neighbour.word for neighbour in made.most_similar(word, 6))
        click.echo(f"{word:>12}: {near}")
    click.echo()
    for file in facts["files"]:
        click.echo(drawing.with_path("wrote ", file))
