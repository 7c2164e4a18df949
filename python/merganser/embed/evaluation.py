"""Evaluate embeddings on published test sets that the user provides.

WordSim-353 and SimLex-999 are pairs of words with human similarity ratings; the score is Spearman's
correlation of the ratings with the cosines. The Google analogies are questions, a : b = c : ?, and the score
is the accuracy. We cannot ship these test sets: they are read from a path, or from the test data of an
installed gensim, which is located but not imported.

By default only words that are one token count. Words of several tokens can be included as the mean of their
subwords (`composed`), and the coverage of a test set is always reported.
"""

import importlib.util
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from merganser.embed.embeddings import Embeddings
from merganser.errors import EmbeddingsError

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: Names of test sets, and gensim's files.
INSTALLED = {
    "wordsim353": "wordsim353.tsv",
    "simlex999": "simlex999.txt",
    "google-analogies": "questions-words.txt",
}


@dataclass(frozen=True)
class Agreement:
    """Agreement with human ratings of the similarity of pairs.

    Attributes
    ----------
    spearman
        Spearman's rank correlation: 1 is the same order, 0 is chance.
    covered
        The number of pairs of which both words have vectors.
    pairs
        The number of pairs in the test set.
    composed
        The number of covered pairs with a word that is the mean of its subwords.
    """

    spearman: float
    covered: int
    pairs: int
    composed: int

    @property
    def coverage(self) -> float:
        """The share of pairs that are covered."""
        return self.covered / self.pairs


@dataclass(frozen=True)
class Analogies:
    """Accuracy on analogy questions.

    Attributes
    ----------
    right
        The number of correct answers.
    covered
        The number of questions of which all words have vectors.
    questions
        The number of questions in the test set.
    sections
        The numbers of correct answers and covered questions by section.
    """

    right: int
    covered: int
    questions: int
    sections: dict[str, tuple[int, int]]

    @property
    def accuracy(self) -> float:
        """The share of covered questions that are answered correctly."""
        return self.right / self.covered if self.covered else 0.0

    @property
    def coverage(self) -> float:
        """The share of questions that are covered."""
        return self.covered / self.questions


@dataclass(frozen=True)
class Separation:
    """The mean cosine within groups of words, and between words of different groups."""

    within: float
    between: float
    covered: int
    words: int

    @property
    def margin(self) -> float:
        """How much more similar words of the same group are."""
        return self.within - self.between


def installed(name: str) -> Path | None:
    """Return the file of a test set in gensim's test data, or None if gensim is not installed."""
    spec = importlib.util.find_spec("gensim")
    for folder in (spec and spec.submodule_search_locations) or ():
        file = Path(folder, "test", "test_data", INSTALLED[name])
        if file.is_file():
            return file
    return None


def evaluate(
    embeddings: Embeddings, path_or_name: str | os.PathLike[str], *, composed: bool = False
) -> Agreement | Analogies:
    """Evaluate embeddings on a test set.

    A file of pairs has lines `word word score`, separated by tabs or commas; a file of analogies has lines of
    four words under headings `: name`. Lines that begin with `#` and a line of column names are skipped.

    Parameters
    ----------
    embeddings
        The embeddings to evaluate.
    path_or_name
        A file, or "wordsim353", "simlex999" or "google-analogies" from an installed gensim.
    composed
        Whether to include words of several tokens in pairs, as the mean of their subwords.

    Returns
    -------
    Agreement | Analogies
        The score on pairs, or on analogies.

    Raises
    ------
    EmbeddingsError
        If the test set is not found or cannot be read.

    Examples
    --------
    >>> import tempfile
    >>> import merganser
    >>> embeddings = Embeddings(np.eye(3), [97, 98, 99], [1, 1, 1], merganser.train(["a b"], 257))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     pairs = Path(folder, "pairs.tsv")
    ...     _ = pairs.write_text("a\\tb\\t9\\na\\tz\\t1\\n")
    ...     evaluate(embeddings, pairs).coverage
    0.5
    """
    path = Path(path_or_name)
    if str(path_or_name) in INSTALLED and not path.exists():
        installed_file = installed(str(path_or_name))
        if installed_file is None:
            raise EmbeddingsError(
                f"{path_or_name} is not on this machine; pip install gensim, or pass the path of the file"
            )
        path = installed_file
    try:
        text = path.read_text("utf-8")
    except OSError as error:
        raise EmbeddingsError(f"cannot read {path}: {error.strerror}; check the path") from error
    except UnicodeDecodeError as error:
        raise EmbeddingsError(f"{path} is not a list of words in UTF-8: {error}; check the path") from error
    lines = [(n, line.strip()) for n, line in enumerate(text.splitlines(), 1)]
    lines = [(n, line) for n, line in lines if line and not line.startswith("#")]
    if lines and lines[0][1].startswith(":"):
        return _analogies(embeddings, list(_questions(lines, path)))
    return _agreement(embeddings, _scored(lines, path), composed)


def separation(embeddings: Embeddings, groups: dict[str, Sequence[str]]) -> Separation:
    """Compare the similarity of words within groups with that of words in different groups."""
    known = [(name, word) for name, words in groups.items() for word in words if word in embeddings]
    within: list[float] = []
    between: list[float] = []
    for (group, one), (other_group, other) in combinations(known, 2):
        (within if group == other_group else between).append(embeddings.similarity(one, other))
    if not within or not between:
        raise EmbeddingsError(
            "too few words have vectors; at least two words of one group and one of another are needed"
        )
    words = sum(map(len, groups.values()))
    return Separation(float(np.mean(within)), float(np.mean(between)), len(known), words)


