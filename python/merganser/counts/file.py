"""Counts on disk, which may be larger than memory. Reading them takes a few MB."""

import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from merganser import _core
from merganser.corpus.skipped import Skipped
from merganser.corpus.split_settings import SplitSettings

#: The number of pre-tokens in a batch.
_BATCH = 1 << 14


@dataclass(frozen=True)
class CountsFile:
    """A `.counts` file, opened without reading the pre-tokens.

    `merganser.count(..., out=path)` returns one; `CountsFile.open` opens an existing file. Reading to the end
    verifies the checksum.

    Attributes
    ----------
    path : Path
        The file.
    pattern : str
        The regular expression that split the text, even if a preset was named.
    pattern_name : str or None
        The name of the preset, or None for a custom pattern.
    special_tokens : tuple of str
        The special tokens that were removed from the text, in the order given.
    separator : str or None
        The separator of the documents.
    documents : int
        The number of documents.
    invalid_bytes : int
        The number of bytes that were not valid UTF-8. Each is a pre-token by itself.
    total : int
        The sum of all counts.
    skipped : Skipped
        Unreadable input that was skipped while counting. The file does not store it.

    Examples
    --------
    >>> import tempfile, merganser
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = merganser.count(["to be or not to be"], out=f"{folder}/a.counts")
    ...     len(file), file.total, file.top(1), merganser.train(file.path, 257).merges
    (5, 6, [(b' be', 2)], [(b' ', b'b')])
    """

    path: Path
    pattern: str
    pattern_name: str | None
    special_tokens: tuple[str, ...]
    separator: str | None
    documents: int
    invalid_bytes: int
    total: int
    _pretokens: int = field(repr=False)
    skipped: Skipped = field(default=Skipped(), repr=False)

    @classmethod
    def open(cls, path: str | os.PathLike[str]) -> "CountsFile":
        """Open a counts file, reading only its header and footer.

        Parameters
        ----------
        path : path-like
            A file that `Counts.save` or `merganser.count(..., out=path)` wrote.

        Returns
        -------
        CountsFile

        Raises
        ------
        CorpusError
            If the file cannot be read.
        CountsError
            If it is not a counts file, or is truncated.
        """
        reader = _core.CountsReader(Path(path))
        documents, invalid_bytes, pretokens, total = reader.totals
        return cls(
            Path(path),
            reader.pattern,
            reader.pattern_name,
            tuple(reader.special_tokens),
            reader.separator,
            documents,
            invalid_bytes,
            total,
            pretokens,
        )

    @property
    def settings(self) -> SplitSettings:
        """The pattern, special tokens and separator together."""
        return SplitSettings(self.pattern_name or self.pattern, self.special_tokens, self.separator)

    def __len__(self) -> int:
        """The number of unique pre-tokens."""
        return self._pretokens

    def __bool__(self) -> bool:
        return True

    def top(self, n: int) -> list[tuple[bytes, int]]:
        """Return the `n` most frequent pre-tokens with their counts; ties in the order of their bytes.

        Parameters
        ----------
        n : int
            The number of pre-tokens.

        Returns
        -------
        list of (bytes, int)

        Raises
        ------
        CountsError
            If the file is corrupt.
        """
        return _core.top_counts(self.path, n)

    def batches(self, size: int = _BATCH) -> Iterator[list[tuple[bytes, int]]]:
        """Yield all pre-tokens with their counts, in the order of their bytes.

        Parameters
        ----------
        size : int
            The number of pre-tokens in a batch.

        Yields
        ------
        list of (bytes, int)

        Raises
        ------
        CountsError
            If the file is corrupt.
        """
        reader = _core.CountsReader(self.path)
        while batch := reader.read(size):
            yield batch
