"""Embeddings: vectors of tokens, and asking them questions. Never change once made.

How a word finds its vector, in this order: the token that is the word with a space before it, as it stands
inside a text; the same with a capital, in capitals or in small letters; these without the space; and where
the word is several tokens, the mean of the vectors of its subwords. `find` says which it was.

A question goes through all vectors: a product of a matrix and a vector, about a millisecond for 30,000
tokens.
"""

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np

from merganser.embed import exports, spread
from merganser.embed import folder as embed_folder
from merganser.embed.vectors import Vectors
from merganser.errors import EmbeddingsError

if TYPE_CHECKING:
    from numpy.typing import NDArray

How = Literal["token", "variant", "subwords"]


class Found(NamedTuple):
    """The rows of a word, and how they were found: "token", "variant" (of case or space), "subwords"."""

    rows: tuple[int, ...]
    how: How


class Neighbour(NamedTuple):
    """A token that is near: as a word, its id, and the cosine of the two vectors."""

    word: str
    id: int
    similarity: float


@dataclass(frozen=True, eq=False, repr=False)
class Embeddings(Vectors):
    """Vectors of tokens, the most frequent token first.

    ids, counts: the token of each row, and how often it is in the text.
    training: facts about the training: settings, figures of every interval.

    >>> import merganser
    >>> tokenizer = merganser.train(["king queen"] * 9, 264)
    >>> ids = [tokenizer.encode(word)[0] for word in ("king", " queen")]
    >>> made = Embeddings(np.eye(2, 3, dtype=np.float32), ids, [9, 9], tokenizer)
    >>> made.similarity("king", "queen"), made.most_similar("king", 1)
    (0.0, [Neighbour(word='queen', id=263, similarity=0.0)])
    """

    @cached_property
    def unit(self) -> "NDArray[np.float32]":
        """The vectors with length 1."""
        return spread.unit(self.vectors)

    @cached_property
    def words(self) -> "NDArray[np.intp]":
        """The rows of tokens that are whole words: a space, then letters. All rows where there are none."""
        rows = [row for row, token in enumerate(self.tokens) if _is_word(token)]
        return np.array(rows or range(len(self)), np.intp)

    @cached_property
    def _rows(self) -> dict[int, int]:
        return {id: row for row, id in enumerate(self.ids.tolist())}

    def label(self, row: int) -> str:
        """The token of a row for people to read: without the space before a word."""
        token = self.tokens[row].decode("utf-8", "backslashreplace")
        return token.strip() or repr(token)[1:-1]

    def find(self, word: str) -> Found | None:
        """How this word has a vector, if it has one."""
        for how, text in _forms(word):
            ids = self.tokenizer.encode_ordinary(text)
            if len(ids) == 1 and ids[0] in self._rows:
                return Found((self._rows[ids[0]],), how)
        parts = [self._rows.get(id) for id in self.tokenizer.encode_ordinary(f" {word.strip()}")]
        rows = tuple(row for row in parts if row is not None)
        # Half a word's tokens say nothing about the word.
        return Found(rows, "subwords") if rows and len(rows) == len(parts) else None

    def __contains__(self, word: object) -> bool:
        return isinstance(word, str) and self.find(word) is not None

    def __getitem__(self, word: str) -> "NDArray[np.float32]":
        """The vector of a word."""
        return self.vector(word)

    def vector(self, word: str) -> "NDArray[np.float32]":
        """The vector of a word; of one that is several tokens, the mean of theirs."""
        mean: NDArray[np.float32] = self.vectors[list(self._found(word).rows)].mean(axis=0)
        return mean

    def similarity(self, one: str, other: str) -> float:
        """The cosine of the vectors of two words, from −1 to 1."""
        return float(_direction(self.vector(one)) @ _direction(self.vector(other)))

    def most_similar(
        self, query: "str | NDArray[np.float32]", n: int = 10, *, only_words: bool = True
    ) -> list[Neighbour]:
        """The tokens whose vectors have the largest cosine with that of a word, or with a vector.

        only_words: leave out what is not a whole word: punctuation, parts of words, and words that stand at
            the beginning of a line.

        The word itself is left out, in whatever case.
        """
        if isinstance(query, str):
            return self._nearest(self.vector(query), n, only_words, [query])
        direction = np.asarray(query, np.float32)
        if direction.shape != (self.dimension,):
            raise EmbeddingsError(f"vectors have {self.dimension} numbers here, not shape {direction.shape}")
        return self._nearest(spread.finite(direction[None])[0], n, only_words, [])

    def analogy(self, a: str, b: str, c: str, n: int = 5) -> list[Neighbour]:
        """What is to `c` as `b` is to `a`: the nearest to b − a + c, none of the three among them."""
        one, two, three = (_direction(self.vector(word)) for word in (a, b, c))
        return self._nearest(two - one + three, n, True, [a, b, c])

    def save(self, folder: str | os.PathLike[str]) -> list[Path]:
        """Writes `embeddings.safetensors`, `embeddings.json` and the tokenizer to a folder, for `load`."""
        return embed_folder.save(self, folder)

    def export(self, path: str | os.PathLike[str], *, format: exports.ExportFormat) -> list[Path]:
        """Writes the vectors for others; see `merganser.embed.exports` for the formats."""
        return exports.export(self, path, format)

    def _found(self, word: str) -> Found:
        found = self.find(word)
        if found is None:
            raise EmbeddingsError(
                f"{word!r} has no vector: neither it nor all of its parts were seen often enough; "
                "lower min_count or give more text"
            )
        return found

    def _nearest(
        self, vector: "NDArray[np.float32]", n: int, only_words: bool, without: Sequence[str]
    ) -> list[Neighbour]:
        rows = self.words if only_words else np.arange(len(self))
        cosines = (self._word_directions if only_words else self.unit) @ _direction(vector)
        left_out = {word.strip().casefold() for word in without}
        nearest = []
        for place in _descending(cosines, n + 8 * len(left_out)):
            row = int(rows[place])
            label = self.label(row)
            if label.casefold() not in left_out:
                nearest.append(Neighbour(label, int(self.ids[row]), float(cosines[place])))
        return nearest[: max(n, 0)]

    @cached_property
    def _word_directions(self) -> "NDArray[np.float32]":
        rows: NDArray[np.float32] = self.unit[self.words]
        return rows

    def __repr__(self) -> str:
        return f"<Embeddings: {len(self):,} tokens, {self.dimension} dimensions>"


