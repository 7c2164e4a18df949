"""What decides which pre-tokens a corpus has: the pattern, the special tokens and the separator.

Where a caller leaves one out, it follows what is there already (counts, or a base tokenizer), and is else the
default.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from types import EllipsisType

from merganser.errors import SettingsError

PATTERN = "gpt4"
SEPARATOR = "<|endoftext|>"

#: `...` stands for "not given", since `None` already means "no separator".
Separator = str | None | EllipsisType


@dataclass(frozen=True)
class SplitSettings:
    pattern: str = PATTERN
    special_tokens: tuple[str, ...] = ()
    separator: str | None = SEPARATOR

    def replaced_by(
        self, pattern: str | None, special_tokens: Iterable[str] | None, separator: Separator
    ) -> "SplitSettings":
        """These settings, with the ones that the caller gave."""
        if isinstance(special_tokens, str):
            raise SettingsError(f"special_tokens is a list of strings: write [{special_tokens!r}]")
        return SplitSettings(
            pattern=self.pattern if pattern is None else pattern,
            special_tokens=self.special_tokens if special_tokens is None else tuple(special_tokens),
            separator=self.separator if isinstance(separator, EllipsisType) else separator,
        )
