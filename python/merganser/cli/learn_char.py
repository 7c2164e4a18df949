"""merganser learn char"""

import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from merganser.cli import formatting, learn_options, options, progress
from merganser.cli.verbosity import add_verbosity

if TYPE_CHECKING:
    from merganser.learn.char_bpe import Merge

#: The numbers of merges to measure, besides --merges.
STOPS = (1_000, 2_000, 5_000, 10_000)
#: The file of the tokenizer in --out, which `CharBPE.from_json` reads.
TOKENIZER = "char_tokenizer.json"
#: The number of subwords in the chart, and of points on the curve.
_FREQUENT = 30
_POINTS = 400


@click.command()
@learn_options.corpus
@click.option(
    "--merges", type=click.IntRange(1), default=2000, show_default=True, help="Number of merges to learn."
)
@learn_options.max_mb
@learn_options.out
@add_verbosity
@options.as_json
def char(corpus: str | None, merges: int, max_mb: float, out: Path, as_json: bool) -> None:
    """Train the character-level tokenizer, save it, and draw charts of what it learns.

    CORPUS is plain text: a file, a folder, a glob, '-' or a data set. The default is frankenstein, or
    python-stdlib if it cannot be downloaded. Tokens per word are also measured at 1,000, 2,000, 5,000 and
    10,000 merges. The vocabulary and the merges are written to char_tokenizer.json in --out.

    Example: merganser learn char --merges 2000
    """
    from merganser.learn import char_bpe, char_bpe_fast, char_pictures

    learn_options.check_out(out)
    name, text = learn_options.read(corpus, max_mb)
    words = char_bpe.split(text)
    total = max(merges, *STOPS)
    learned: list[Merge] = []
    seconds_at: dict[int, float] = {}
    start = time.perf_counter()
    with progress.bars() as draw:
        for merge in char_bpe_fast.learn(words):
            learned.append(merge)
            if len(learned) in (*STOPS, merges):
                seconds_at[len(learned)] = time.perf_counter() - start
            if draw and len(learned) % 50 == 0:
                draw("merge", len(learned), total)
            if len(learned) == total:
                break
    seconds_at.setdefault(len(learned), time.perf_counter() - start)

    kept = learned[:merges]
    tokenizer = char_bpe_fast.FastCharBPE(set().union(*words), [merge.pair for merge in kept])
    counts: Counter[str] = Counter()
    for word, frequency in Counter(words).items():
        for token in tokenizer.tokens(word):
            counts[token] += frequency
    result: dict[str, Any] = {
        "corpus": name,
        "characters": len(text),
        "words": len(words),
        "unique_words": len(set(words)),
        "merges": len(kept),
        "vocabulary": len(tokenizer.vocabulary),
        "tried": [
            {
                "merges": number,
                "tokens_per_word": learned[number - 1].symbols / len(words),
                "seconds": seconds,
            }
            for number, seconds in sorted(seconds_at.items())
        ],
        "token_lengths": _lengths(tokenizer.names, counts),
        "frequent_subwords": _frequent(counts),
    }
    curve = _curve(words, learned)
    short_name = learn_options.short_name(name)
    charts = {
        "char_tokens_per_word": char_pictures.tokens_per_word(short_name, curve, result["tried"]),
        "char_token_lengths": char_pictures.token_lengths(short_name, len(kept), result["token_lengths"]),
        "char_subwords": char_pictures.frequent_subwords(short_name, len(kept), result["frequent_subwords"]),
    }
    saved = {TOKENIZER: tokenizer.to_json()}
    result["files"] = learn_options.save(out, "char", result, charts, saved)
    if as_json:
        formatting.print_json(result)
    else:
        _print_result(result)


def _characters(token: str) -> int:
    from merganser.learn.char_bpe import END

    return len(token.removesuffix(END))


def _lengths(names: list[str], counts: Counter[str]) -> list[dict[str, Any]]:
    """Count the tokens of 1, 2, 3 and 4 or more characters, in the vocabulary and in the text."""
    from merganser.learn.char_bpe import UNKNOWN

    in_vocabulary: Counter[int] = Counter(min(_characters(name), 4) for name in names if name != UNKNOWN)
    in_text: Counter[int] = Counter()
    for token, count in counts.items():
        in_text[min(_characters(token), 4)] += count
    del in_vocabulary[0], in_text[0]  # `</w>` alone
    return [
        {
            "characters": "4+" if length == 4 else str(length),
            "vocabulary": in_vocabulary[length],
            "vocabulary_share": in_vocabulary[length] / in_vocabulary.total(),
            "text": in_text[length],
            "text_share": in_text[length] / in_text.total(),
        }
        for length in range(1, 5)
    ]


def _frequent(counts: Counter[str]) -> list[dict[str, Any]]:
    subwords = [(token, count) for token, count in counts.items() if _characters(token) > 1]
    subwords.sort(key=lambda entry: (-entry[1], entry[0]))
    return [{"token": token, "count": count} for token, count in subwords[:_FREQUENT]]


def _curve(words: list[str], learned: "list[Merge]") -> list[dict[str, Any]]:
    """Return points of the curve, dense at the start, where it is steep."""
    symbols = [sum(map(len, words)) + len(words), *(merge.symbols for merge in learned)]
    last = len(learned)
    numbers = sorted({round(last * (nth / _POINTS) ** 2) for nth in range(_POINTS + 1)})
    return [{"merges": number, "tokens_per_word": symbols[number] / len(words)} for number in numbers]


def _print_result(result: dict[str, Any]) -> None:
    click.echo(f"{result['corpus']}: {result['words']:,} words, {result['unique_words']:,} unique\n")
    click.echo("  merges  tokens per word  seconds")
    for row in result["tried"]:
        click.echo(f"{row['merges']:>8,}  {row['tokens_per_word']:>15.3f}  {row['seconds']:>7.2f}")
    click.echo(f"\nAt {result['merges']:,} merges, {result['vocabulary']:,} tokens in the vocabulary:\n")
    click.echo("  characters  share of vocabulary  share of text")
    for row in result["token_lengths"]:
        click.echo(f"{row['characters']:>12}  {row['vocabulary_share']:>19.1%}  {row['text_share']:>13.1%}")
    frequent = " ".join(row["token"] for row in result["frequent_subwords"])
    click.echo(f"\nMost frequent subwords: {frequent}")
    learn_options.print_files(result["files"])