def synonym_ranks(embeddings: Embeddings, pairs: Sequence[tuple[str, str]]) -> list[dict[str, Any]]:
    """Return for each known pair the cosine, and the rank of the second word among the first's neighbors."""
    rows = []
    for one, other in pairs:
        if one in embeddings and other in embeddings:
            cosine = embeddings.similarity(one, other)
            direction = embeddings.vector(one) / np.linalg.norm(embeddings.vector(one))
            cosines = embeddings.unit[embeddings.words] @ direction
            # The word itself is closest and does not count.
            rank = max(int((cosines > cosine + 1e-6).sum()), 1)
            row = {"word": one, "synonym": other, "similarity": cosine, "rank": rank}
            rows.append({**row, "of": len(cosines) - 1})
    return rows


def synonym_similarity(embeddings: Embeddings, pairs: Sequence[tuple[str, str]]) -> float | None:
    """Return the mean cosine of the pairs of which both words have vectors, or None if there are none.

    >>> import merganser
    >>> embeddings = Embeddings(np.eye(3), [97, 98, 99], [1, 1, 1], merganser.train(["a b"], 257))
    >>> synonym_similarity(embeddings, [("a", "b"), ("a", "z")])
    0.0
    """
    known = [(one, other) for one, other in pairs if one in embeddings and other in embeddings]
    return float(np.mean([embeddings.similarity(*pair) for pair in known])) if known else None


def spearman(one: "NDArray[np.float64]", other: "NDArray[np.float64]") -> float:
    """Return Spearman's rank correlation, with ties at the mean of their ranks.

    >>> spearman(np.array([1.0, 2, 3]), np.array([10.0, 30, 20]))
    0.5
    """
    a, b = _ranks(one) - (len(one) - 1) / 2, _ranks(other) - (len(other) - 1) / 2
    scale = float(np.sqrt((a @ a) * (b @ b)))
    return float(a @ b) / scale if scale else 0.0


def _ranks(values: "NDArray[np.float64]") -> "NDArray[np.float64]":
    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    ranks: NDArray[np.float64] = (last - (counts + 1) / 2)[inverse]
    return ranks


def _scored(lines: list[tuple[int, str]], path: Path) -> list[tuple[str, str, float]]:
    pairs = []
    for index, (number, line) in enumerate(lines):
        parts = line.replace(",", "\t").split("\t") if "\t" in line or "," in line else line.split()
        try:
            pairs.append((parts[0].strip(), parts[1].strip(), _score(parts)))
        except (IndexError, ValueError):
            if index == 0:
                continue  # column names
            raise EmbeddingsError(
                f"{path}, line {number}: a line must be word, word and score, got {line[:60]!r}"
            ) from None
    if not pairs:
        raise EmbeddingsError(f"{path} contains no pairs of words; check the path")
    return pairs


def _score(parts: list[str]) -> float:
    """Return the rating: the third column, or the one after the part of speech in SimLex-999."""
    try:
        value = float(parts[2])
    except ValueError:
        value = float(parts[3])
    if not np.isfinite(value):
        raise ValueError
    return value


def _agreement(embeddings: Embeddings, pairs: list[tuple[str, str, float]], composed: bool) -> Agreement:
    ratings, cosines, composed_pairs = [], [], 0
    for one, other, rating in pairs:
        words = [embeddings.find(one), embeddings.find(other)]
        several = any(word is not None and word.how == "subwords" for word in words)
        if None in words or (several and not composed):
            continue
        ratings.append(rating)
        cosines.append(embeddings.similarity(one, other))
        composed_pairs += several
    correlation = spearman(np.array(ratings), np.array(cosines)) if ratings else 0.0
    return Agreement(correlation, len(ratings), len(pairs), composed_pairs)


def _questions(lines: list[tuple[int, str]], path: Path) -> Iterator[tuple[str, list[str]]]:
    section = ""
    for number, line in lines:
        if line.startswith(":"):
            section = line[1:].strip()
        elif len(line.split()) == 4:
            yield section, line.split()
        else:
            raise EmbeddingsError(f"{path}, line {number}: a question must be four words, got {line[:60]!r}")


def _analogies(embeddings: Embeddings, questions: list[tuple[str, list[str]]]) -> Analogies:
    sections: dict[str, tuple[int, int]] = {}
    words = {word for _, question in questions for word in question}
    matches = {word: embeddings.find(word) for word in words}
    row_of = {
        word: match.rows[0]
        for word, match in matches.items()
        if match is not None and match.how != "subwords"
    }
    for section, question in questions:
        right, covered = sections.get(section, (0, 0))
        if all(word in row_of for word in question):
            answer = embeddings.analogy(question[0], question[1], question[2], n=1)
            covered += 1
            right += bool(answer) and answer[0].id == int(embeddings.ids[row_of[question[3]]])
        sections[section] = (right, covered)
    right = sum(row[0] for row in sections.values())
    covered = sum(row[1] for row in sections.values())
    return Analogies(right, covered, len(questions), sections)
