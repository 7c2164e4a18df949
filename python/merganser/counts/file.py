"""CountsFile: counts that stay on disk and may be larger than memory. No more than a few MB are held."""

import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from merganser import _core
from merganser.corpus.skipped import Skipped
from merganser.corpus.split_settings import SplitSettings

#: How many pre-tokens are handed to Python at a time.
_BATCH = 1 << 14


@dataclass(frozen=True)
class CountsFile:
    """A `.counts` file and what it says of itself. Whoever reads all of it also checks it.

    >>> import tempfile, merganser
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = merganser.count(["to be or not to be"], out=f"{folder}/a.counts")
    ...     len(file), file.total, file.top(1), merganser.train(file.path, 257).merges
    (5, 6, [(b' be', 2)], [(b' ', b'b')])
    """

    path: Path
    #: The regular expression that split the text, also where a preset was named, and the name of the preset.
    pattern: str
    pattern_name: str | None
    special_tokens: tuple[str, ...]
    separator: str | None
    documents: int
    #: How many bytes of the corpus were not UTF-8; each of them is a pre-token of its own.
    invalid_bytes: int
    #: The sum of all counts.
    total: int
    _pretokens: int = field(repr=False)
    #: What could not be read when this was counted; it is not in the file.
    skipped: Skipped = field(default=Skipped(), repr=False)

    @classmethod
    def open(cls, path: str | os.PathLike[str]) -> "CountsFile":
        """Reads the beginning and the end of a file."""
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
        return SplitSettings(self.pattern_name or self.pattern, self.special_tokens, self.separator)

    def __len__(self) -> int:
        """How many unique pre-tokens there are."""
        return self._pretokens

    def __bool__(self) -> bool:
        return True

    def top(self, n: int) -> list[tuple[bytes, int]]:
        """The `n` most frequent pre-tokens; equally frequent ones in the order of their bytes."""
        return _core.top_counts(self.path, n)

    def batches(self, size: int = _BATCH) -> Iterator[list[tuple[bytes, int]]]:
        """All pre-tokens and their counts in the order of their bytes, `size` at a time."""
        reader = _core.CountsReader(self.path)
        while batch := reader.read(size):
            yield batch
