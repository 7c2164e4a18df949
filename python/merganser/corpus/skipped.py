"""Unreadable records and files that were skipped."""

import re
import warnings
from dataclasses import dataclass

from merganser.errors import MerganserWarning


@dataclass(frozen=True)
class Skipped:
    """Unreadable input that was skipped because of `on_error="skip"`.

    False in a boolean context if nothing was skipped.

    Attributes
    ----------
    records : int
        The number of records skipped.
    files : int
        The number of files skipped, in whole or from the point where they are corrupt.
    first : tuple of str
        The messages of the first ten failures.

    Examples
    --------
    >>> import tempfile, warnings
    >>> from pathlib import Path
    >>> import merganser
    >>> with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
    ...     warnings.simplefilter("ignore")
    ...     file = Path(folder, "a.jsonl")
    ...     _ = file.write_text('{"text": "good"}\\nnot JSON\\n')
    ...     merganser.count(file, on_error="skip").skipped.records
    1
    """

    records: int = 0
    files: int = 0
    first: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.records or self.files)

    def __add__(self, other: "Skipped") -> "Skipped":
        first = (self.first + other.first)[:10]
        return Skipped(self.records + other.records, self.files + other.files, first)

    def as_dict(self) -> dict[str, object]:
        """Return the attributes as a dict that `json` can write."""
        return {"records": self.records, "files": self.files, "first": list(self.first)}

    def warn(self) -> None:
        """Issue a `MerganserWarning` that summarizes what was skipped, if anything was."""
        if not self:
            return
        amounts = [
            f"{number:,} {noun}{'s' if number > 1 else ''}"
            for number, noun in ((self.records, "record"), (self.files, "file"))
            if number
        ]
        # Drop the advice to pass on_error="skip", which was followed.
        shown = [re.sub(r"; [^;]*on_error=.*", "", message) for message in self.first[:3]]
        more = "" if len(shown) == self.records + self.files else "; …"
        message = f"skipped {' and '.join(amounts)} that could not be read: {'; '.join(shown)}{more}"
        warnings.warn(message, MerganserWarning, stacklevel=3)


class Skips:
    """Accumulates what is skipped while a corpus is read."""

    def __init__(self) -> None:
        self.skipped = Skipped()

    def add(self, records: int, files: int, first: list[str]) -> None:
        self.skipped = self.skipped + Skipped(records, files, tuple(first))
