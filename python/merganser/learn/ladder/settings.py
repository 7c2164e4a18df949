"""The input, output and settings of every step."""

import json
import sys
from collections.abc import Iterable
from dataclasses import dataclass

from merganser.errors import SettingsError

#: A text, or UTF-8 lines, such as a file opened with "rb".
Source = str | Iterable[bytes]
#: The left and right token of each merge, in order.
Merges = list[tuple[bytes, bytes]]
#: Step 7 stores ids as code points, of which there are as many.
MAX_VOCAB_SIZE = sys.maxunicode + 1


@dataclass(frozen=True)
class LadderSettings:
    """Settings of a step.

    Parameters
    ----------
    vocab_size
        The 256 bytes plus the number of merges, at most 1,114,112.
    max_mb
        Maximum size of the source in MB. Default: no limit.
    debug_logging
        Write the counters of the step to standard error, as a line of JSON.

    Examples
    --------
    >>> LadderSettings(vocab_size=300).merges
    44
    """

    vocab_size: int = 1000
    max_mb: float | None = None
    debug_logging: bool = False

    def __post_init__(self) -> None:
        if not 256 <= self.vocab_size <= MAX_VOCAB_SIZE:
            raise SettingsError(
                f"vocab_size must be between 256 and {MAX_VOCAB_SIZE:,}, got {self.vocab_size:,}"
            )
        if self.max_mb is not None and self.max_mb <= 0:
            raise SettingsError(f"max_mb must be greater than 0, got {self.max_mb}")

    @property
    def merges(self) -> int:
        """The maximum number of merges."""
        return self.vocab_size - 256

    def log(self, **counters: float) -> None:
        if self.debug_logging:
            print(json.dumps(counters), file=sys.stderr)
