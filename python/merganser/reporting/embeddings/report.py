"""Report: everything that can be seen in embeddings, on one page, with every chart and table beside it.

On the page of `merganser.analyse`. Trains about ten times more, on the text that lies beside the embeddings;
where that was deleted, the two sections that need it are left out. About a minute of work for a novel.
"""

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from merganser.embed import baselines, study
from merganser.embed.embeddings import Embeddings, load
from merganser.embed.evaluation import INSTALLED, Agreement, evaluate, installed, separation, synonym_ranks
from merganser.embed.folder import load_text
from merganser.embed.groups import Lists
from merganser.embed.projection import project
from merganser.embed.settings import EmbedSettings
from merganser.embed.similarities import normalized
from merganser.embed.text import Text
from merganser.engines.local import ProgressCallback
from merganser.errors import EmbeddingsError
from merganser.files import check_folder
from merganser.reporting import page
from merganser.reporting.embeddings import pictures
from merganser.reporting.section import Section
from merganser.reporting.tables import Table

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: In the plane: t-SNE of so many takes less than a minute.
_POINTS = 2_000
_IN_HEAT_MAP = 38
_NEIGHBOURS = 8
_CONTEXT = 7


def write(
    embeddings_dir: str | os.PathLike[str],
    out: str | os.PathLike[str],
    progress: ProgressCallback | None = None,
) -> Path:
    """Writes a report about a folder of embeddings to the folder `out`, and gives the path of its page."""
    embeddings = load(embeddings_dir)
    text = load_text(embeddings_dir)
    check_folder(Path(out), "choose another out=")
    made = sections(embeddings, text, progress)
    return page.write(Path(out), "What the embeddings know", _about(embeddings), made, progress)


def sections(
    embeddings: Embeddings, text: Text | None, progress: ProgressCallback | None = None
) -> list[Section]:
    """All that there is to show."""
    lists = study.lists_for(embeddings)
    settings = _settings(embeddings)
    steps: list[Callable[[], Sequence[Section | None]]] = [
        lambda: [_similarities(embeddings)],
        lambda: [_heat_map(embeddings, lists)],
        lambda: [_neighbours(embeddings, lists)],
        lambda: _planes(embeddings, lists),
        lambda: [] if text is None else [_dimensions(embeddings, text, settings, lists)],
        lambda: [_progress(embeddings)],
        lambda: [] if text is None else [_objectives(embeddings, text, settings, lists)],
        lambda: [] if text is None else _ambiguous(embeddings, text, lists),
        lambda: [_judged(embeddings, lists)],
    ]
    made: list[Section | None] = []
    for nth, step in enumerate(steps, 1):
        made += step()
        if progress:
            progress("measure", nth, len(steps))
    return [section for section in made if section is not None]


def _about(embeddings: Embeddings) -> list[str]:
    facts = embeddings.training
    corpus = str(facts.get("corpus", "a corpus")).partition("=")[0]
    lines = [
        f"{len(embeddings):,} tokens of {Path(corpus).name or corpus}, each a vector of "
        f"{embeddings.dimension} numbers, learned from the tokens around it."
    ]
    if "pairs" in facts:
        lines.append(
            f"Pairs: {facts['pairs']:,}; tokens of text: {facts['tokens']:,}; "
            f"seconds: {facts['seconds']:.1f}; on {facts['device']}."
        )
    settings = facts.get("settings")
    if settings:
        given = (f"{name} {value}" for name, value in settings.items() if value is not None)
        lines.append("; ".join(given) + ".")
    return lines


def _settings(embeddings: Embeddings) -> EmbedSettings:
    known = embeddings.training.get("settings") or {}
    return EmbedSettings(**known)


def _similarities(embeddings: Embeddings) -> Section | None:
    facts = embeddings.training.get("similarities")
    if not facts:
        return None
    before, after = facts["before"], facts["after"]
    rows = tuple(
        (name, counts["mean"], _quantile(counts, 0.05), _quantile(counts, 0.5), _quantile(counts, 0.95))
        for name, counts in (("before training", before), ("after training", after))
    )
    text = (
        "Before training every vector points anywhere, and the cosine of two is near 0. Training gives all "
        "of them something in common, which moves the hill to the right, and draws what is related together, "
        "which makes it wide: meaning is in the differences."
    )
    table = Table(("", "mean cosine", "5% are below", "half are below", "95% are below"), rows)
    return Section(
        "similarities",
        "How similar any two tokens are, before and after training",
        text,
        table,
        pictures.similarities(before, after),
    )


