"""merganser train"""

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from merganser.cli import formatting, naming, options, progress
from merganser.cli.suggestions import Choice
from merganser.cli.verbosity import add_verbosity
from merganser.corpus.addresses import Address


@click.command(epilog=f"{naming.HELP}\n\n{options.CORPUS_HELP}")
@options.corpus
@click.option(
    "--vocab-size",
    type=options.TokenCount(1),
    required=True,
    help="Vocabulary size: 256 bytes, merges and special tokens. 32k is 32,000.",
)
@options.add_split_options
@click.option(
    "--special-extra",
    "special_tokens_extra",
    is_flag=True,
    help="Add special tokens on top of --vocab-size, so that it counts bytes and merges only.",
)
@options.add_read_options
@click.option(
    "--tie-break",
    type=Choice(["ids", "huggingface", "bytes", "sentencepiece", "first"]),
    help="Order of equally frequent pairs; ids by default, sentencepiece for characters marked by ▁.",
)
@click.option(
    "--min-frequency", type=int, default=1, show_default=True, help="Minimum count of a pair to merge it."
)
@click.option("--max-token-bytes", type=int, help="Maximum length of a token in bytes.")
@click.option(
    "--max-token-length",
    type=int,
    help="Exclusive limit of Hugging Face's trainer: merged tokens are shorter, or two bytes.",
)
@click.option(
    "--min-pretoken-count",
    type=int,
    default=1,
    show_default=True,
    help="Drop pre-tokens that occur fewer times, and report which merges are still proven exact.",
)
@click.option(
    "--certify/--no-certify",
    default=True,
    show_default=True,
    help="Prove which merges are unaffected by dropped pre-tokens.",
)
@click.option("--base", type=naming.TOKENIZER, help="Tokenizer to extend. Its ids do not change.")
@click.option(
    "--normalizer",
    help="Normalize text first: nfc, nfkc, lowercase, nfc+lowercase; nmt_nfkc for characters.",
)
@options.add_character_options
@options.add_engine_options
@options.add_ray_options
@options.out_folder
@options.force
@add_verbosity
@options.as_json
@naming.revision
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
    base: naming.TokenizerName | None,
    out: Path,
    force: bool,
    as_json: bool,
    **rules: Any,
) -> None:
    """Train a tokenizer on CORPUS.

    Example: merganser train texts --vocab-size 32000 --special '<|endoftext|>'

    With --unit characters, the tokenizer is of SentencePiece's kind: --byte-fallback, --normalizer nmt_nfkc
    and --character-coverage 0.9995 are its usual settings.
    """
    from merganser import Local, train
    from merganser.cli import resumable
    from merganser.files import check_folder, make_folder
    from merganser.formats.native import FILE_NAME

    options.refuse_overwrite(out / FILE_NAME, force)
    check_folder(out, "choose another --out")
    stages: dict[str, float] = {}
    start = time.perf_counter()
    base_tokenizer = base.load() if base else None
    unit = options.take_unit(rules)
    # The work folder is kept until the tokenizer is on disk.
    work_dir = work_dir or out / "work"
    local = Local(threads, memory, work_dir, resume, checkpoint_every, keep_work=True)
    engine = options.engine(local, ray, storage)
    with progress.bars() as draw:

        def watch(stage: str, done: int, total: int) -> None:
            stages.setdefault(stage, time.perf_counter())
            if draw:
                draw(stage, done, total)

        with resumable(work_dir.is_dir):
            tokenizer = train(
                corpus,
                vocab_size,
                **options.split_arguments(pattern, special, separator),
                base=base_tokenizer,
                unit=unit,
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
    certifying = stages.get("certify", merged)
    seconds = {"count": counted - start, "merge": certifying - counted}
    if certifying < merged:
        seconds["certify"] = merged - certifying
    seconds["save"] = time.perf_counter() - merged
    if as_json:
        formatting.print_json(
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
    summary = f"{tokenizer.vocab_size:,} tokens from {formatting.count(facts['documents'], 'document')}: "
    click.echo(formatting.with_path(summary, path))
    click.echo("  ".join(f"{stage} {duration:.2f} s" for stage, duration in seconds.items()))
    if facts.get("min_pretoken_count", 1) > 1:
        _print_pruning(facts, len(tokenizer.merges) - len(base_tokenizer.merges if base_tokenizer else ()))
    formatting.note_invalid_bytes(facts["invalid_bytes"])


def _print_pruning(facts: Mapping[str, Any], learned: int) -> None:
    proven = facts["proven_merges"]
    click.echo(
        f"dropped {facts['dropped_pretokens']:,} of {facts['unique_pretokens']:,} unique pre-tokens "
        f"({facts['dropped_total'] / facts['pretokens']:.2%} of all occurrences)"
    )
    if proven is None:
        click.echo("the effect on the merges was not checked (--no-certify)")
        return
    if proven == learned:
        click.echo(f"all {learned:,} merges are proven identical to training on all pre-tokens")
        return
    exact = f"merges 1-{proven:,} are" if proven else "no merge is"
    rest = "may differ" if proven < facts["checked_merges"] else "were not checked"
    click.echo(
        f"{exact} proven identical to training on all pre-tokens; merges from {proven + 1:,} on {rest}"
    )
