"""Immutable vectors of tokens, and queries on them.

The vector of a word is looked up in this order: the token that is the word with a leading space, as it occurs
inside a text; the same capitalized, in upper case and in lower case; these without the space; and if the word
is several tokens, the mean of their vectors. `find` tells which of these applies.

A query is a product of a matrix and a vector over all tokens, about a millisecond for 30,000.
"""

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np

from merganser.embed import exports, similarities
from merganser.embed import folder as embed_folder
from merganser.embed.vectors import Vectors
from merganser.errors import EmbeddingsError

if TYPE_CHECKING:
    from numpy.typing import NDArray

How = Literal["token", "variant", "subwords"]


class WordRows(NamedTuple):
    """The rows of a word's vectors, and how the word was matched.

    Attributes
    ----------
    rows
        One row, or the rows of all subwords.
    how
        "token": the word with a leading space is a token. "variant": a token that differs in case or lacks
        the space. "subwords": the word is several tokens.
    """

    rows: tuple[int, ...]
    how: How


class Neighbor(NamedTuple):
    """A token close to a query.

    Attributes
    ----------
    word
        The token as a word, without a leading space.
    id
        The id of the token.
    similarity
        The cosine of the two vectors.
    """

    word: str
    id: int
    similarity: float


@dataclass(frozen=True, eq=False, repr=False)
class Embeddings(Vectors):
    """Vectors of tokens, most frequent token first, and queries on them.

    Parameters
    ----------
    vectors
        One row per token.
    ids, counts
        The id of each row's token, and how often it occurs in the text.
    tokenizer
        The tokenizer of the ids.
    training
        Facts about the training: its settings and the figures of every interval.

    Raises
    ------
    EmbeddingsError
        If the arrays do not match each other or the tokenizer, or contain NaN or infinity.

    Examples
    --------
    >>> import merganser
    >>> tokenizer = merganser.train(["king queen"] * 9, 264)
    >>> ids = [tokenizer.encode(word)[0] for word in ("king", " queen")]
    >>> embeddings = Embeddings(np.eye(2, 3, dtype=np.float32), ids, [9, 9], tokenizer)
    >>> embeddings.similarity("king", "queen"), embeddings.most_similar("king", 1)
    (0.0, [Neighbor(word='queen', id=263, similarity=0.0)])
    """

    @cached_property
    def unit(self) -> "NDArray[np.float32]":
        """The vectors scaled to length 1."""
        return similarities.normalized(self.vectors)

    @cached_property
    def words(self) -> "NDArray[np.intp]":
        """The rows of tokens that are whole words, a space and letters; all rows if there are none."""
        rows = [row for row, token in enumerate(self.tokens) if _is_word(token)]
        return np.array(rows or range(len(self)), np.intp)

    @cached_property
    def _rows(self) -> dict[int, int]:
        return {id: row for row, id in enumerate(self.ids.tolist())}

    def label(self, row: int) -> str:
        """Return the token of a row for display, without the space before a word."""
        token = self.tokens[row].decode("utf-8", "backslashreplace")
        return token.strip() or repr(token)[1:-1]

    def find(self, word: str) -> WordRows | None:
        """Return the rows of a word's vectors, or None if it has none.

        Parameters
        ----------
        word
            A word, with or without a leading space.
        """
        for how, text in _variants(word):
            ids = self.tokenizer.encode_ordinary(text)
            if len(ids) == 1 and ids[0] in self._rows:
                return WordRows((self._rows[ids[0]],), how)
        parts = [self._rows.get(id) for id in self.tokenizer.encode_ordinary(f" {word.strip()}")]
        rows = tuple(row for row in parts if row is not None)
        # The vectors of only some subwords say little about the word.
        return WordRows(rows, "subwords") if rows and len(rows) == len(parts) else None

    def __contains__(self, word: object) -> bool:
        return isinstance(word, str) and self.find(word) is not None

    def __getitem__(self, word: str) -> "NDArray[np.float32]":
        """Return the vector of a word; see `vector`."""
        return self.vector(word)

    def vector(self, word: str) -> "NDArray[np.float32]":
        """Return the vector of a word, or the mean of the vectors of its subwords.

        Raises
        ------
        EmbeddingsError
            If the word has no vector.
        """
        mean: NDArray[np.float32] = self.vectors[list(self._rows_of(word))].mean(axis=0)
        return mean

    def similarity(self, one: str, other: str) -> float:
        """Return the cosine of the vectors of two words, from −1 to 1.

        Raises
        ------
        EmbeddingsError
            If a word has no vector.
        """
        return float(_direction(self.vector(one)) @ _direction(self.vector(other)))

    def most_similar(
        self, query: "str | NDArray[np.float32]", n: int = 10, *, only_words: bool = True
    ) -> list[Neighbor]:
        """Return the tokens whose vectors have the largest cosine with a query, most similar first.

        Parameters
        ----------
        query
            A word, or a vector. The word itself is left out in any case.
        n
            The number of tokens to return.
        only_words
            Whether to leave out tokens that are not whole words: punctuation, parts of words, and words at
            the start of a line.

        Raises
        ------
        EmbeddingsError
            If the word has no vector, or the vector is invalid.
        """
        if isinstance(query, str):
            return self._nearest(self.vector(query), n, only_words, [query])
        direction = np.asarray(query, np.float32)
        if direction.shape != (self.dimension,):
            raise EmbeddingsError(
                f"the query must be a word or a vector of shape ({self.dimension},), "
                f"got shape {direction.shape}"
            )
        return self._nearest(similarities.check_finite(direction[None])[0], n, only_words, [])

    def analogy(self, a: str, b: str, c: str, n: int = 5) -> list[Neighbor]:
        """Answer "a is to b as c is to …" with the `n` words closest to b − a + c, except the three given.

        Parameters
        ----------
        a, b, c
            The given words.
        n
            The number of answers to return.

        Raises
        ------
        EmbeddingsError
            If a word has no vector.
        """
        one, two, three = (_direction(self.vector(word)) for word in (a, b, c))
        return self._nearest(two - one + three, n, True, [a, b, c])

    def save(self, folder: str | os.PathLike[str]) -> list[Path]:
        """Write `embeddings.safetensors`, `embeddings.json` and the tokenizer to a folder, for `load`.

        Returns
        -------
        list[Path]
            The files.

        Raises
        ------
        WriteError
            If a file cannot be written.
        """
        return embed_folder.save(self, folder)

    def export(self, path: str | os.PathLike[str], *, format: exports.ExportFormat) -> list[Path]:
        """Write the vectors to files of other programs.

        Parameters
        ----------
        path
            The file to write, or the folder for `tsv`.
        format
            "word2vec", "word2vec-bin", "tsv" or "parquet"; see `merganser.embed.exports`.

        Returns
        -------
        list[Path]
            The files.

        Raises
        ------
        SettingsError
            If the format is unknown.
        WriteError
            If a file cannot be written.
        """
        return exports.export(self, path, format)

    def _rows_of(self, word: str) -> tuple[int, ...]:
        found = self.find(word)
        if found is None:
            raise EmbeddingsError(
                f"{word!r} has no vector because it, or one of its subwords, occurs too rarely; "
                "lower min_count or train on more text"
            )
        return found.rows

    def _nearest(
        self, vector: "NDArray[np.float32]", n: int, only_words: bool, without: Sequence[str]
    ) -> list[Neighbor]:
        rows = self.words if only_words else np.arange(len(self))
        cosines = (self._word_directions if only_words else self.unit) @ _direction(vector)
        left_out = {word.strip().casefold() for word in without}
        nearest = []
        for index in _largest(cosines, n + 8 * len(left_out)):
            row = int(rows[index])
            label = self.label(row)
            if label.casefold() not in left_out:
                nearest.append(Neighbor(label, int(self.ids[row]), float(cosines[index])))
        return nearest[: max(n, 0)]

    @cached_property
    def _word_directions(self) -> "NDArray[np.float32]":
        rows: NDArray[np.float32] = self.unit[self.words]
        return rows

    def __repr__(self) -> str:
        return f"<Embeddings: {len(self):,} tokens, {self.dimension} dimensions>"


def load(folder: str | os.PathLike[str]) -> Embeddings:
    """Load the embeddings in a folder written by `Embeddings.save` or `merganser embed`.

    Raises
    ------
    EmbeddingsError
        If a file is missing or corrupt.

    Examples
    --------
    >>> import tempfile
    >>> import merganser
    >>> embeddings = Embeddings(np.eye(2), [97, 98], [1, 1], merganser.train(["a b"], 257))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     files = embeddings.save(folder)
    ...     load(folder)
    <Embeddings: 2 tokens, 2 dimensions>
    """
    stored = embed_folder.load(folder)
    return Embeddings(stored.vectors, stored.ids, stored.counts, stored.tokenizer, stored.training)


def _variants(word: str) -> Iterator[tuple[How, str]]:
    """Yield texts that may be the word as one token, best match first."""
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


def _largest(values: "NDArray[np.float32]", n: int) -> list[int]:
    """Return the indices of the `n` largest values, largest first."""
    n = min(n, len(values))
    if n <= 0:
        return []
    top = np.argpartition(-values, n - 1)[:n]
    indices: list[int] = top[np.argsort(-values[top], kind="stable")].tolist()
    return indices