def _quantile(counts: Mapping[str, Any], share: float) -> float:
    seen = np.cumsum(counts["pairs"])
    step = (counts["to"] - counts["from"]) / len(counts["pairs"])
    return float(counts["from"] + step * (int(np.searchsorted(seen, share * seen[-1])) + 1))


def _heat_map(embeddings: Embeddings, lists: Lists) -> Section | None:
    wanted = [*(word for group in lists.groups.values() for word in group), *lists.more]
    words = [word for word in dict.fromkeys(wanted) if word in embeddings][:_IN_HEAT_MAP]
    words += _frequent(embeddings, without=words, n=30 - len(words))
    if len(words) < 3:
        return None
    rows = np.stack([embeddings.vector(word) for word in words]).astype(np.float64)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    cosines = rows @ rows.T
    order = pictures.clustered(cosines)
    table = Table(
        ("", *(words[nth] for nth in order)),
        tuple((words[a], *(float(cosines[a, b]) for b in order)) for a in order),
    )
    text = (
        "The cosine of every two words, in an order that puts similar ones side by side: dark blocks on the "
        "diagonal are words that stand in the same company."
    )
    return Section("heat_map", "Which words are alike", text, table, pictures.heat_map(words, cosines))


def _frequent(embeddings: Embeddings, without: Sequence[str], n: int) -> list[str]:
    """The most frequent words that carry some meaning: of four letters or more."""
    known = {word.casefold() for word in without}
    names = (embeddings.label(int(row)) for row in embeddings.words)
    long = (name for name in names if len(name) > 3 and name.casefold() not in known)
    return [name for name, _ in zip(long, range(max(n, 0)), strict=False)]


def _neighbours(embeddings: Embeddings, lists: Lists) -> Section:
    words = [word for word in lists.shown if word in embeddings]
    words = [*words, *_frequent(embeddings, words, 8 - len(words))][:10]
    rows = tuple(
        (
            word,
            ", ".join(
                f"{near.word} {near.similarity:.2f}" for near in embeddings.most_similar(word, _NEIGHBOURS)
            ),
        )
        for word in words
    )
    text = (
        "For each word, the whole words whose vectors have the largest cosine with its own. Neighbours are "
        "words that could stand in the same places, so opposites are often among them."
    )
    table = Table(("word", "nearest, with the cosine"), rows)
    return Section("neighbours", "The nearest neighbours of some words", text, table, figures_first=True)


def _planes(embeddings: Embeddings, lists: Lists) -> list[Section | None]:
    """The plane twice: coloured by groups, and by frequency."""
    group_of: dict[int, str] = {}
    for name, words in lists.groups.items():
        for word in words:
            found = embeddings.find(word)
            if found is not None and found.how != "subwords":
                group_of.setdefault(found.rows[0], name)
    rows = list(dict.fromkeys([*group_of, *(int(row) for row in embeddings.words[:_POINTS])]))
    if len(rows) < 10:
        return []
    points = project(embeddings.vectors[rows])
    words = [embeddings.label(row) for row in rows]
    counts = [int(embeddings.counts[row]) for row in rows]
    groups = [group_of.get(row) for row in rows]
    # Those of the groups first; then frequent ones, but the commonest last: they only hold sentences up.
    ordinary = sorted(range(len(group_of), len(rows)), key=lambda nth: (nth < len(group_of) + 80, nth))
    by_frequency = sorted(range(len(rows)), key=lambda nth: -counts[nth])
    table = Table(
        ("word", "group", "times in the text", "x", "y"),
        tuple(
            (words[nth], groups[nth], counts[nth], float(points[nth, 0]), float(points[nth, 1]))
            for nth in range(len(rows))
        ),
    )
    about = (
        f"The vectors of {len(rows):,} words laid out in the plane by t-SNE: near here means near there; far "
        "means little, and so do the axes. Labels that would cover others are left out."
    )
    kinds = (
        ("plane_groups", "Words in the plane, by group", True, [*range(len(group_of)), *ordinary[:150]]),
        ("plane_frequency", "Words in the plane, by frequency", False, by_frequency[:150]),
    )
    return [
        Section(
            name,
            title,
            about,
            table,
            pictures.plane(
                points, words, groups=groups, frequencies=counts, by_group=by_group, labelled=labelled
            ),
        )
        for name, title, by_group, labelled in kinds
    ]


