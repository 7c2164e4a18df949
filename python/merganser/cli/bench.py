"""merganser bench"""

import os
import platform
import warnings
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from merganser.cli import formatting, naming, options, progress
from merganser.cli.suggestions import Choice
from merganser.cli.verbosity import add_verbosity
from merganser.cli.verify import DIFFERENT
from merganser.corpus.addresses import Address

if TYPE_CHECKING:
    from merganser import Tokenizer
    from merganser.benchmark import Result, Texts

#: As in `merganser.benchmark`, which --help does not import.
PEERS = ("tiktoken", "tokenizers", "gigatoken", "fastokens")
#: The size of the tokenizer to train if there is none.
_VOCAB_SIZE = 16_384
_IDS = {"same": "the same"}
_OUTPUTS = {"lists": "lists of ids", "arrays": "arrays of ids"}
#: The width of a speed, and of the name of a library.
_CELL, _NAME = 9, 26


@click.command(cls=options.ManyOnCommand, epilog=f"{naming.HELP}\n\n{options.CORPUS_HELP}")
@click.argument("tokenizer", type=naming.TOKENIZER, required=False)
@click.option(
    "--on",
    multiple=True,
    type=Address,
    metavar="CORPUS...",
    shell_complete=naming.complete_path,
    help="Corpus to encode. Default: python-stdlib.",
)
@click.option(
    "--max-mb",
    type=click.FloatRange(0, min_open=True),
    default=10.0,
    show_default=True,
    help="Maximum size of the text in MB. Half of it is for warming up.",
)
@click.option(
    "--peer",
    "peers",
    multiple=True,
    type=Choice(PEERS),
    help="Library to compare with. Repeatable. Default: all that are installed.",
)
@click.option(
    "--rounds",
    type=click.IntRange(1),
    default=3,
    show_default=True,
    help="Number of measurements. The best one counts.",
)
@click.option(
    "--time-limit",
    type=click.FloatRange(0, min_open=True),
    default=120,
    show_default=True,
    help="Time limit of each process in seconds.",
)
@options.add_read_options
@options.threads
@add_verbosity
@options.as_json
@naming.revision
def command(
    tokenizer: naming.TokenizerName | None,
    on: tuple[Address, ...],
    max_mb: float,
    peers: tuple[str, ...],
    rounds: int,
    time_limit: float,
    threads: int | None,
    as_json: bool,
    **read_options: Any,
) -> int:
    """Measure how fast this machine encodes text with TOKENIZER, and compare with other libraries.

    The tokenizer is loaded into every installed library of tiktoken, tokenizers, gigatoken and fastokens. One
    that returns other ids is reported and not timed, and the exit code is 3.

    Without TOKENIZER, it is merganser-out if that exists, else one trained on the text for warming up.

    New text was not encoded before; seen text is the same text again, which libraries with a cache encode
    faster. Every measurement is a process of its own.

    Example: merganser bench

    Example: merganser bench gpt-4o --on texts --threads 1
    """
    from merganser.benchmark import installed, measure, read_texts

    missing = [name for name in PEERS if installed(name) is None]
    if unavailable := [name for name in peers if name in missing]:
        raise ImportError(f"{unavailable[0]} is not installed: pip install {' '.join(unavailable)}")
    chosen = list(dict.fromkeys(peers)) or [name for name in PEERS if name not in missing]
    texts = read_texts(on or "python-stdlib", max_mb * 1e6, **read_options)
    name, loaded = _tokenizer(tokenizer, texts)
    threads = threads or _cores()
    with progress.bars() as draw:
        results = measure(
            loaded,
            texts,
            chosen,
            threads=threads,
            rounds=rounds,
            time_limit=time_limit,
            progress=draw and (lambda done, total: draw("measure", done, total)),
        )
    facts = {
        "tokenizer": name,
        "vocab_size": loaded.vocab_size,
        "pattern": loaded.pattern_name or loaded.pattern,
        "texts": len(texts.measured),
        "bytes": texts.bytes,
        "threads": threads,
        "machine": _machine(),
    }
    if as_json:
        rows = [asdict(result) for result in results]
        formatting.print_json({**facts, "libraries": rows, "not_installed": missing})
    else:
        source = ", ".join(map(os.fspath, on)) or "python-stdlib"
        _print_facts(facts, source)
        _print_table(results)
        _print_notes(results, [] if peers else missing)
    return DIFFERENT if any(result.outcome == "different" for result in results) else 0


