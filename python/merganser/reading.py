"""Reading: what is taken for text in files that hold records, and what had to be skipped."""

import warnings
from dataclasses import dataclass
from typing import Literal

from merganser.errors import MerganserWarning

OnError = Literal["stop", "skip"]


@dataclass(frozen=True)
class Reading:
    """Which field or column holds the text, and whether a bad record stops the work or is skipped."""

    text_key: str = "text"
    on_error: OnError = "stop"


@dataclass(frozen=True)
class Skipped:
    """What could not be read and was left out: how many records, how many files, and what the first were."""

    records: int = 0
    files: int = 0
    first: tuple[str, ...] = ()

    def warn(self) -> None:
        """A warning that says what was skipped, where something was."""
        if self.records or self.files:
            amounts = f"skipped {self.records:,} records and {self.files:,} files that could not be read"
            warnings.warn(f"{amounts}: {'; '.join(self.first)}", MerganserWarning, stacklevel=3)


class Skips:
    """Gathers what is skipped while a corpus is read."""

    def __init__(self) -> None:
        self.skipped = Skipped()

    def add(self, records: int, files: int, first: list[str]) -> None:
        so_far = self.skipped
        self.skipped = Skipped(so_far.records + records, so_far.files + files, (*so_far.first, *first)[:10])
