"""Evaluation: how far similarities agree with what people say, on lists that the user has.

WordSim-353 and SimLex-999 are pairs of words with the judgements of people: Spearman's correlation of these
with the cosines is the figure. The Google analogies are questions, a : b = c : ?, and the share of right
answers is the figure. None of them is ours to ship: they are read from a path, or from the test data of an
installed gensim, which is looked for but not imported.

Whole words are what is measured. Words of several tokens can be added, as the mean of their subwords
(`composed`), and how much of a list is covered is always told.
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

#: Names of lists, and the files that gensim has them in.
INSTALLED = {
    "wordsim353": "wordsim353.tsv",
    "simlex999": "simlex999.txt",
    "google-analogies": "questions-words.txt",
}


@dataclass(frozen=True)
class Agreement:
    """Spearman's correlation with the judgements of people: 1 the same order, 0 chance."""

    spearman: float
    #: Pairs whose words both have vectors.
    covered: int
    pairs: int
    #: Of these, how many hold a word that is the mean of its subwords.
    composed: int

    @property
    def coverage(self) -> float:
        return self.covered / self.pairs


@dataclass(frozen=True)
class Analogies:
    """How many questions were answered right, by section and in all."""

    right: int
    covered: int
    questions: int
    sections: dict[str, tuple[int, int]]

    @property
    def accuracy(self) -> float:
        return self.right / self.covered if self.covered else 0.0

    @property
    def coverage(self) -> float:
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
        return self.within - self.between


def installed(name: str) -> Path | None:
    """The file of a list in gensim's test data, if gensim is installed."""
    spec = importlib.util.find_spec("gensim")
    for folder in (spec and spec.submodule_search_locations) or ():
        file = Path(folder, "test", "test_data", INSTALLED[name])
        if file.is_file():
            return file
    return None


def evaluate(
    embeddings: Embeddings, path_or_name: str | os.PathLike[str], *, composed: bool = False
) -> Agreement | Analogies:
    """Measures on a list: a file, or "wordsim353", "simlex999" or "google-analogies" of an installed gensim.

    A file of pairs has lines `word word score`, separated by tabs or commas; one of analogies has lines of
    four words under headings `: name`. Lines that begin with `#` are skipped, and a heading of columns.
    """
    path = Path(path_or_name)
    if str(path_or_name) in INSTALLED and not path.exists():
        found = installed(str(path_or_name))
        if found is None:
            raise EmbeddingsError(
                f"{path_or_name} is not on this machine: pip install gensim, or give the path of the file"
            )
        path = found
    try:
        text = path.read_text("utf-8")
    except OSError as error:
        raise EmbeddingsError(f"cannot read {path}: {error.strerror}; check the path") from error
    except UnicodeDecodeError as error:
        raise EmbeddingsError(f"{path} is not a list of words: {error}") from error
    lines = [(n, line.strip()) for n, line in enumerate(text.splitlines(), 1)]
    lines = [(n, line) for n, line in lines if line and not line.startswith("#")]
    if lines and lines[0][1].startswith(":"):
        return _analogies(embeddings, list(_questions(lines, path)))
    return _agreement(embeddings, _scored(lines, path), composed)


def separation(embeddings: Embeddings, groups: dict[str, Sequence[str]]) -> Separation:
    """How much more alike the words of a group are than words of different groups."""
    known = [(name, word) for name, words in groups.items() for word in words if word in embeddings]
    within: list[float] = []
    between: list[float] = []
    for (group, one), (other_group, other) in combinations(known, 2):
        (within if group == other_group else between).append(embeddings.similarity(one, other))
    if not within or not between:
        raise EmbeddingsError("at least two groups with two known words each are needed to compare them")
    words = sum(map(len, groups.values()))
    return Separation(float(np.mean(within)), float(np.mean(between)), len(known), words)