def _dimensions(embeddings: Embeddings, text: Text, settings: EmbedSettings, lists: Lists) -> Section | None:
    try:
        rows = study.dimensions(text, settings, embeddings.tokenizer, lists.groups)
    except EmbeddingsError:  # too little text to hold some out
        return None
    table = Table(
        ("dimensions", "mean place of held-out neighbours", "margin between groups", "seconds per epoch"),
        tuple((row["dimension"], row["rank"], row["margin"], row["seconds_per_epoch"]) for row in rows),
    )
    about = (
        "The same training with more and fewer numbers in a vector. A tenth of the text is held out; for its "
        "pairs, the place of the right token is the share of tokens held for likelier there: 50% is chance. "
        "The margin is by how much words of a group are more alike than words of different groups. Means "
        f"over {study.SEEDS} seeds, with the least and the most: differences within these mean nothing."
    )
    return Section("dimensions", "How many dimensions it takes", about, table, pictures.dimensions(rows))


def _progress(embeddings: Embeddings) -> Section | None:
    history = embeddings.training.get("history") or []
    rows = []
    for epoch in sorted({row["epoch"] for row in history}):
        own = [row for row in history if row["epoch"] == epoch]
        pairs = sum(row["pairs"] for row in own)
        mean = next((row["mean_similarity"] for row in own if row["mean_similarity"] is not None), None)
        if pairs and mean is not None:
            loss = next((row["loss"] for row in reversed(own) if row["loss"] is not None), None)
            seconds = sum(row["seconds"] for row in own)
            rows.append(
                {"epoch": epoch, "loss": loss, "mean_similarity": mean, "pairs": pairs, "seconds": seconds}
            )
    if not rows:
        return None
    table = Table(
        ("epoch", "mean loss of a pair", "mean cosine of two tokens", "pairs", "seconds"),
        tuple((r["epoch"], r["loss"], r["mean_similarity"], r["pairs"], r["seconds"]) for r in rows),
    )
    about = (
        "At the end of each epoch, the mean loss of a fixed sample of pairs and negatives, and the mean "
        "cosine of all pairs of vectors. Early on all vectors move the same way; then they part."
    )
    return Section("progress", "How training went", about, table, pictures.progress(rows))


def _objectives(embeddings: Embeddings, text: Text, settings: EmbedSettings, lists: Lists) -> Section | None:
    try:
        rows = study.objectives(text, settings, embeddings.tokenizer, lists.groups)
    except (EmbeddingsError, ValueError):  # too little text to hold some out, or too few frequent tokens
        return None
    columns = (
        "",
        "seconds per epoch",
        "mean place of held-out neighbours",
        "margin",
        "multiplications per batch",
    )
    table = Table(
        columns,
        tuple(
            (r["objective"], r["seconds_per_epoch"], r["rank"], r["margin"], r["operations_per_batch"])
            for r in rows
        ),
    )
    size = min(len(text.ids), study.SOFTMAX_SIZE)
    about = (
        f"The full softmax compares each neighbour with all {rows[0]['vocabulary']:,} tokens that are "
        "frequent enough to take part here, negative sampling with a few. At each point: the mean "
        "place of held-out neighbours (50% is chance), and millions of multiplications for a batch of "
        f"{settings.batch_size:,} tokens. All on the same {size:,} tokens."
    )
    return Section(
        "objectives", "Why negatives: the full softmax, and a few", about, table, pictures.objectives(rows)
    )