def _tokenizer(name: naming.TokenizerName | None, texts: "Texts") -> "tuple[str, Tokenizer]":
    from merganser import MerganserWarning, train

    default = naming.parse(naming.DEFAULT)
    if name or Path(default.source).exists():
        name = name or default
        return name.title, name.load()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MerganserWarning)  # a small text yields fewer tokens
        return "a tokenizer trained for this", train(texts.warm_up, _VOCAB_SIZE)


def _cores() -> int:
    """Return the number of cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):  # Linux
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _machine() -> dict[str, Any]:
    return {
        "processor": _processor(),
        "cores": _cores(),
        "system": platform.platform(terse=True),
        "python": platform.python_version(),
    }


def _processor(cpuinfo: Path = Path("/proc/cpuinfo")) -> str:
    """Return the name of the processor, which Python knows only on some systems."""
    try:
        lines = cpuinfo.read_text("utf-8", "replace").splitlines()
    except OSError:  # not Linux
        lines = []
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, "") or platform.processor() or platform.machine()


def _print_facts(facts: dict[str, Any], source: str) -> None:
    pattern = facts["pattern"] if len(facts["pattern"]) <= 12 else "its own"
    tokenizer = formatting.short_path(facts["tokenizer"], 30)
    click.echo(f"{tokenizer}: {facts['vocab_size']:,} tokens, {pattern} pattern")
    size = f"{facts['bytes'] / 1e6:,.1f} MB in {formatting.count(facts['texts'], 'text')} of "
    click.echo(formatting.with_path(size, source))
    machine = facts["machine"]
    threads = formatting.count(facts["threads"], "thread")
    click.echo(f"{threads} on {machine['processor']}; Python {machine['python']}\n")


def _print_table(results: "Sequence[Result]") -> None:
    heads = "".join(f"{title:>{2 * _CELL}}" for title in _OUTPUTS.values())
    click.echo(f"{'MB/s':{_NAME}}{heads}")
    click.echo(f"{'':{_NAME}}" + f"{'new':>{_CELL}}{'seen':>{_CELL}}" * len(_OUTPUTS) + "   ids")
    for result in results:
        ids = "" if result is results[0] else _IDS.get(result.outcome, result.outcome)
        cells = "".join(f"{_figure(speed):>{_CELL}}" for speed in _speeds(result))
        click.echo(f"{f'{result.library} {result.version}':{_NAME}}{cells}   {ids}".rstrip())
    ours, *others = map(_speeds, results)
    best = [max((speed for speed in column if speed), default=None) for column in zip(*others, strict=True)]
    if any(best):
        ratios = [f"{a / b:.1f}×" if a and b else "" for a, b in zip(ours, best, strict=True)]
        click.echo(
            f"{'merganser : best of others':{_NAME}}" + "".join(f"{ratio:>{_CELL}}" for ratio in ratios)
        )


def _speeds(result: "Result") -> list[float | None]:
    """Return the speeds in the order of the columns; None where there is none."""
    found: list[float | None] = []
    for mode in _OUTPUTS:
        speed = result.speeds.get(mode) if result.outcome == "same" else None
        found += (speed.new, speed.seen) if speed else (None, None)
    return found


def _figure(speed: float | None) -> str:
    if speed is None:
        return "–"
    return f"{speed:,.1f}" if speed < 100 else f"{speed:,.0f}"


def _print_notes(results: "Sequence[Result]", missing: list[str]) -> None:
    notes = {
        "different": "returns different ids for {}",
        "unsupported": "cannot hold this tokenizer: {}",
        "failed": "failed: {}",
        "timed out": "took {}; raise --time-limit or lower --max-mb",
    }
    lines = [
        f"{result.library} {notes[result.outcome].format(formatting.inert(result.detail))}"
        for result in results
        if result.outcome != "same"
    ]
    if missing:
        lines.append(f"not installed: {', '.join(missing)}; to compare, pip install {' '.join(missing)}")
    if lines:
        click.echo("\n" + "\n".join(lines))
