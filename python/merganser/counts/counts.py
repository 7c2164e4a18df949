"""The unique pre-tokens of a corpus and how often each occurs, in memory.

Counts can be added (`a + b`), so a corpus can be counted in parts and on several machines; training on the
sum equals training on the whole. They are saved as binary files with a checksum (`save`, `load`), or as lines
of `pre-token<TAB>count` for other programs (`to_tsv`, `from_tsv`).
"""

import os
from collections.abc import Iterable, Mapping
from pathlib import Path

from merganser import _core
from merganser.corpus.defaults import PATTERN, SEPARATOR
from merganser.corpus.skipped import Skipped
from merganser.corpus.split_settings import SplitSettings
from merganser.counts import tsv


class Counts:
    """The unique pre-tokens of a corpus, how often each occurs, and the settings they were counted with.

    Immutable. `merganser.count` returns counts; construct them directly to train on counts from elsewhere.

    Parameters
    ----------
    pretokens : mapping of bytes to int
        How often each pre-token occurs.
    pattern : str
        The pattern that split the text: a preset name (see `merganser.preset_names`) or a regular expression.
    special_tokens : iterable of str
        The special tokens that were removed from the text.
    separator : str or None
        The separator of the documents.
    invalid_bytes : int
        The number of bytes that were not valid UTF-8.
    documents : int
        The number of documents.

    Attributes
    ----------
    skipped : Skipped
        Unreadable input that was skipped while counting. Counts files do not store it.

    Raises
    ------
    CountsError
        If a count is not a non-negative integer, or the sum exceeds 64 bits.
    PatternError
        If the pattern is not a valid regular expression.

    Examples
    --------
    >>> a = Counts({b"ab": 3})
    >>> b = Counts({b"ab": 1, b"c": 2**40})
    >>> (a + b).to_dict() == {b"ab": 4, b"c": 2**40}
    True
    """

    __slots__ = ("__weakref__", "_native", "skipped")
    _native: _core.Counts
    skipped: Skipped

    def __init__(
        self,
        pretokens: Mapping[bytes, int],
        *,
        pattern: str = PATTERN,
        special_tokens: Iterable[str] = (),
        separator: str | None = SEPARATOR,
        invalid_bytes: int = 0,
        documents: int = 0,
    ) -> None:
        settings = SplitSettings().replaced_by(pattern, special_tokens, separator)
        self.skipped = Skipped()
        self._native = _core.Counts(
            dict(pretokens),
            settings.pattern,
            list(settings.special_tokens),
            settings.separator,
            invalid_bytes,
            documents,
        )

    @classmethod
    def _of(cls, native: _core.Counts, skipped: Skipped = Skipped()) -> "Counts":  # noqa: B008  # immutable
        counts = cls.__new__(cls)
        counts._native = native
        counts.skipped = skipped
        return counts

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> "Counts":
        """Read a `.counts` file into memory.

        Parameters
        ----------
        path : path-like
            A file that `save` or `merganser.count(..., out=path)` wrote.

        Returns
        -------
        Counts

        Raises
        ------
        CorpusError
            If the file cannot be read.
        CountsError
            If it is not a counts file, or is corrupt.

        Examples
        --------
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     Counts({b"ab": 3}).save(f"{folder}/a.counts")
        ...     Counts.load(f"{folder}/a.counts").to_dict()
        {b'ab': 3}
        """
        return cls._of(_core.Counts.load(Path(path)))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a `.counts` file, sorted and with a checksum, atomically.

        Parameters
        ----------
        path : path-like
            The file to write.

        Raises
        ------
        WriteError
            If the file cannot be written.
        """
        self._native.save(Path(path))

    def to_dict(self) -> dict[bytes, int]:
        """Return the pre-tokens and their counts as a dict.

        Examples
        --------
        >>> Counts({b"ab": 3}).to_dict()
        {b'ab': 3}
        """
        return self._native.to_dict()

    def most_common(self, n: int | None = None) -> list[tuple[bytes, int]]:
        """Return the most frequent pre-tokens with their counts.

        Parameters
        ----------
        n : int, optional
            The number of pre-tokens; all of them by default.

        Returns
        -------
        list of (bytes, int)
            The most frequent first; ties in the order of their bytes.

        Examples
        --------
        >>> Counts({b"ab": 3, b"c": 5}).most_common(1)
        [(b'c', 5)]
        """
        return self._native.most_common(len(self) if n is None else max(n, 0))

    def to_tsv(self, path: str | os.PathLike[str]) -> None:
        """Write one line `pre-token<TAB>count` per pre-token, the most frequent first, without the settings.

        Parameters
        ----------
        path : path-like
            The file to write. A corpus recognizes it by the suffix `.counts.tsv`. `merganser.counts.tsv`
            describes how bytes are escaped.

        Raises
        ------
        WriteError
            If the file cannot be written.

        Examples
        --------
        >>> import tempfile
        >>> from pathlib import Path
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     Counts({b"ab": 3, b"c": 5}).to_tsv(f"{folder}/a.counts.tsv")
        ...     print(Path(folder, "a.counts.tsv").read_text().expandtabs(4), end="")
        c   5
        ab  3
        """
        tsv.write(self.most_common(), path)

    @classmethod
    def from_tsv(
        cls,
        path: str | os.PathLike[str],
        *,
        pattern: str = PATTERN,
        special_tokens: Iterable[str] = (),
        separator: str | None = SEPARATOR,
    ) -> "Counts":
        """Read a file that `to_tsv` or another program wrote.

        Parameters
        ----------
        path : path-like
            A file of lines `pre-token<TAB>count` in any order. The counts of repeated pre-tokens are added.
        pattern, special_tokens, separator
            The settings of the counts, which the file does not contain; see `Counts`.

        Returns
        -------
        Counts

        Raises
        ------
        CorpusError
            If the file cannot be read.
        CountsError
            If a line is malformed.

        Examples
        --------
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     Counts({b"ab": 3}).to_tsv(f"{folder}/a.counts.tsv")
        ...     Counts.from_tsv(f"{folder}/a.counts.tsv", pattern="gpt2").pattern_name
        'gpt2'
        """
        return cls(tsv.read(path), pattern=pattern, special_tokens=special_tokens, separator=separator)

    @property
    def settings(self) -> SplitSettings:
        """The pattern, special tokens and separator together."""
        return SplitSettings(self.pattern_name or self.pattern, self.special_tokens, self.separator)

    @property
    def pattern(self) -> str:
        """The regular expression that split the text, even if a preset was named."""
        return self._native.pattern

    @property
    def pattern_name(self) -> str | None:
        """The name of the preset, or None for a custom pattern."""
        return self._native.pattern_name

    @property
    def special_tokens(self) -> tuple[str, ...]:
        """The special tokens that were removed from the text, in the order given."""
        return tuple(self._native.special_tokens)

    @property
    def separator(self) -> str | None:
        """The separator of the documents, or None."""
        return self._native.separator

    @property
    def total(self) -> int:
        """The sum of all counts."""
        return self._native.total

    @property
    def documents(self) -> int:
        """The number of documents."""
        return self._native.documents

    @property
    def invalid_bytes(self) -> int:
        """The number of bytes that were not valid UTF-8. Each is a pre-token by itself."""
        return self._native.invalid_bytes

    def __len__(self) -> int:
        """The number of unique pre-tokens."""
        return len(self._native)

    def __add__(self, other: object) -> "Counts":
        if not isinstance(other, Counts):
            return NotImplemented
        return Counts._of(self._native.plus(other._native), self.skipped + other.skipped)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Counts):
            return NotImplemented
        return self.settings == other.settings and self.to_dict() == other.to_dict()

    __hash__ = None  # type: ignore[assignment]  # too large to hash

    def __repr__(self) -> str:
        pattern = self.pattern_name or repr(self.pattern)
        return f"<Counts: {len(self):,} unique pre-tokens, {self.total:,} in all, pattern {pattern}>"

    def __reduce__(self) -> tuple[object, ...]:
        settings = (self.pattern_name or self.pattern, list(self.special_tokens), self.separator)
        return _unpickle, (self.to_dict(), *settings, self.invalid_bytes, self.documents)


def _unpickle(
    pretokens: dict[bytes, int],
    pattern: str,
    special_tokens: list[str],
    separator: str | None,
    invalid_bytes: int,
    documents: int,
) -> Counts:
    return Counts._of(_core.Counts(pretokens, pattern, special_tokens, separator, invalid_bytes, documents))


def empty(settings: SplitSettings) -> Counts:
    """Return counts without pre-tokens; adding others to them checks that the settings agree."""
    return Counts(
        {},
        pattern=settings.pattern,
        special_tokens=settings.special_tokens,
        separator=settings.separator,
    )