def _ambiguous(embeddings: Embeddings, text: Text, lists: Lists) -> list[Section]:
    """Words with several meanings: one vector, and the sentences that pull it apart."""
    rows: list[tuple[str, str, str]] = []
    for word in lists.ambiguous:
        if word in embeddings:
            near = ", ".join(neighbour.word for neighbour in embeddings.most_similar(word, 6))
            rows += [(word, near, sentence) for sentence in contexts(embeddings, text, word, 4)]
    if not rows:
        return []
    about = (
        "Each of these words has several meanings and one vector, which lies somewhere between them: its "
        "neighbours come from all. A contextual model gives each occurrence a vector of its own."
    )
    table = Table(("word", "neighbours of its one vector", "places where it stands"), tuple(rows))
    return [Section("ambiguous", "One vector, several meanings", about, table, figures_first=True)]


def contexts(embeddings: Embeddings, text: Text, word: str, n: int) -> list[str]:
    """Places where a word stands, in company as different as there is."""
    found = embeddings.find(word)
    if found is None or len(found.rows) > 1:
        return []
    places = np.flatnonzero(text.ids == embeddings.ids[found.rows[0]])
    around = [text.ids[max(place - _CONTEXT, 0) : place + _CONTEXT + 1] for place in places.tolist()]
    chosen = _far_apart(np.array([_mean(embeddings, part) for part in around]), n) if around else []
    decode = embeddings.tokenizer.decode_bytes
    return [" ".join(decode(around[nth]).decode("utf-8", "replace").split()) for nth in chosen]


def _mean(embeddings: Embeddings, ids: "NDArray[np.uint32]") -> "NDArray[np.float32]":
    """What the tokens of a place have in common, beyond what all tokens have."""
    rows = np.flatnonzero(np.isin(embeddings.ids, ids))
    mean: NDArray[np.float32] = embeddings.unit[rows].mean(axis=0) - embeddings.unit.mean(axis=0)
    return mean


def _far_apart(vectors: "NDArray[np.float32]", n: int) -> list[int]:
    """Rows that are unlike each other: the first, then always the one that is farthest from those before."""
    rows = normalized(vectors)
    chosen = [0]
    while len(chosen) < min(n, len(rows)):
        chosen.append(int(np.argmin((rows @ rows[chosen].T).max(axis=1))))
    return sorted(chosen)


def _judged(embeddings: Embeddings, lists: Lists) -> Section | None:
    rows: list[tuple[str, str, float | None, str]] = []
    kinds = [("these vectors", embeddings)]
    if len(embeddings) <= baselines.MAX_TOKENS:
        kinds.append(("one-hot vectors", baselines.one_hot(embeddings)))
    for name, kind in kinds:
        try:
            margin = separation(kind, lists.groups)
        except EmbeddingsError:
            continue
        covered = f"{margin.covered} of {margin.words} words"
        rows.append((name, "margin between our groups of words", margin.margin, covered))
    ranks = synonym_ranks(embeddings, lists.synonyms)
    if ranks:
        middle = float(np.median([row["rank"] / row["of"] for row in ranks]))
        rows.append(
            (
                "these vectors",
                "median place of our synonyms among all words, as a share",
                middle,
                f"{len(ranks)} of {len(lists.synonyms)} pairs",
            )
        )
    for name in INSTALLED:
        if installed(name) is not None:
            result = evaluate(embeddings, name)
            covered = f"{result.covered:,} ({result.coverage:.0%})"
            if isinstance(result, Agreement):
                rows.append(("these vectors", f"{name}: Spearman's correlation", result.spearman, covered))
            else:
                rows.append(("these vectors", f"{name}: share answered right", result.accuracy, covered))
    if not rows:
        return None
    about = (
        "Lists of our own, and those of others where an installed gensim has them. Few words of a small "
        "corpus are on the latter, so look at what is covered before believing a figure. One-hot vectors, "
        "which are what there is before anything is learned, hold every two words for equally different."
    )
    table = Table(("what", "measure", "figure", "covered"), tuple(rows))
    return Section("judged", "How much meaning there is", about, table, figures_first=True)
