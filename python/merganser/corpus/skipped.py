"""Records and files that could not be read and were skipped."""

import re
import warnings
from dataclasses import dataclass

from merganser.errors import MerganserWarning


@dataclass(frozen=True)
class Skipped:
    """What could not be read and was left out, because `on_error="skip"` asked for that."""

    records: int = 0
    #: Files, or the rest of damaged ones.
    files: int = 0
    #: What was wrong with the first of them.
    first: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.records or self.files)

    def __add__(self, other: "Skipped") -> "Skipped":
        first = (self.first + other.first)[:10]
        return Skipped(self.records + other.records, self.files + other.files, first)

    def as_dict(self) -> dict[str, object]:
        return {"records": self.records, "files": self.files, "first": list(self.first)}

    def warn(self) -> None:
        """A warning that says what was skipped, where something was."""
        if not self:
            return
        amounts = [
            f"{number:,} {noun}{'s' if number > 1 else ''}"
            for number, noun in ((self.records, "record"), (self.files, "file"))
            if number
        ]
        # The advice on how to skip is for those who did not.
        shown = [re.sub(r"; [^;]*on_error=.*", "", message) for message in self.first[:3]]
        more = "" if len(shown) == self.records + self.files else "; …"
        message = f"skipped {' and '.join(amounts)} that could not be read: {'; '.join(shown)}{more}"
        warnings.warn(message, MerganserWarning, stacklevel=3)


class Skips:
    """Gathers what is skipped while a corpus is read."""

    def __init__(self) -> None:
        self.skipped = Skipped()

    def add(self, records: int, files: int, first: list[str]) -> None:
        self.skipped = self.skipped + Skipped(records, files, tuple(first))
