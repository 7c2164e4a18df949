"""The settings that determine the pre-tokens of a corpus: pattern, special tokens and separator.

Settings that the caller omits come from existing counts or the base tokenizer, or else are the defaults.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from types import EllipsisType

from merganser.corpus.defaults import PATTERN, SEPARATOR
from merganser.errors import SettingsError

#: `...` means "not given", since `None` already means "no separator".
Separator = str | None | EllipsisType


@dataclass(frozen=True)
class SplitSettings:
    pattern: str = PATTERN
    special_tokens: tuple[str, ...] = ()
    separator: str | None = SEPARATOR

    def replaced_by(
        self, pattern: str | None, special_tokens: Iterable[str] | None, separator: Separator
    ) -> "SplitSettings":
        """Return these settings, overridden by the arguments that were given."""
        if isinstance(special_tokens, str):
            raise SettingsError(
                f"special_tokens must be a list of strings, got the str {special_tokens!r}; "
                f"write special_tokens=[{special_tokens!r}]"
            )
        return SplitSettings(
            pattern=self.pattern if pattern is None else pattern,
            special_tokens=self.special_tokens if special_tokens is None else tuple(special_tokens),
            separator=self.separator if isinstance(separator, EllipsisType) else separator,
        )