def load(folder: str | os.PathLike[str]) -> Embeddings:
    """The embeddings of a folder that `Embeddings.save` or `merganser embed` wrote."""
    stored = embed_folder.load(folder)
    return Embeddings(stored.vectors, stored.ids, stored.counts, stored.tokenizer, stored.training)


def _forms(word: str) -> Iterator[tuple[How, str]]:
    """Texts that may be the word as one token, the likeliest first."""
    word = word.strip()
    yield "token", f" {word}"
    cases = dict.fromkeys((word, word.capitalize(), word.upper(), word.lower()))
    for space in (" ", ""):
        for case in cases:
            if word and (space, case) != (" ", word):
                yield "variant", space + case


def _is_word(token: bytes) -> bool:
    text = token.decode("utf-8", "replace")
    return len(text) > 2 and text[0] == " " and text[1:].isalpha()


def _direction(vector: "NDArray[np.float32]") -> "NDArray[np.float32]":
    length = float(np.linalg.norm(vector))
    direction: NDArray[np.float32] = vector / np.float32(length) if length else vector
    return direction


def _descending(values: "NDArray[np.float32]", n: int) -> list[int]:
    """The places of the `n` largest, the largest first."""
    n = min(n, len(values))
    if n <= 0:
        return []
    top = np.argpartition(-values, n - 1)[:n]
    places: list[int] = top[np.argsort(-values[top], kind="stable")].tolist()
    return places
