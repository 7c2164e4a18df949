"""merganser learn speed"""

from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import click

from merganser.cli import drawing, learn_options, options, progress


@click.command()
@learn_options.corpus
@click.option(
    "--merges", type=click.IntRange(1), default=2000, show_default=True, help="How many merges to learn."
)
@click.option(
    "--sizes",
    default="1000,10000,75000,2000000",
    show_default=True,
    help="How many words to encode; a text that is too short comes again and again.",
)
@click.option(
    "--plain-words",
    type=click.IntRange(100),
    default=75_000,
    show_default=True,
    help="On how many words the plain tokenizer is timed; for more, its time is extrapolated.",
)
@learn_options.out
@options.as_json
def speed(corpus: str | None, merges: int, sizes: str, plain_words: int, out: Path, as_json: bool) -> None:
    """Measure the character-level tokenizer, plain and made fast, and what each technique brings.

    CORPUS is as for `learn char`; where frankenstein cannot be fetched, Python's reference manual is the
    book. Both tokenizers are proven equal before anything is timed. It takes two to three minutes, most of
    which the plain tokenizer needs.

    Example: merganser learn speed --plain-words 5000
    """
    from merganser.learn import char_bpe, char_bpe_fast, char_speed, speed_pictures

    lengths = _sizes(sizes)
    learn_options.check(out)
    name, text = _book(corpus)
    words = char_bpe.split(text)
    learnt: list[tuple[str, str]] = []
    with progress.drawn() as draw:
        for merge in islice(char_bpe_fast.learn(words), merges):
            learnt.append(merge.pair)
            if draw and len(learnt) % 50 == 0:
                draw("merge", len(learnt), merges)
        measuring = char_speed.Speed(words, learnt, plain_words, draw)
        kinds = char_speed.kinds_of_text("books" if corpus is None else learn_options.shown(name), words)
        proven = measuring.prove(kinds)
        by_size = measuring.sizes(lengths)
        usual = next((row for row in by_size if row["words"] == char_speed.USUAL), None)
        plain = usual["plain"] if usual else measuring.plain(char_speed.USUAL)
        result: dict[str, Any] = {
            "corpus": name,
            "words": len(words),
            "unique_words": len(set(words)),
            "merges": len(learnt),
            "words_proven_equal": proven,
            "sizes": by_size,
            "kinds": measuring.kinds(kinds),
            "breakdown": measuring.breakdown(plain["seconds"])
            | {"plain_extrapolated": plain["extrapolated"]},
            "cache": measuring.cache_memory(),
        }
    short = learn_options.shown(name)
    charts = {
        "tokenizer_optimization_results": speed_pictures.optimization_results(
            short, len(learnt), result["sizes"], result["kinds"]
        ),
        "optimization_breakdown": speed_pictures.optimization_breakdown(short, result["breakdown"]),
    }
    result["files"] = learn_options.save(out, "speed", result, charts)
    if as_json:
        drawing.as_json(result)
    else:
        _tell(result)


def _sizes(given: str) -> tuple[int, ...]:
    try:
        sizes = tuple(sorted({int(part) for part in given.split(",")}))
    except ValueError:
        raise click.BadParameter(
            f"{given!r} is not a list of numbers like 1000,10000", param_hint="--sizes"
        ) from None
    if sizes[0] < 1:
        raise click.BadParameter("a text has at least one word", param_hint="--sizes")
    return sizes


def _book(corpus: str | None) -> tuple[str, str]:
    """The text to measure on: where there is no novel to be had, the manual that comes with Python."""
    from merganser.corpus import OFFLINE, default
    from merganser.learn import text

    name = default() if corpus is None else corpus
    if corpus is None and name == OFFLINE:
        from pydoc_data.topics import topics  # type: ignore[import-not-found, unused-ignore]

        return "the Python reference", "\n".join(topics.values())
    return name, text.read(name, 100)


def _tell(result: dict[str, Any]) -> None:
    click.echo(
        f"{result['corpus']}: {result['words']:,} words, {result['unique_words']:,} different; "
        f"{result['merges']:,} merges\n{result['words_proven_equal']:,} different words "
        "have the same ids from both tokenizers\n"
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
    kinds = [("kind of text", "unique", "hits, first pass", "second pass", "the cache is")]
    kinds += [
        (row["kind"], f"{row['unique_words']:,}", f"{row['first_hit_rate']:.1%}",
         f"{row['second_hit_rate']:.1%}", row["cache"])
        for row in result["kinds"]
    ]  # fmt: skip
    _table(kinds, left={0, 4})
    click.echo()
    about = "~" if result["breakdown"]["plain_extrapolated"] else ""
    steps = [("techniques, one after the other", "seconds", "× plain")]
    steps += [
        (row["name"], f"{row['seconds']:.3g}", f"{about}{row['speed_up']:,.1f}")
        for row in result["breakdown"]["cumulative"]
    ]
    _table(steps, left={0})
    click.echo()
    shares = [("left out of all", "× as long, first pass", "second pass")]
    shares += [
        (row["name"], f"{row['first_pass_slower']:.2f}", f"{row['second_pass_slower']:.2f}")
        for row in result["breakdown"]["each_left_out"]
    ]
    _table(shares, left={0})
    cache = result["cache"]
    click.echo(
        f"\nThe cache: {cache['bytes'] / 1e6:.1f} MB for {cache['words']:,} words, "
        f"{cache['bytes_per_word']:.0f} bytes each; "
        f"{cache['bytes_if_full'] / 1e6:.0f} MB if its {cache['room']:,} places were taken. "
        f"It is {cache['advice']}."
    )
    learn_options.tell_files(result["files"])


def _table(lines: Sequence[Sequence[str]], left: set[int]) -> None:
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    for line in lines:
        cells = [
            cell.ljust(width) if place in left else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(line, widths, strict=True))
        ]
        click.echo("  ".join(cells).rstrip())