def synonym_ranks(embeddings: Embeddings, pairs: Sequence[tuple[str, str]]) -> list[dict[str, Any]]:
    """For each known pair, the cosine, and which neighbour of the first word the second one is."""
    rows = []
    for one, other in pairs:
        if one in embeddings and other in embeddings:
            cosine = embeddings.similarity(one, other)
            direction = embeddings.vector(one) / np.linalg.norm(embeddings.vector(one))
            cosines = embeddings.unit[embeddings.words] @ direction
            # The word itself is the nearest, and does not count.
            rank = max(int((cosines > cosine + 1e-6).sum()), 1)
            row = {"word": one, "synonym": other, "similarity": cosine, "rank": rank}
            rows.append({**row, "of": len(cosines) - 1})
    return rows


def spearman(one: "NDArray[np.float64]", other: "NDArray[np.float64]") -> float:
    """The correlation of ranks, equal values at the mean of their ranks.

    >>> spearman(np.array([1.0, 2, 3]), np.array([10.0, 30, 20]))
    0.5
    """
    a, b = _ranks(one) - (len(one) - 1) / 2, _ranks(other) - (len(other) - 1) / 2
    spread = float(np.sqrt((a @ a) * (b @ b)))
    return float(a @ b) / spread if spread else 0.0


def _ranks(values: "NDArray[np.float64]") -> "NDArray[np.float64]":
    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    ranks: NDArray[np.float64] = (last - (counts + 1) / 2)[inverse]
    return ranks


def _scored(lines: list[tuple[int, str]], path: Path) -> list[tuple[str, str, float]]:
    pairs = []
    for place, (number, line) in enumerate(lines):
        parts = line.replace(",", "\t").split("\t") if "\t" in line or "," in line else line.split()
        try:
            pairs.append((parts[0].strip(), parts[1].strip(), _score(parts)))
        except (IndexError, ValueError):
            if place == 0:
                continue  # the heading of columns
            raise EmbeddingsError(
                f"{path}, line {number}: a line is word, word and score, not {line[:60]!r}"
            ) from None
    if not pairs:
        raise EmbeddingsError(f"{path} holds no pairs of words; check the path")
    return pairs


def _score(parts: list[str]) -> float:
    """The judgement: in the third column, or behind the part of speech, as SimLex-999 has it."""
    try:
        value = float(parts[2])
    except ValueError:
        value = float(parts[3])
    if not np.isfinite(value):
        raise ValueError
    return value


def _agreement(embeddings: Embeddings, pairs: list[tuple[str, str, float]], composed: bool) -> Agreement:
    people, ours, made = [], [], 0
    for one, other, score in pairs:
        found = [embeddings.find(one), embeddings.find(other)]
        several = any(word is not None and word.how == "subwords" for word in found)
        if None in found or (several and not composed):
            continue
        people.append(score)
        ours.append(embeddings.similarity(one, other))
        made += several
    correlation = spearman(np.array(people), np.array(ours)) if people else 0.0
    return Agreement(correlation, len(people), len(pairs), made)


def _questions(lines: list[tuple[int, str]], path: Path) -> Iterator[tuple[str, list[str]]]:
    section = ""
    for number, line in lines:
        if line.startswith(":"):
            section = line[1:].strip()
        elif len(line.split()) == 4:
            yield section, line.split()
        else:
            raise EmbeddingsError(f"{path}, line {number}: a question is four words, not {line[:60]!r}")


def _analogies(embeddings: Embeddings, questions: list[tuple[str, list[str]]]) -> Analogies:
    sections: dict[str, tuple[int, int]] = {}
    words = {word for _, asked in questions for word in asked}
    found = {word: embeddings.find(word) for word in words}
    single = {word: at.rows[0] for word, at in found.items() if at is not None and at.how != "subwords"}
    for section, asked in questions:
        right, covered = sections.get(section, (0, 0))
        if all(word in single for word in asked):
            answer = embeddings.analogy(asked[0], asked[1], asked[2], n=1)
            covered += 1
            right += bool(answer) and answer[0].id == int(embeddings.ids[single[asked[3]]])
        sections[section] = (right, covered)
    right = sum(row[0] for row in sections.values())
    covered = sum(row[1] for row in sections.values())
    return Analogies(right, covered, len(questions), sections)
