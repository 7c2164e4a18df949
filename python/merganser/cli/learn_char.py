"""merganser learn char"""

import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from merganser.cli import drawing, learn_options, options, progress

if TYPE_CHECKING:
    from merganser.learn.char_bpe import Merge

TRIED = (1_000, 2_000, 5_000, 10_000)
_FREQUENT = 30
_POINTS = 400


@click.command()
@learn_options.corpus
@click.option(
    "--merges", type=click.IntRange(1), default=2000, show_default=True, help="How many merges to learn."
)
@learn_options.max_mb
@learn_options.out
@options.as_json
def char(corpus: str | None, merges: int, max_mb: float, out: Path, as_json: bool) -> None:
    """Train the character-level tokenizer, and draw what it learns.

    CORPUS is plain text: a file, a folder, a glob, - or a named data set; frankenstein if not given, and
    python-stdlib where that cannot be fetched. 1,000, 2,000, 5,000 and 10,000 merges are tried besides; the
    charts of tokens are those of --merges.

    Example: merganser learn char --merges 2000
    """
    from merganser.learn import char_bpe, char_bpe_fast, char_pictures

    learn_options.check(out)
    name, text = learn_options.read(corpus, max_mb)
    words = char_bpe.split(text)
    wanted = max(merges, *TRIED)
    learnt: list[Merge] = []
    marks: dict[int, float] = {}
    start = time.perf_counter()
    with progress.drawn() as draw:
        for merge in char_bpe_fast.learn(words):
            learnt.append(merge)
            if len(learnt) in (*TRIED, merges):
                marks[len(learnt)] = time.perf_counter() - start
            if draw and len(learnt) % 50 == 0:
                draw("merge", len(learnt), wanted)
            if len(learnt) == wanted:
                break
    marks.setdefault(len(learnt), time.perf_counter() - start)

    taken = learnt[:merges]
    tokenizer = char_bpe_fast.FastCharBPE(set().union(*words), [merge.pair for merge in taken])
    counts: Counter[str] = Counter()
    for word, frequency in Counter(words).items():
        for token in tokenizer.tokens(word):
            counts[token] += frequency
    result: dict[str, Any] = {
        "corpus": name,
        "characters": len(text),
        "words": len(words),
        "unique_words": len(set(words)),
        "merges": len(taken),
        "vocabulary": len(tokenizer.vocabulary),
        "tried": [
            {
                "merges": number,
                "tokens_per_word": learnt[number - 1].symbols / len(words),
                "seconds": seconds,
            }
            for number, seconds in sorted(marks.items())
        ],
        "token_lengths": _lengths(tokenizer.names, counts),
        "frequent_subwords": _frequent(counts),
    }
    curve = _curve(words, learnt)
    short = learn_options.shown(name)
    charts = {
        "char_tokens_per_word": char_pictures.tokens_per_word(short, curve, result["tried"]),
        "char_token_lengths": char_pictures.token_lengths(short, len(taken), result["token_lengths"]),
        "char_subwords": char_pictures.frequent_subwords(short, len(taken), result["frequent_subwords"]),
    }
    result["files"] = learn_options.save(out, "char", result, charts)
    if as_json:
        drawing.as_json(result)
    else:
        _tell(result)


def _characters(token: str) -> int:
    from merganser.learn.char_bpe import END

    return len(token.removesuffix(END))


def _lengths(names: list[str], counts: Counter[str]) -> list[dict[str, Any]]:
    """How many tokens have 1, 2, 3 and 4 or more characters, in the vocabulary and in the text."""
    from merganser.learn.char_bpe import UNKNOWN

    kinds: Counter[int] = Counter(min(_characters(name), 4) for name in names if name != UNKNOWN)
    used: Counter[int] = Counter()
    for token, count in counts.items():
        used[min(_characters(token), 4)] += count
    del kinds[0], used[0]  # `</w>` on its own
    return [
        {
            "characters": "4+" if length == 4 else str(length),
            "vocabulary": kinds[length],
            "vocabulary_share": kinds[length] / kinds.total(),
            "text": used[length],
            "text_share": used[length] / used.total(),
        }
        for length in range(1, 5)
    ]


def _frequent(counts: Counter[str]) -> list[dict[str, Any]]:
    several = [(token, count) for token, count in counts.items() if _characters(token) > 1]
    several.sort(key=lambda entry: (-entry[1], entry[0]))
    return [{"token": token, "count": count} for token, count in several[:_FREQUENT]]


def _curve(words: list[str], learnt: "list[Merge]") -> list[dict[str, Any]]:
    """Points of the curve: all of the beginning, then ever fewer, for a line needs no more."""
    symbols = [sum(map(len, words)) + len(words), *(merge.symbols for merge in learnt)]
    last = len(learnt)
    places = sorted({round(last * (nth / _POINTS) ** 2) for nth in range(_POINTS + 1)})
    return [{"merges": place, "tokens_per_word": symbols[place] / len(words)} for place in places]


def _tell(result: dict[str, Any]) -> None:
    click.echo(f"{result['corpus']}: {result['words']:,} words, {result['unique_words']:,} different\n")
    click.echo("  merges  tokens per word  seconds")
    for row in result["tried"]:
        click.echo(f"{row['merges']:>8,}  {row['tokens_per_word']:>15.3f}  {row['seconds']:>7.2f}")
    click.echo(f"\nAt {result['merges']:,} merges, {result['vocabulary']:,} tokens in the vocabulary:\n")
    click.echo("  characters  of the vocabulary  of the text")
    for row in result["token_lengths"]:
        click.echo(f"{row['characters']:>12}  {row['vocabulary_share']:>17.1%}  {row['text_share']:>11.1%}")
    frequent = " ".join(row["token"] for row in result["frequent_subwords"])
    click.echo(f"\nThe most frequent: {frequent}")
    learn_options.tell_files(result["files"])
