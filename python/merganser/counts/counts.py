"""Counts: how often each pre-token occurs in a corpus, with the settings that made them.

Counts add up (`a + b`), so a corpus can be counted in parts and in many places; training from the sum is
training from the whole. They are kept in files of their own (`save`, `load`: exact and checksummed) or as
`pre-token<TAB>count` lines (`to_tsv`, `from_tsv`) for other programs.
"""

import os
from collections.abc import Iterable, Mapping
from pathlib import Path

from merganser import _core
from merganser.corpus.skipped import Skipped
from merganser.corpus.split_settings import PATTERN, SEPARATOR, SplitSettings
from merganser.counts import tsv


class Counts:
    """Pre-tokens and how often each occurred. Never changes once made.

    >>> a = Counts({b"ab": 3})
    >>> b = Counts({b"ab": 1, b"c": 2**40})
    >>> (a + b).to_dict() == {b"ab": 4, b"c": 2**40}
    True
    """

    __slots__ = ("_native", "skipped")
    _native: _core.Counts
    #: What could not be read when these were counted. Files of counts do not keep it.
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
    def _of(cls, native: _core.Counts, skipped: Skipped = Skipped()) -> "Counts":  # noqa: B008  # never changes
        counts = cls.__new__(cls)
        counts._native = native
        counts.skipped = skipped
        return counts

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> "Counts":
        """Reads counts that `save` wrote."""
        return cls._of(_core.Counts.load(Path(path)))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes a `.counts` file, sorted and checksummed; it appears whole or not at all."""
        self._native.save(Path(path))

    def to_dict(self) -> dict[bytes, int]:
        return self._native.to_dict()

    def most_common(self, n: int | None = None) -> list[tuple[bytes, int]]:
        """The `n` most frequent pre-tokens, or all; equally frequent ones in the order of their bytes."""
        return self._native.most_common(len(self) if n is None else max(n, 0))

    def to_tsv(self, path: str | os.PathLike[str]) -> None:
        """Writes a line `pre-token<TAB>count` for each pre-token, the most frequent first.

        `merganser.counts.tsv` says how bytes that are not plain text are written. It has no settings.
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
        """Reads lines as `to_tsv` writes them, in any order; a pre-token that comes twice is added up."""
        return cls(tsv.read(path), pattern=pattern, special_tokens=special_tokens, separator=separator)

    @property
    def settings(self) -> SplitSettings:
        return SplitSettings(self.pattern_name or self.pattern, self.special_tokens, self.separator)

    @property
    def pattern(self) -> str:
        """The regular expression that split the text, also where a preset was named."""
        return self._native.pattern

    @property
    def pattern_name(self) -> str | None:
        """The name of the preset, if it was one."""
        return self._native.pattern_name

    @property
    def special_tokens(self) -> tuple[str, ...]:
        """Sorted, whatever the order they were given in."""
        return tuple(self._native.special_tokens)

    @property
    def separator(self) -> str | None:
        return self._native.separator

    @property
    def total(self) -> int:
        """The sum of all counts."""
        return self._native.total

    @property
    def documents(self) -> int:
        return self._native.documents

    @property
    def invalid_bytes(self) -> int:
        """How many bytes of the corpus were not UTF-8; each of them is a pre-token of its own."""
        return self._native.invalid_bytes

    def __len__(self) -> int:
        """How many unique pre-tokens there are."""
        return len(self._native)

    def __add__(self, other: object) -> "Counts":
        if not isinstance(other, Counts):
            return NotImplemented
        return Counts._of(self._native.plus(other._native), self.skipped + other.skipped)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Counts):
            return NotImplemented
        return self.settings == other.settings and self.to_dict() == other.to_dict()

    __hash__ = None  # type: ignore[assignment]  # as large as a corpus: compared, never looked up

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
    """No pre-tokens at all; adding to it checks that the settings agree."""
    return Counts(
        {},
        pattern=settings.pattern,
        special_tokens=settings.special_tokens,
        separator=settings.separator,
    )
