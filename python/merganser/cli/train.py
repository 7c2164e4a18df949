"""merganser train"""

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from merganser.cli import drawing, naming, options, progress
from merganser.corpus.addresses import Address


@click.command(epilog=f"{naming.HELP}\n\n{options.CORPUS}")
@options.corpus
@click.option(
    "--vocab-size",
    type=options.TokenCount(1),
    required=True,
    help="How many tokens: bytes, merges and special tokens. 32k is 32,000.",
)
@options.reading
@options.files
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
@click.option(
    "--min-pretoken-count",
    type=int,
    default=1,
    show_default=True,
    help="Pre-tokens seen less often are dropped; what that has changed is found out and told.",
)
@click.option(
    "--certify/--no-certify",
    default=True,
    show_default=True,
    help="After dropping pre-tokens, prove how many merges are those of all pre-tokens.",
)
@click.option("--base", type=naming.TOKENIZER, help="A tokenizer to extend; all its ids stay.")
@options.working
@options.cluster
@options.out_folder
@options.force
@options.as_json
def command(
    corpus: tuple[Address, ...],
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
    base: naming.Named | None,
    out: Path,
    force: bool,
    as_json: bool,
    **rules: Any,
) -> None:
    """Train a tokenizer on CORPUS.

    Example: merganser train 'texts/*.txt' --vocab-size 32000 --special '<|endoftext|>'
    """
    from merganser import Local, train
    from merganser.cli import resumable
    from merganser.files import check_folder, make_folder
    from merganser.formats.native import FILE_NAME

    options.keep_unless_forced(out / FILE_NAME, force)
    check_folder(out, "choose another --out")
    stages: dict[str, float] = {}
    start = time.perf_counter()
    going_on = base.load() if base else None
    # Kept until the tokenizer is on disk.
    work_dir = work_dir or out / "work"
    local = Local(threads, memory, work_dir, resume, checkpoint_every, keep_work=True)
    engine = options.engine(local, ray, storage)
    with progress.drawn() as draw:

        def watch(stage: str, done: int, total: int) -> None:
            stages.setdefault(stage, time.perf_counter())
            if draw:
                draw(stage, done, total)

        with resumable(work_dir.is_dir):
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
    make_folder(out, "choose another --out")
    path = out / FILE_NAME
    tokenizer.save(path)
    engine.clean()

    counted = stages.get("merge", merged)
    proving = stages.get("certify", merged)
    seconds = {"count": counted - start, "merge": proving - counted}
    if proving < merged:
        seconds["certify"] = merged - proving
    seconds["save"] = time.perf_counter() - merged
    if as_json:
        drawing.as_json(
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
    made = f"{tokenizer.vocab_size:,} tokens from {facts['documents']:,} documents, in "
    click.echo(drawing.with_path(made, path))
    click.echo("  ".join(f"{stage} {taken:.2f} s" for stage, taken in seconds.items()))
    if facts["min_pretoken_count"] > 1:
        _show_pruning(facts, len(tokenizer.merges) - len(going_on.merges if going_on else ()))
    if facts["invalid_bytes"]:
        click.echo(
            f"note: {facts['invalid_bytes']:,} bytes were not UTF-8; each was a pre-token of its own",
            err=True,
        )


def _show_pruning(facts: Mapping[str, Any], learned: int) -> None:
    proven = facts["proven_merges"]
    click.echo(
        f"dropped {facts['dropped_pretokens']:,} of {facts['unique_pretokens']:,} unique pre-tokens, "
        f"{facts['dropped_total'] / facts['pretokens']:.2%} of all"
    )
    if proven is None:
        click.echo("what that has changed was not looked into")
        return
    if proven == learned:
        click.echo(f"all {learned:,} merges are proven identical to training on all pre-tokens")
        return
    known = f"merges 1-{proven:,} are" if proven else "no merge is"
    why = "which differs" if proven < facts["checked_merges"] else "checked no further"
    click.echo(
        f"{known} proven identical to training on all pre-tokens; "
        f"from {proven + 1:,} on ({why}) they are only likely"
    )
