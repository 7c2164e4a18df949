"""Reading: what is taken for text in files that hold records, and what becomes of those that are broken."""

from dataclasses import dataclass
from typing import Literal

Document = str | bytes

OnError = Literal["stop", "skip"]


@dataclass(frozen=True)
class Reading:
    """Which field or column holds the text, and whether a bad record stops the work or is skipped."""

    text_key: str = "text"
    on_error: OnError = "stop"
