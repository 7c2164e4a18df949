"""merganser train"""

import time
from pathlib import Path
from typing import Any

import click

from merganser.cli import options, progress, show


@click.command()
@options.corpus
@click.option(
    "--vocab-size", type=int, required=True, help="How many tokens: bytes, merges and special tokens."
)
@options.reading
@click.option(
    "--tie-break",
    type=click.Choice(["ids", "huggingface", "bytes"]),
    default="ids",
    show_default=True,
    help="Which of several equally frequent pairs is merged first.",
)
@click.option(
    "--min-frequency", type=int, default=1, show_default=True, help="Pairs seen less often are not merged."
)
@click.option("--max-token-bytes", type=int, help="The longest token that may be made.")
@click.option("--base", type=click.Path(path_type=Path), help="A tokenizer to go on from; all its ids stay.")
@options.working
@options.cluster
@options.out_folder
@options.as_json
def command(
    corpus: tuple[Path, ...],
    vocab_size: int,
    pattern: str | None,
    special: tuple[str, ...],
    separator: str | None,
    threads: int | None,
    memory: str | None,
    work_dir: Path | None,
    resume: bool,
    checkpoint_every: float,
    ray: str | None,
    storage: str | None,
    base: Path | None,
    out: Path,
    as_json: bool,
    **rules: Any,
) -> None:
    """Train a tokenizer on CORPUS: files, folders, globs, .counts files, '-' or 'python-stdlib'.

    Example: merganser train 'texts/*.txt' --vocab-size 32000 --special '<|endoftext|>'
    """
    from merganser import Local, load, train
    from merganser.formats.native import FILE_NAME

    stages: dict[str, float] = {}
    start = time.perf_counter()
    going_on = load(base) if base else None
    # Kept until the tokenizer is on disk.
    local = Local(threads, memory, work_dir or out / "work", resume, checkpoint_every, keep_work=True)
    engine = options.engine(local, ray, storage)
    with progress.drawn() as draw:

        def watch(stage: str, done: int, total: int) -> None:
            stages.setdefault(stage, time.perf_counter())
            if draw:
                draw(stage, done, total)

        tokenizer = train(
            corpus,
            vocab_size,
            **options.reading_settings(pattern, special, separator),
            base=going_on,
            engine=engine,
            progress=watch,
            **rules,
        )
    merged = time.perf_counter()
    out.mkdir(parents=True, exist_ok=True)
    path = out / FILE_NAME
    tokenizer.save(path)
    engine.clean()

    counted = stages.get("merge", merged)
    seconds = {"count": counted - start, "merge": merged - counted, "save": time.perf_counter() - merged}
    if as_json:
        show.as_json(
            {
                "tokenizer": str(path),
                "vocab_size": tokenizer.vocab_size,
                "merges": len(tokenizer.merges),
                "special_tokens": tokenizer.special_tokens,
                "pattern": tokenizer.pattern_name or tokenizer.pattern,
                "training": dict(tokenizer.training),
                "seconds": seconds,
            }
        )
        return
    facts = tokenizer.training
    click.echo(f"{tokenizer.vocab_size:,} tokens from {facts['documents']:,} documents, in {path}")
    click.echo("  ".join(f"{stage} {taken:.2f} s" for stage, taken in seconds.items()))
    if facts["invalid_bytes"]:
        click.echo(
            f"note: {facts['invalid_bytes']:,} bytes were not UTF-8; each was a piece of its own", err=True
        )
