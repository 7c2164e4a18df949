"""merganser learn speed"""

from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import click

from merganser.cli import formatting, learn_options, options, progress
from merganser.cli.verbosity import add_verbosity


@click.command()
@learn_options.corpus
@click.option(
    "--merges", type=click.IntRange(1), default=2000, show_default=True, help="Number of merges to learn."
)
@click.option(
    "--sizes",
    default="1000,10000,75000,2000000",
    show_default=True,
    help="Numbers of words to encode. A shorter text is repeated.",
)
@click.option(
    "--plain-words",
    type=click.IntRange(100),
    default=75_000,
    show_default=True,
    help="Maximum number of words to time the plain tokenizer on. Beyond it, its time is extrapolated.",
)
@click.option(
    "--compared-words",
    type=click.IntRange(100),
    default=75_000,
    show_default=True,
    help="Number of words to compare kinds of text and techniques on.",
)
@learn_options.out
@add_verbosity
@options.as_json
def speed(
    corpus: str | None,
    merges: int,
    sizes: str,
    plain_words: int,
    compared_words: int,
    out: Path,
    as_json: bool,
) -> None:
    """Measure the character-level tokenizer, plain and optimized, and the effect of each technique.

    CORPUS is as for `learn char`, except that the fallback for frankenstein is Python's reference manual.
    Both tokenizers are proven equal before anything is timed. Takes two to three minutes, most of it for the
    plain tokenizer.

    Example: merganser learn speed --plain-words 5000
    """
    from merganser.learn import char_bpe, char_bpe_fast, char_speed, speed_pictures

    lengths = _sizes(sizes)
    learn_options.check_out(out)
    name, text = _book(corpus)
    words = char_bpe.split(text)
    learned: list[tuple[str, str]] = []
    with progress.bars() as draw:
        for merge in islice(char_bpe_fast.learn(words), merges):
            learned.append(merge.pair)
            if draw and len(learned) % 50 == 0:
                draw("merge", len(learned), merges)
        measuring = char_speed.Speed(words, learned, plain_words, compared_words, draw)
        title = "books" if corpus is None else learn_options.short_name(name)
        kinds = char_speed.kinds_of_text(title, words, compared_words)
        proven = measuring.prove(kinds)
        by_size = measuring.sizes(lengths)
        usual = next((row for row in by_size if row["words"] == compared_words), None)
        plain = usual["plain"] if usual else measuring.plain(compared_words)
        result: dict[str, Any] = {
            "corpus": name,
            "words": len(words),
            "unique_words": len(set(words)),
            "merges": len(learned),
            "words_proven_equal": proven,
            "sizes": by_size,
            "kinds": measuring.kinds(kinds),
            "breakdown": measuring.breakdown(plain["seconds"])
            | {"plain_extrapolated": plain["extrapolated"]},
            "cache": measuring.cache_memory(),
        }
    short_name = learn_options.short_name(name)
    charts = {
        "tokenizer_optimization_results": speed_pictures.optimization_results(
            short_name, len(learned), result["sizes"], result["kinds"]
        ),
        "optimization_breakdown": speed_pictures.optimization_breakdown(short_name, result["breakdown"]),
    }
    result["files"] = learn_options.save(out, "speed", result, charts)
    if as_json:
        formatting.print_json(result)
    else:
        _print_result(result)


def _sizes(given: str) -> tuple[int, ...]:
    try:
        sizes = tuple(sorted({int(part) for part in given.split(",")}))
    except ValueError:
        raise click.BadParameter(
            f"{given!r} is not a list of numbers; write 1000,10000", param_hint="--sizes"
        ) from None
    if sizes[0] < 1:
        raise click.BadParameter("sizes must be at least 1", param_hint="--sizes")
    return sizes


def _book(corpus: str | None) -> tuple[str, str]:
    """Return the text to measure on: the novel, or Python's reference manual if it cannot be downloaded."""
    from merganser.corpus import OFFLINE, default
    from merganser.learn import text

    name = default() if corpus is None else corpus
    if corpus is None and name == OFFLINE:
        from pydoc_data.topics import topics  # type: ignore[import-not-found, unused-ignore]

        return "the Python reference", "\n".join(topics.values())
    return name, text.read(name, 100)


def _print_result(result: dict[str, Any]) -> None:
    click.echo(
        f"{result['corpus']}: {result['words']:,} words, {result['unique_words']:,} unique; "
        f"{result['merges']:,} merges\nBoth tokenizers return the same ids for all "
        f"{result['words_proven_equal']:,} unique words that were checked.\n"
    )
    heading = (
        "words",
        "unique",
        "pass",
        "seconds",
        "words/s",
        "× plain",
        "tokens",
        "hits",
        "misses",
        "hit rate",
    )
    lines = [heading]
    for row in result["sizes"]:
        plain = row["plain"]
        about = "~" if plain["extrapolated"] else ""
        start = (f"{row['words']:,}", f"{row['unique_words']:,}")
        lines.append(
            (*start, "plain", f"{about}{plain['seconds']:,.4g}", f"{about}{plain['words_per_second']:,.0f}",
             "1", f"{row['first_pass']['tokens']:,}", "", "", "")
        )  # fmt: skip
        for name in ("first", "second"):
            part = row[f"{name}_pass"]
            lines.append(
                ("", "", name, f"{part['seconds']:.3g}", f"{part['words_per_second']:,.0f}",
                 f"{about}{part['speed_up']:,.0f}", f"{part['tokens']:,}", f"{part['hits']:,}",
                 f"{part['misses']:,}", f"{part['hit_rate']:.1%}")
            )  # fmt: skip
    _table(lines, left={2})
    if any(row["plain"]["extrapolated"] for row in result["sizes"]):
        measured = max(row["plain"]["measured_words"] for row in result["sizes"])
        click.echo(f"~ extrapolated: the plain tokenizer was timed on {measured:,} words")
    click.echo()
    kinds = [("text", "unique", "hit rate, first pass", "second pass", "cache")]
    kinds += [
        (row["kind"], f"{row['unique_words']:,}", f"{row['first_hit_rate']:.1%}",
         f"{row['second_hit_rate']:.1%}", row["cache"])
        for row in result["kinds"]
    ]  # fmt: skip
    _table(kinds, left={0, 4})
    click.echo()
    about = "~" if result["breakdown"]["plain_extrapolated"] else ""
    steps = [("techniques, added one by one", "seconds", "× plain")]
    steps += [
        (row["name"], f"{row['seconds']:.3g}", f"{about}{row['speed_up']:,.1f}")
        for row in result["breakdown"]["cumulative"]
    ]
    _table(steps, left={0})
    click.echo()
    shares = [("without", "slowdown, first pass", "second pass")]
    shares += [
        (row["name"], f"{row['first_pass_slower']:.2f}", f"{row['second_pass_slower']:.2f}")
        for row in result["breakdown"]["each_left_out"]
    ]
    _table(shares, left={0})
    cache = result["cache"]
    click.echo(
        f"\nCache: {cache['bytes'] / 1e6:.1f} MB for {cache['words']:,} words, "
        f"{cache['bytes_per_word']:.0f} bytes each; "
        f"{cache['bytes_if_full'] / 1e6:.0f} MB at its limit of {cache['room']:,} words. "
        f"It is {cache['advice']}."
    )
    learn_options.print_files(result["files"])


def _table(lines: Sequence[Sequence[str]], left: set[int]) -> None:
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    for line in lines:
        cells = [
            cell.ljust(width) if column in left else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(line, widths, strict=True))
        ]
        click.echo("  ".join(cells).rstrip())
