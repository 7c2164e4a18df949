"""merganser embed"""

import time
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from merganser.cli import formatting, naming, options, progress
from merganser.cli.suggestions import Choice
from merganser.cli.verbosity import add_verbosity

if TYPE_CHECKING:
    from merganser.embed import Embeddings, EmbedSettings, Interval

#: The number of words to print with their nearest neighbors.
_WORDS = 5
#: The file names of exports.
_FILES = {"word2vec": "vectors.txt", "word2vec-bin": "vectors.bin", "parquet": "vectors.parquet"}


@click.command(epilog=f"{naming.HELP}\n\n{options.CORPUS_HELP}")
@click.argument("corpus", required=False)
@click.option("--dataset", metavar="CORPUS", help="Same as CORPUS.")
@click.option(
    "--tokenizer",
    type=naming.TOKENIZER,
    help="Tokenizer for the text. Default: train one of up to 32,768 tokens.",
)
@click.option("--embedding-dim", type=int, default=100, show_default=True, help="Dimension of the vectors.")
@click.option(
    "--batch-size",
    type=int,
    default=512,
    show_default=True,
    help="Tokens that a thread processes at a time, at one learning rate. Every pair is a separate update; "
    "gradients are not averaged.",
)
@click.option(
    "--num-negative-samples",
    type=int,
    default=10,
    show_default=True,
    help="Negative samples per pair.",
)
@click.option(
    "--negatives",
    type=Choice(["unigram", "uniform"]),
    default="unigram",
    show_default=True,
    help="How to draw negative samples: by their count to the power 0.75, or all tokens equally often.",
)
@click.option(
    "--window-size",
    type=int,
    default=5,
    show_default=True,
    help="Context tokens on each side.",
)
@click.option("--epochs", type=int, default=10, show_default=True, help="Passes over the text.")
@click.option(
    "--learning-rate",
    type=float,
    default=0.025,
    show_default=True,
    help="Initial learning rate. It decays linearly to 0.0001.",
)
@click.option(
    "--preset",
    type=Choice(["fast", "balanced", "best"]),
    help="Batch size, negatives, window, epochs. fast: 2048, 5, 3, 10; balanced: 512, 10, 5, 10; best: 512, "
    "20, 7, 15. Explicit options take precedence.",
)
@click.option(
    "--objective",
    type=Choice(["negatives", "shared", "softmax"]),
    default="negatives",
    show_default=True,
    help="Loss: separate negatives for each pair, negatives shared in a window (faster), or the full softmax "
    "(slow).",
)
@click.option(
    "--dynamic-window/--fixed-window",
    default=True,
    show_default=True,
    help="Draw each window size at random from 1 up, or keep it fixed.",
)
@click.option(
    "--subsample",
    type=float,
    default=1e-3,
    show_default=True,
    help="Randomly skip tokens above this share of the text. 0 keeps all.",
)
@click.option(
    "--min-count", type=int, default=5, show_default=True, help="Minimum count of a token to get a vector."
)
@click.option(
    "--seed", type=int, default=1, show_default=True, help="Random seed. Reproducible with --threads 1."
)
@click.option(
    "--device",
    type=Choice(["auto", "cpu", "cuda", "mps"]),
    default="auto",
    show_default=True,
    help="Device to train on. cuda and mps need merganser[torch]. auto is cpu, or with --backend torch the "
    "first available of mps, cuda and cpu.",
)
@click.option(
    "--backend",
    type=Choice(["core", "torch"]),
    default="core",
    show_default=True,
    help="Implementation: the Rust core, on the CPU, or torch.",
)
@options.add_read_options
@options.threads
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    default="merganser-out/embeddings",
    show_default=True,
    help="Folder to write the embeddings to.",
)
@options.force
@click.option(
    "--export",
    "exports",
    multiple=True,
    type=Choice(["word2vec", "word2vec-bin", "tsv", "parquet"]),
    help="Additional format to write. Repeatable.",
)
@click.option(
    "--evaluate",
    "lists",
    multiple=True,
    metavar="NAME|PATH",
    help="Evaluate on wordsim353, simlex999 or google-analogies, if gensim is installed, or on a file in the "
    "same format. Repeatable.",
)
@click.option(
    "--resume/--no-resume", default=True, show_default=True, help="Resume an interrupted run, or start over."
)
@click.option(
    "--checkpoint-every",
    type=click.FloatRange(0, min_open=True),
    default=10,
    show_default=True,
    metavar="SECONDS",
    help="Time between checkpoints. Ctrl-C also writes one.",
)
@add_verbosity
@options.as_json
@click.pass_context
@naming.revision
def command(
    ctx: click.Context,
    /,
    corpus: str | None,
    dataset: str | None,
    tokenizer: naming.TokenizerName | None,
    negatives: str,
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
    """Train a vector for every token of CORPUS from the tokens around it.

    The default CORPUS is frankenstein, or python-stdlib if it cannot be downloaded. Run `merganser report
    OUT` for charts of the result.

    Example: merganser embed frankenstein --out frankenstein-vectors
    """
    from merganser.cli import resumable
    from merganser.corpus import default
    from merganser.embed import EmbedSettings, checkpoint, evaluate
    from merganser.embed.text import VOCAB_SIZE, read, tokenizer_for
    from merganser.embed.training import CheckpointSettings, choose, described, train_on
    from merganser.engines import memory

    if corpus and dataset:
        raise click.UsageError("the corpus is given twice; pass CORPUS or --dataset, not both")
    _apply_preset(ctx, preset, given)
    if negatives == "uniform":
        given["noise_power"] = 0.0
    read_options = {name: given.pop(name) for name in options.READ_OPTIONS}
    settings = EmbedSettings(**given, threads=threads)
    backend, device = choose(backend, device)
    _check_out(out, tokenizer, force)
    if not as_json:
        click.echo(f"using {described(backend, device, threads)}")
    start = time.perf_counter()
    name = corpus or dataset or default()
    log = _EpochLog(settings, quiet=as_json)
    with progress.bars() as draw:
        loaded = (
            tokenizer.load() if tokenizer else tokenizer_for(name, VOCAB_SIZE, threads, draw, **read_options)
        )
        text = read(name, loaded, threads, draw, **read_options)
        prepared = time.perf_counter()
        with resumable((out / checkpoint.FILE_NAME).is_file):
            embeddings = train_on(
                text,
                loaded,
                settings,
                backend=backend,
                device=device,
                checkpoints=CheckpointSettings(out, resume, checkpoint_every, keep=True),
                on_interval=log,
                progress=draw,
            )
    files = _save(embeddings, name, text, out, exports)
    training_seconds = embeddings.training["seconds"]
    result = {
        "corpus": name,
        "device": embeddings.training["device"],
        "vocab_size": loaded.vocab_size,
        "tokens": len(text.ids),
        "vectors": len(embeddings),
        "dimension": embeddings.dimension,
        "pairs": embeddings.training["pairs"],
        "loss": log.last_loss,
        "seconds": {
            "prepare": prepared - start,
            "train": training_seconds,
            "epoch": training_seconds / settings.epochs,
        },
        "peak_memory_mb": memory.peak() / 1e6,
        "evaluation": {path: _as_dict(evaluate(embeddings, path)) for path in lists},
        "files": list(map(str, files)),
    }
    if as_json:
        formatting.print_json(result)
    else:
        _print_result(result, embeddings)


def _apply_preset(ctx: click.Context, preset: str | None, given: dict[str, Any]) -> None:
    """Replace the defaults among the given options by the values of the preset."""
    from merganser.embed import PRESETS

    for name, value in PRESETS.get(preset or "", {}).items():
        if ctx.get_parameter_source(name) is not click.core.ParameterSource.COMMANDLINE:
            given[name] = value


def _check_out(out: Path, tokenizer: naming.TokenizerName | None, force: bool) -> None:
    """Raise if `out` is not writable, or holds embeddings or a tokenizer that would be replaced."""
    from merganser.embed import checkpoint, folder
    from merganser.files import check_folder
    from merganser.formats.native import FILE_NAME

    options.refuse_overwrite(out / folder.FACTS, force)
    if not (out / checkpoint.FILE_NAME).exists() and not (tokenizer and tokenizer.path == out):
        options.refuse_overwrite(out / FILE_NAME, force)
    check_folder(out, "choose another --out")


class _EpochLog:
    """Collect the intervals of a training, and print a line after every epoch."""

    def __init__(self, settings: "EmbedSettings", quiet: bool) -> None:
        self.epochs = settings.epochs
        self.quiet = quiet
        self.intervals: list[Interval] = []

    @property
    def last_loss(self) -> float | None:
        return next((row.loss for row in reversed(self.intervals) if row.loss is not None), None)

    def __call__(self, interval: "Interval", seconds_left: float) -> None:
        self.intervals.append(interval)
        is_end_of_epoch = interval.mean_similarity is not None
        if is_end_of_epoch and not self.quiet:
            self._print_epoch(interval.epoch, seconds_left)

    def _print_epoch(self, epoch: int, seconds_left: float) -> None:
        rows = [row for row in self.intervals if row.epoch == epoch and row.loss is not None]
        seconds = max(sum(row.seconds for row in rows), 1e-9)
        tokens, pairs = sum(row.tokens for row in rows), sum(row.pairs for row in rows)
        loss = f"loss {rows[-1].loss:.4f}" if rows else "loss unknown"
        click.echo(
            f"epoch {epoch:>2}/{self.epochs}  {loss}  {tokens / seconds:>10,.0f} tokens/s"
            f"  {pairs / seconds:>11,.0f} pairs/s  {seconds:6.2f} s  {seconds_left:6.1f} s left"
        )


def _save(embeddings: "Embeddings", name: str, text: Any, out: Path, exports: tuple[Any, ...]) -> list[Path]:
    """Save embeddings and their exports, and remove the checkpoint."""
    from merganser.embed import checkpoint, folder

    embeddings.training["corpus"] = name  # type: ignore[index]  # the dictionary is ours
    files = folder.save(embeddings, out, text)
    checkpoint.remove(out)
    for format in exports:
        files += embeddings.export(out if format == "tsv" else out / _FILES[format], format=format)
    return files


def _as_dict(result: Any) -> dict[str, Any]:
    return {**asdict(result), "coverage": result.coverage}


def _print_result(result: dict[str, Any], embeddings: "Embeddings") -> None:
    from merganser.embed.study import lists_for

    seconds = result["seconds"]
    click.echo(
        f"\n{result['corpus']}: {result['tokens']:,} tokens, {result['pairs']:,} pairs; "
        f"{result['vectors']:,} vectors of dimension {result['dimension']}"
    )
    click.echo(f"device       {result['device']}")
    click.echo(
        f"time         {seconds['train']:.2f} s of training, {seconds['epoch']:.2f} s per epoch; "
        f"{seconds['prepare']:.2f} s of tokenizing"
    )
    click.echo(f"peak memory  {result['peak_memory_mb']:.0f} MB")
    for path, measured in result["evaluation"].items():
        figure = (
            f"spearman {measured['spearman']:.3f}"
            if "spearman" in measured
            else f"{measured['right']:,} correct"
        )
        total = measured.get("pairs", measured.get("questions"))
        click.echo(f"{path}: {figure}, on {measured['covered']:,} of {total:,} ({measured['coverage']:.0%})")
    click.echo()
    for word in [word for word in lists_for(embeddings).shown if word in embeddings][:_WORDS]:
        neighbors = ", ".join(neighbor.word for neighbor in embeddings.most_similar(word, 6))
        click.echo(f"{word:>12}: {neighbors}")
    click.echo()
    for file in result["files"]:
        click.echo(formatting.with_path("wrote ", file))
