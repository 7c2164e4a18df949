"""Sections about the vectors: similarities, nearest neighbors, and the plane."""

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from merganser.embed import similarities
from merganser.embed.embeddings import Embeddings
from merganser.embed.groups import Lists
from merganser.embed.projection import project
from merganser.reporting.embeddings import pictures
from merganser.reporting.section import Section
from merganser.reporting.tables import Table

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: The maximum number of words in the plane: t-SNE takes three seconds.
_POINTS = 1_500
_HEAT_MAP_WORDS = 38
_NEIGHBORS = 8


def histograms(embeddings: Embeddings) -> Section | None:
    facts = embeddings.training.get("similarities")
    if not facts:
        return None
    before, after = facts["before"], facts["after"]
    rows = tuple(
        (name, counts["mean"], _quantile(counts, 0.05), _quantile(counts, 0.5), _quantile(counts, 0.95))
        for name, counts in (("before training", before), ("after training", after))
    )
    text = (
        "Before training, vectors point in random directions, and the cosine of two is close to 0. Training "
        "gives all of them a common component, which shifts the distribution to the right, and moves related "
        "tokens together, which widens it."
    )
    table = Table(("", "mean cosine", "5th percentile", "median", "95th percentile"), rows)
    return Section(
        "similarities",
        "Similarity of all pairs of tokens, before and after training",
        text,
        table,
        pictures.similarities(before, after),
    )


def _quantile(counts: Mapping[str, Any], share: float) -> float:
    cumulative = np.cumsum(counts["pairs"])
    step = (counts["to"] - counts["from"]) / len(counts["pairs"])
    return float(counts["from"] + step * (int(np.searchsorted(cumulative, share * cumulative[-1])) + 1))


def heat_map(embeddings: Embeddings, lists: Lists) -> Section | None:
    candidates = [*(word for group in lists.groups.values() for word in group), *lists.more]
    shown = _listed(embeddings, candidates)[:_HEAT_MAP_WORDS]
    shown += _frequent(embeddings, exclude=shown, n=30 - len(shown))
    if len(shown) < 3:
        return None
    words = [entry.word for entry in shown]
    rows = similarities.normalized(np.stack([entry.vector for entry in shown])).astype(np.float64)
    cosines = rows @ rows.T
    order = pictures.clustered(cosines)
    table = Table(
        ("", *(words[nth] for nth in order)),
        tuple((words[a], *(float(cosines[a, b]) for b in order)) for a in order),
    )
    text = (
        "The cosine of every pair of words, ordered so that similar words are adjacent: blocks of strong "
        "color along the diagonal are words that occur in similar contexts. The diagonal itself is each word "
        "with itself, 1."
    )
    return Section("heat_map", "Similar words", text, table, pictures.heat_map(words, cosines))


class _Shown(NamedTuple):
    """A word as it is shown, and its vector: a label such as `\\xc3` cannot be looked up as a word."""

    word: str
    vector: "NDArray[np.float32]"


def _listed(embeddings: Embeddings, words: Iterable[str]) -> list[_Shown]:
    """Return the words that have a vector."""
    return [_Shown(word, embeddings.vector(word)) for word in dict.fromkeys(words) if word in embeddings]


def _frequent(embeddings: Embeddings, exclude: Sequence[_Shown], n: int) -> list[_Shown]:
    """Return the `n` most frequent words of four letters or more, which skips most function words."""
    seen = {entry.word.casefold() for entry in exclude}
    found: list[_Shown] = []
    for row in embeddings.words:
        if len(found) >= n:
            break
        name = embeddings.label(int(row))
        if len(name) > 3 and name.casefold() not in seen:
            seen.add(name.casefold())
            found.append(_Shown(name, embeddings.vectors[row]))
    return found


def neighbors(embeddings: Embeddings, lists: Lists) -> Section:
    shown = _listed(embeddings, lists.shown)
    shown = [*shown, *_frequent(embeddings, shown, 8 - len(shown))][:10]
    rows = tuple((entry.word, _nearest(embeddings, entry)) for entry in shown)
    text = (
        "For each word, the whole words whose vectors have the highest cosine with its vector. Neighbors "
        "occur in similar contexts, so opposites are often among them."
    )
    table = Table(("word", "nearest words with their cosine"), rows)
    return Section("neighbors", "Nearest neighbors", text, table, figures_first=True)


def _nearest(embeddings: Embeddings, of: _Shown) -> str:
    own = of.word.casefold()  # the token itself, and its variants in upper and lower case
    found = embeddings.most_similar(of.vector, _NEIGHBORS + 8)
    others = [neighbor for neighbor in found if neighbor.word.casefold() != own][:_NEIGHBORS]
    return ", ".join(f"{neighbor.word} {neighbor.similarity:.2f}" for neighbor in others)


def planes(embeddings: Embeddings, lists: Lists) -> list[Section | None]:
    """The plane twice: colored by group, and by frequency."""
    group_of: dict[int, str] = {}
    for name, words in lists.groups.items():
        for word in words:
            match = embeddings.find(word)
            if match is not None and match.how != "subwords":
                group_of.setdefault(match.rows[0], name)
    rows = list(dict.fromkeys([*group_of, *(int(row) for row in embeddings.words[:_POINTS])]))
    if len(rows) < 10:
        return []
    points = project(embeddings.vectors[rows])
    words = [embeddings.label(row) for row in rows]
    counts = [int(embeddings.counts[row]) for row in rows]
    groups = [group_of.get(row) for row in rows]
    # Label groups first, then other words by frequency, with the 80 most frequent (function words) last.
    ordinary = sorted(range(len(group_of), len(rows)), key=lambda nth: (nth < len(group_of) + 80, nth))
    by_frequency = sorted(range(len(rows)), key=lambda nth: -counts[nth])
    table = Table(
        ("word", "group", "count", "x", "y"),
        tuple(
            (words[nth], groups[nth], counts[nth], float(points[nth, 0]), float(points[nth, 1]))
            for nth in range(len(rows))
        ),
    )
    about = (
        f"The vectors of {len(rows):,} words, projected to two dimensions with t-SNE: words that are close "
        "here have similar vectors; large distances and the axes have no meaning. Labels that would overlap "
        "are left out."
    )
    variants = (
        ("plane_groups", "t-SNE by group", True, [*range(len(group_of)), *ordinary[:150]]),
        ("plane_frequency", "t-SNE by frequency", False, by_frequency[:150]),
    )
    return [
        Section(
            name,
            title,
            about,
            table,
            pictures.plane(
                points, words, groups=groups, frequencies=counts, by_group=by_group, labeled=labeled
            ),
        )
        for name, title, by_group, labeled in variants
    ]
