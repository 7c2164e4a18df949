"""Train behind a normalizer: text is normalized before it is split.

Counting does not normalize. It counts *chunks* instead of pre-tokens, long enough that normalizing and
splitting each of them is the same as doing so with the whole text (tested for every preset), and the core
does that once for each unique chunk before it trains.

A chunk ends before a single space and after a single newline between other characters. No preset has a
pre-token that reaches across these, and no normalizer here composes or reorders across them.
"""

from typing import Any

from merganser._core import preset_names
from merganser.errors import SettingsError
from merganser.formats.definition import Definition, added_token
from merganser.formats.oniguruma import preset_patterns
from merganser.tokenizer import Tokenizer

#: Tested against whole texts in crates/core/src/count/prepared.rs.
CHUNK = r"\s*\S+(?:(?:\s\s+|[^\S \n])\S*)*\n?|\s+"

#: The normalizers by name; `+` runs one after the other.
_PARTS = {
    "nfc": {"type": "NFC"},
    "nfd": {"type": "NFD"},
    "nfkc": {"type": "NFKC"},
    "nfkd": {"type": "NFKD"},
    "lowercase": {"type": "Lowercase"},
}
NAMES = (*_PARTS, "nfc+lowercase", "nfkc+lowercase")


def stage(name: str) -> dict[str, Any]:
    """Return a normalizer as an object of a tokenizer.json.

    >>> stage("nfc")
    {'type': 'NFC'}
    """
    if name not in NAMES:
        raise SettingsError(f"normalizer must be one of {', '.join(NAMES)}, got {name!r}")
    parts = [_PARTS[part] for part in name.split("+")]
    return parts[0] if len(parts) == 1 else {"type": "Sequence", "normalizers": parts}


def check_pattern(pattern: str) -> None:
    """Raise a `SettingsError` for a pattern that chunks are not proven for."""
    if pattern not in preset_names():
        raise SettingsError(
            f"a normalizer needs a preset as pattern ({', '.join(preset_names())}), got {pattern!r}; "
            "normalize the corpus yourself for another pattern"
        )


def with_normalizer(plain: Tokenizer, name: str) -> Tokenizer:
    """Return a tokenizer that normalizes text and then does as `plain`."""
    split = {
        "type": "Split",
        "pattern": {"Regex": preset_patterns()[str(plain.pattern_name)]},
        "behavior": "Isolated",
        "invert": False,
    }
    byte_level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False}
    definition = Definition(
        tokens=list(plain.mergeable_ranks.items()),
        merges=[(left, right, new) for (left, right), new in plain.merges_as_ids.items()],
        added_tokens=[added_token(token, id, special=True) for token, id in plain.special_tokens.items()],
        normalizer=stage(name),
        pre_tokenizer={"type": "Sequence", "pretokenizers": [split, byte_level]},
        decoder={"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True},
    )
    return definition.tokenizer(plain.merge_counts, {**plain.training, "normalizer": name})
