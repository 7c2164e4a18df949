"""Takeaways: what each section of a report shows, in one sentence, and the figures for the tiles on top.

All of it is read from the tables of the sections, so that a sentence and its table never disagree.
"""

from collections.abc import Callable
from typing import Any

from merganser.analyse.metrics import bytes_per_token, tokens_per_word, vocabulary_use
from merganser.reporting.section import Section, Tile
from merganser.reporting.tables import Table
from merganser.reporting.tokenizers.study import Study


def takeaway(study: Study, section: Section) -> str:
    """Return the sentence of a section, or nothing if its table has too few rows for one."""
    write = _SENTENCES.get(section.name)
    return write(study, section.table) if write and section.table.rows else ""


def tiles(study: Study) -> list[Tile]:
    """Return the figures that are shown large."""
    usages = study.usages
    return [
        Tile("bytes per token", {name: f"{bytes_per_token(usage):.2f}" for name, usage in usages.items()}),
        Tile("tokens per word", {name: f"{tokens_per_word(usage):.2f}" for name, usage in usages.items()}),
        Tile("tokens in the vocabulary", {name: f"{len(usage.ids):,}" for name, usage in usages.items()}),
        Tile(
            "of them occur in the text",
            {name: f"{vocabulary_use(usage.frequencies):.0%}" for name, usage in usages.items()},
        ),
    ]


def _progression(study: Study, table: Table) -> str:
    rows = _numbers(table)
    (_, before), (merges, after) = rows[0], rows[-1]
    if after >= before:
        return ""
    half = next(size for size, value in rows if value <= (before + after) / 2)
    return (
        f"{merges:,.0f} merges of {_name(study)} shorten a word from {before:.1f} tokens to {after:.2f}; "
        f"half of the gain comes from the first {half:,.0f}."
    )


def _lengths(study: Study, table: Table) -> str:
    vocabulary = [_number(row[1]) for row in table.rows]
    text = [_number(row[2]) for row in table.rows]
    sizes = range(1, len(table.rows) + 1)

    def median(counts: list[float]) -> str:
        seen = 0.0
        for size, count in zip(sizes, counts, strict=True):
            seen += count
            if seen >= sum(counts) / 2:
                return str(table.rows[size - 1][0])
        return "0"

    return (
        f"Half of the vocabulary of {_name(study)} has up to {median(vocabulary)} bytes, half of the tokens "
        f"in the text up to {median(text)}."
    )


def _subwords(study: Study, table: Table) -> str:
    first = {panel: row for panel, *row in reversed(table.rows)}
    parts = []
    for panel, name in (("within words", "part of a word"), ("whole words", "whole word")):
        if panel in first:
            _, token, _, _, times, _ = first[panel]
            parts.append(f"the most frequent {name} is {token} ({_number(times):,.0f}×)")
    sentence = ", ".join(parts)
    return f"{sentence[:1].upper()}{sentence[1:]}." if parts else ""


def _domains(study: Study, table: Table) -> str:
    rows = sorted((_number(row[1]), str(row[0])) for row in table.rows)
    (least, best), (most, worst) = rows[0], rows[-1]
    return f"{_name(study)} needs {least:.0f} tokens per 100 characters of {best}, and {most:.0f} of {worst}."


def _sizes(study: Study, table: Table) -> str:
    rows = [(_number(row[0]), _number(row[1])) for row in table.rows]
    if len(rows) < 2:
        return f"A sentence has {rows[0][1]:.1f} tokens with {rows[0][0]:,.0f} merges of {_name(study)}."
    (fewer, before), (more, after) = rows[-2:]
    return (
        f"From {fewer:,.0f} to {more:,.0f} merges, a sentence falls from {before:.1f} to {after:.1f} tokens "
        f"({after / before - 1:+.0%})."
    )


def _hard(study: Study, table: Table) -> str:
    own = [row for row in table.rows if row[2] == study.name]
    worst = max(own, key=lambda row: _number(row[3]) / max(len(str(row[1])), 1))
    return (
        f"The hardest example for {_name(study)} is “{worst[0]}”: {_number(worst[3]):,.0f} tokens for "
        f"{len(str(worst[1])):,} characters."
    )


def _comparison(study: Study, table: Table) -> str:
    values = next(row for row in table.rows if row[0] == "bytes per token")
    ranked = sorted(zip(map(_number, values[1:]), table.columns[1:], strict=True), reverse=True)
    if len(ranked) < 2:
        return f"“{ranked[0][1]}” has {ranked[0][0]:.2f} bytes per token."
    (most, best), (least, last) = ranked[0], ranked[-1]
    return (
        f"“{best}” needs the fewest tokens, {most:.2f} bytes each; “{last}” has {least:.2f} and needs "
        f"{most / least - 1:.0%} more."
    )


def _frequencies(study: Study, table: Table) -> str:
    top = sorted(study.main.frequencies.tolist(), reverse=True)[:100]
    share = sum(top) / max(study.main.tokens, 1)
    return f"The 100 most frequent tokens of {_name(study)} are {share:.0%} of the text."


def _family(study: Study, table: Table) -> str:
    merged = [row for row in table.rows if row[2] is not None]
    if not merged:
        return ""
    last = max(merged, key=lambda row: _number(row[2]))
    return f"{last[0]} is the result of {len(merged)} merges, the last of them merge {_number(last[2]):,.0f}."


def _parity(study: Study, table: Table) -> str:
    reference, *others = ((str(row[0]), _number(row[1])) for row in table.rows)
    if not others:
        return ""
    language, ratio = max(others, key=lambda row: row[1])
    return f"{_name(study)} needs {ratio:.1f} times as many tokens for {language} as for {reference[0]}."


def _sentences(study: Study, table: Table) -> str:
    own = [row for row in table.rows if row[2] == study.name]
    tokens = sum(_number(row[3]) for row in own)
    return f"{_name(study)} needs {tokens / max(len(own), 1):.0f} tokens for a sentence on average."


def _vocabulary(study: Study, table: Table) -> str:
    counts = {str(row[1]): _number(row[2]) for row in table.rows if row[0] == study.name}
    unused = counts.get("do not occur in the held-out text", 0)
    never = counts.get("cannot occur in any text", 0)
    reached = f"{never:,.0f} cannot occur in any text" if never else "each of them can occur in some text"
    return f"{unused:,.0f} tokens of {_name(study)} do not occur in the text; {reached}."


def _name(study: Study) -> str:
    """Return the name of the first tokenizer in quotes: it may be any phrase, such as “trained here”."""
    return f"“{study.name}”"


def _number(cell: Any) -> float:
    return float(cell or 0)


def _numbers(table: Table) -> list[tuple[float, float]]:
    return [(_number(row[0]), _number(row[1])) for row in table.rows]


_SENTENCES: dict[str, Callable[[Study, Table], str]] = {
    "merge-progression": _progression,
    "token-lengths": _lengths,
    "top-subwords": _subwords,
    "domains": _domains,
    "vocabulary-size": _sizes,
    "pathological": _hard,
    "comparison": _comparison,
    "frequency-rank": _frequencies,
    "family-tree": _family,
    "parity": _parity,
    "sentences": _sentences,
    "vocabulary": _vocabulary,
}
