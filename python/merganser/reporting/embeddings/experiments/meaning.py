"""Sections about meaning: ambiguous words in context, and the evaluation on word lists."""

from typing import TYPE_CHECKING

import numpy as np

from merganser.embed import baselines
from merganser.embed.embeddings import Embeddings
from merganser.embed.evaluation import INSTALLED, Agreement, evaluate, installed, separation, synonym_ranks
from merganser.embed.groups import Lists
from merganser.embed.similarities import normalized
from merganser.embed.text import Text
from merganser.errors import EmbeddingsError
from merganser.reporting.section import Section
from merganser.reporting.tables import Table

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: The number of tokens to show on each side of a word.
_CONTEXT = 7


def ambiguous(embeddings: Embeddings, text: Text, lists: Lists) -> Section | None:
    """Words with several meanings: the neighbors of their vector, and occurrences in the text."""
    rows: list[tuple[str, str, str]] = []
    for word in lists.ambiguous:
        if word in embeddings:
            neighbors = ", ".join(neighbor.word for neighbor in embeddings.most_similar(word, 6))
            rows += [(word, neighbors, context) for context in contexts(embeddings, text, word, 4)]
    if not rows:
        return None
    about = (
        "Each of these words has several meanings but one vector, which is a mixture of them: its neighbors "
        "come from all meanings. A contextual model computes a separate vector for each occurrence."
    )
    table = Table(("word", "nearest neighbors", "context"), tuple(rows))
    return Section("ambiguous", "Words with several meanings", about, table, figures_first=True)


def contexts(embeddings: Embeddings, text: Text, word: str, n: int) -> list[str]:
    """Return `n` contexts of a word that differ as much as possible."""
    match = embeddings.find(word)
    if match is None or len(match.rows) > 1:
        return []
    positions = np.flatnonzero(text.ids == embeddings.ids[match.rows[0]])
    windows = [text.ids[max(at - _CONTEXT, 0) : at + _CONTEXT + 1] for at in positions.tolist()]
    chosen = _most_different(np.array([_mean(embeddings, ids) for ids in windows]), n) if windows else []
    decode = embeddings.tokenizer.decode_bytes
    return [" ".join(decode(windows[nth]).decode("utf-8", "replace").split()) for nth in chosen]


def _mean(embeddings: Embeddings, ids: "NDArray[np.uint32]") -> "NDArray[np.float32]":
    """Return the mean vector of the tokens, relative to the mean of all tokens."""
    rows = np.flatnonzero(np.isin(embeddings.ids, ids))
    mean: NDArray[np.float32] = embeddings.unit[rows].mean(axis=0) - embeddings.unit.mean(axis=0)
    return mean


def _most_different(vectors: "NDArray[np.float32]", n: int) -> list[int]:
    """Return dissimilar rows: the first, then repeatedly the one least similar to those chosen."""
    rows = normalized(vectors)
    chosen = [0]
    while len(chosen) < min(n, len(rows)):
        chosen.append(int(np.argmin((rows @ rows[chosen].T).max(axis=1))))
    return sorted(chosen)


def evaluation(embeddings: Embeddings, lists: Lists) -> Section | None:
    """The scores on our word lists, and on those of an installed gensim."""
    rows: list[tuple[str, str, float | None, str]] = []
    compared = [("these vectors", embeddings)]
    if len(embeddings) <= baselines.MAX_TOKENS:
        compared.append(("one-hot vectors", baselines.one_hot(embeddings)))
    for name, vectors in compared:
        try:
            margin = separation(vectors, lists.groups)
        except EmbeddingsError:
            continue
        covered = f"{margin.covered} of {margin.words} words"
        rows.append((name, "margin between our word groups", margin.margin, covered))
    ranks = synonym_ranks(embeddings, lists.synonyms)
    if ranks:
        median = float(np.median([row["rank"] / row["of"] for row in ranks]))
        rows.append(
            (
                "these vectors",
                "median rank of our synonyms among all words",
                median,
                f"{len(ranks)} of {len(lists.synonyms)} pairs",
            )
        )
    for name in INSTALLED:
        if installed(name) is not None:
            result = evaluate(embeddings, name)
            covered = f"{result.covered:,} ({result.coverage:.0%})"
            if isinstance(result, Agreement):
                rows.append(("these vectors", f"{name}: Spearman correlation", result.spearman, covered))
            else:
                rows.append(("these vectors", f"{name}: accuracy", result.accuracy, covered))
    if not rows:
        return None
    about = (
        "Scores on our own word lists, and on standard ones if gensim is installed. A small corpus covers "
        "few words of the latter, so check the coverage before trusting a figure. For comparison, one-hot "
        "vectors contain no meaning: all pairs of words are equally different."
    )
    table = Table(("vectors", "measure", "score", "covered"), tuple(rows))
    return Section("evaluation", "Evaluation", about, table, figures_first=True)
