"""What every step reads, and what every step yields."""

import json
import sys
from collections.abc import Iterable
from dataclasses import dataclass

from merganser.errors import SettingsError

#: A text, or a stream of lines of UTF-8 such as a file opened with "rb".
Source = str | Iterable[bytes]
#: Left and right token of each merge, in the order in which they were learned.
Merges = list[tuple[bytes, bytes]]


@dataclass(frozen=True)
class Settings:
    """vocab_size: the 256 bytes and the merges. max_mb: how much of the source is read, in million bytes.
    debug_logging: a step writes its counters to standard error, as a line of JSON.

    >>> Settings(vocab_size=300).merges
    44
    """

    vocab_size: int = 1000
    max_mb: float | None = None
    debug_logging: bool = False

    def __post_init__(self) -> None:
        if not 256 <= self.vocab_size <= 1 << 21:
            raise SettingsError(f"vocab_size is between 256 and {1 << 21:,}, not {self.vocab_size:,}")
        if self.max_mb is not None and self.max_mb <= 0:
            raise SettingsError(f"max_mb is above 0, not {self.max_mb}")

    @property
    def merges(self) -> int:
        """How many there can be."""
        return self.vocab_size - 256

    def log(self, **counters: float) -> None:
        if self.debug_logging:
            print(json.dumps(counters), file=sys.stderr)
