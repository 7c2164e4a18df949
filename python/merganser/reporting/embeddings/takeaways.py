"""Takeaways of a report on embeddings: one sentence for each section, and the figures for the tiles on top.

All of it is read from the tables of the sections, so that a sentence and its table never disagree.
"""

import re
from collections import Counter
from collections.abc import Callable
from statistics import median
from typing import Any

from merganser.embed.embeddings import Embeddings
from merganser.reporting.section import Section, Tile
from merganser.reporting.tables import Table

_NEIGHBOR = re.compile(r"(.+?) (-?\d\.\d\d)(?:, |$)")


def takeaway(section: Section) -> str:
    """Return the sentence of a section, or nothing if its table has too few figures for one."""
    write = _SENTENCES.get(section.name)
    return write(section.table) if write and section.table.rows else ""


def tiles(embeddings: Embeddings) -> list[Tile]:
    """Return the figures that are shown large."""
    facts = embeddings.training
    values = {
        "token vectors": f"{len(embeddings):,}",
        "dimensions": f"{embeddings.dimension:,}",
        "tokens of text": f"{facts['tokens']:,}" if "tokens" in facts else "",
        "seconds of training": f"{facts['seconds']:.1f}" if "seconds" in facts else "",
    }
    return [Tile(title, {"": value}) for title, value in values.items() if value]


def _similarities(table: Table) -> str:
    (_, before, *_), (_, after, low, _, high) = table.rows
    return (
        f"Training moves the mean cosine of two tokens from {_plain(before)} to {_plain(after)}; nine of ten "
        f"pairs are between {_plain(low)} and {_plain(high)}."
    )


def _heat_map(table: Table) -> str:
    words = table.columns[1:]
    pairs = [
        (_number(row[nth + 1]), str(row[0]), word)
        for at, row in enumerate(table.rows)
        for nth, word in enumerate(words)
        if nth > at
    ]
    (most, *close), (least, *far) = max(pairs), min(pairs)
    return (
        f"Of these {len(words)} words, {_both(close)} are the most similar ({most:.2f}), "
        f"{_both(far)} the least ({least:.2f})."
    )


def _neighbors(table: Table) -> str:
    nearest = []
    for word, found in table.rows:
        if first := _NEIGHBOR.match(str(found)):
            nearest.append((float(first[2]), str(word), first[1]))
    if not nearest:
        return ""
    cosine, word, other = max(nearest)
    return f"Of these words, “{word}” has the nearest neighbor: “{other}”, with a cosine of {cosine:.2f}."


def _groups(table: Table) -> str:
    grouped = [(str(row[1]), _number(row[3]), _number(row[4])) for row in table.rows if row[1] is not None]
    sizes = Counter(group for group, _, _ in grouped)
    grouped = [point for point in grouped if sizes[point[0]] > 1]
    if len({group for group, _, _ in grouped}) < 2:
        return ""
    same = 0
    for nth, (group, x, y) in enumerate(grouped):
        others = grouped[:nth] + grouped[nth + 1 :]
        near = min(others, key=lambda other: (other[1] - x) ** 2 + (other[2] - y) ** 2)
        same += near[0] == group
    return (
        f"For {same} of {len(grouped)} words in groups, the nearest word with a group is of the same group."
    )


def _frequencies(table: Table) -> str:
    counts = [_number(row[2]) for row in table.rows]
    word = max(table.rows, key=lambda row: _number(row[2]))[0]
    return (
        f"Of {len(counts):,} words, “{word}” is the most frequent ({max(counts):,.0f}×); half of them occur "
        f"at most {median(counts):,.0f} times."
    )


def _dimensions(table: Table) -> str:
    rows = [(_number(row[1]), _number(row[0])) for row in table.rows if row[1] is not None]
    if not rows:
        return ""
    (best, dimension), worst = min(rows), max(rows)[0]
    return (
        f"{dimension:,.0f} dimensions predict held-out neighbors best, with a mean rank of {best:.1%}; the "
        f"others have up to {worst:.1%}, and chance is 50%."
    )


def _progress(table: Table) -> str:
    losses = [_number(row[1]) for row in table.rows if row[1] is not None]
    seconds = sum(_number(row[4]) for row in table.rows)
    if len(losses) < 2:
        return f"{len(table.rows)} epochs took {seconds:.1f} s." if len(table.rows) > 1 else ""
    verb = "falls" if losses[-1] < losses[0] else "rises"
    return (
        f"The loss per pair {verb} from {losses[0]:.2f} after the first epoch to {losses[-1]:.2f} after "
        f"{len(table.rows)}, in {seconds:.1f} s."
    )


def _objectives(table: Table) -> str:
    (full, *others) = ((str(row[0]), _number(row[1]), _number(row[2])) for row in table.rows)
    if not others:
        return ""
    name, seconds, rank = min(others, key=lambda row: row[2])
    return (
        f"The {full[0]} takes {full[1] / max(seconds, 1e-9):.0f} times as long as {name}, for a mean rank of "
        f"{full[2]:.1%} instead of {rank:.1%} (lower is better)."
    )


def _ambiguous(table: Table) -> str:
    known = [(_number(row[4]), str(row[0])) for row in table.rows if row[4] is not None]
    if not known:
        return ""
    cosine, word = min(known)
    return (
        f"The contexts of “{word}” differ most, with a cosine of {_plain(cosine)}; the word has one vector."
    )


def _evaluation(table: Table) -> str:
    vectors, measure, score, covered = table.rows[0]
    if vectors != "these vectors" or score is None:
        return ""
    return f"The {measure} is {_plain(score, 3)} ({covered})."


def _both(words: list[str]) -> str:
    return " and ".join(f"“{word}”" for word in words)


def _number(cell: Any) -> float:
    return float(cell or 0)


def _plain(cell: Any, digits: int = 2) -> str:
    """Format a number without a minus sign before zero.

    >>> _plain(-0.0001), _plain(-0.2)
    ('0.00', '-0.20')
    """
    return f"{round(_number(cell), digits) + 0.0:.{digits}f}"


_SENTENCES: dict[str, Callable[[Table], str]] = {
    "similarities": _similarities,
    "heat_map": _heat_map,
    "neighbors": _neighbors,
    "plane_groups": _groups,
    "plane_frequency": _frequencies,
    "dimensions": _dimensions,
    "progress": _progress,
    "objectives": _objectives,
    "ambiguous": _ambiguous,
    "evaluation": _evaluation,
}
