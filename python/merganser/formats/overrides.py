"""The settings that `load` takes for files that do not contain them, and refuses for all others."""

from collections.abc import Mapping

from merganser.errors import SettingsError


class NeedsPattern(SettingsError):
    """The file does not contain a split pattern, and none was passed."""


class HasPattern(SettingsError):
    """The source already contains a split pattern, and another one was passed."""


def refuse_overrides(source: str, pattern: str | None, special_tokens: Mapping[str, int] | None) -> None:
    """Raise for settings of a source that contains its own."""
    if pattern is not None or special_tokens is not None:
        raise HasPattern(
            f"{source} already contains its pattern and special tokens; load it without them, then create a "
            "variant with Tokenizer(loaded.mergeable_ranks, pattern=…, special_tokens=…)"
        )
