"""Sections about meaning: ambiguous words in context, and the evaluation on word lists."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
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

_SENTENCE_END = re.compile(r"[.!?…]+[\"'”’»)\]]*(?=\s)")
#: The number of tokens on each side of a word that are its context.
_CONTEXT = 5
#: The maximum number of words to show on each side of a word.
_SHOWN = 12
#: Tokens with a higher share of the text count less in a context.
_RARE = 1e-3
_ROUNDS = 20


def ambiguous(embeddings: Embeddings, text: Text, lists: Lists) -> Section | None:
    """Words with several meanings, each in two of our sentences and two of the text's."""
    contexts = Contexts(embeddings, text)
    rows: list[tuple[str, str, str, str, float | None]] = []
    for word, examples in lists.ambiguous.items():
        if word not in embeddings:
            continue
        neighbors = ", ".join(neighbor.word for neighbor in embeddings.most_similar(word, 6))
        for source, uses in (("example", contexts.given(word, examples)), ("text", contexts.farthest(word))):
            rows += [(word, use, source, neighbors, uses.cosine) for use in uses.sentences]
    if not rows:
        return None
    about = (
        "Each of these words has several meanings but one vector, which is a mixture of them: its neighbors "
        "come from all meanings. The contexts do differ: their cosine, of the sums of the vectors around the "
        "word relative to the mean, is far below the 1 of the word with itself. The occurrences in the text "
        "are the two most typical of different contexts. A contextual model computes a separate vector for "
        "each occurrence."
    )
    table = Table(("word", "sentence", "source", "nearest neighbors", "cosine of the contexts"), tuple(rows))
    return Section("ambiguous", "Words with several meanings", about, table, figures_first=True)


@dataclass(frozen=True)
class Uses:
    """Sentences with the same word, and the cosine of its contexts if both are known."""

    sentences: Sequence[str]
    cosine: float | None


class Contexts:
    """The contexts of words in a text, as vectors: the sum of the tokens around, rare ones weighted more."""

    def __init__(self, embeddings: Embeddings, text: Text) -> None:
        self._embeddings, self._text = embeddings, text
        self._row_of = np.full(embeddings.tokenizer.next_id, -1, np.int64)
        self._row_of[embeddings.ids] = np.arange(len(embeddings))
        share = embeddings.counts / max(int(embeddings.counts.sum()), 1)
        weights = (_RARE / (_RARE + share)).astype(np.float32)
        self._vectors = (embeddings.unit - embeddings.unit.mean(axis=0)) * weights[:, None]

    def given(self, word: str, sentences: tuple[str, str]) -> Uses:
        """Return our sentences with the cosine of their contexts."""
        of_word = self._embeddings.find(word)
        known = set(of_word.rows if of_word else ())
        vectors = []
        for sentence in sentences:
            rows = self._row_of[self._embeddings.tokenizer.encode(sentence)]
            vectors.append(self._sum(np.array([row for row in rows.tolist() if row not in known], np.int64)))
        one, other = normalized(np.stack(vectors))
        return Uses(sentences, float(one @ other) if one.any() and other.any() else None)

    def farthest(self, word: str) -> Uses:
        """Return two occurrences in the text whose contexts differ.

        The contexts are clustered in two, starting from the two least similar ones (2-means with cosines),
        and the occurrence closest to each center is chosen: the extremes themselves are often oddities.
        """
        match = self._embeddings.find(word)
        if match is None or len(match.rows) > 1:
            return Uses((), None)
        positions = np.flatnonzero(self._text.ids == self._embeddings.ids[match.rows[0]])
        vectors = normalized(np.array([self._around(at) for at in positions.tolist()], np.float32))
        positions, vectors = positions[vectors.any(axis=1)], vectors[vectors.any(axis=1)]
        if len(positions) < 2:
            return Uses([self._sentence(at) for at in positions.tolist()], None)
        start = np.unravel_index(np.argmin(vectors @ vectors.T), (len(vectors), len(vectors)))
        centers = vectors[list(start)]
        for _ in range(_ROUNDS):
            nearest = (vectors @ centers.T).argmax(axis=1)
            if len(set(nearest.tolist())) < 2:
                break
            centers = normalized(np.stack([vectors[nearest == nth].sum(axis=0) for nth in range(2)]))
        typical = (vectors @ centers.T).argmax(axis=0)
        cosine = float(vectors[typical[0]] @ vectors[typical[1]])
        return Uses([self._sentence(at) for at in positions[typical].tolist()], cosine)

    def _sum(self, rows: "NDArray[np.int64]") -> "NDArray[np.float32]":
        total: NDArray[np.float32] = self._vectors[rows[rows >= 0]].sum(axis=0)
        return total

    def _around(self, at: int) -> "NDArray[np.float32]":
        ids = self._text.ids
        return self._sum(
            self._row_of[np.concatenate([ids[max(at - _CONTEXT, 0) : at], ids[at + 1 :][:_CONTEXT]])]
        )

    def _sentence(self, at: int) -> str:
        """Return the sentence around a token, or the part of it close to the token."""
        ids, decode = self._text.ids, self._embeddings.tokenizer.decode_bytes
        reach = 4 * _SHOWN
        before = decode(ids[max(at - reach, 0) : at]).decode("utf-8", "replace")
        word = decode(ids[at : at + 1]).decode("utf-8", "replace")
        after = decode(ids[at + 1 : at + 1 + reach]).decode("utf-8", "replace")
        start = [*_SENTENCE_END.finditer(before)]
        before = before[start[-1].end() :] if start else before
        end = _SENTENCE_END.search(after)
        after = after[: end.end()] if end else after
        left, right = before.split(), after.split()
        joined = before[len(before.rstrip()) :] + word
        glue = after[:1] if after[:1].isspace() else ""
        parts = [
            "… " * (len(left) > _SHOWN) + " ".join(left[-_SHOWN:]),
            joined,
            glue + " ".join(right[:_SHOWN]) + " …" * (len(right) > _SHOWN or not end),
        ]
        return " ".join("".join(parts).split())


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
