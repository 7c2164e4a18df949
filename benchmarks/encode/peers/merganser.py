"""merganser itself, through its public API."""

from __future__ import annotations

import merganser

from benchmarks.encode import vocabularies
from benchmarks.encode.peers import Encoder

PACKAGE = "merganser"
HOW = "`encode_batch`, `encode_flat`, `encode_ordinary`, `encode`, `decode`, `decode_bytes`"


def tokenizer(pattern: str) -> merganser.Tokenizer:
    """Load the rank file with a preset or a regular expression."""
    how = pattern if pattern in merganser.preset_names() else vocabularies.PATTERNS[pattern]
    return merganser.load(
        vocabularies.ranks_path(), pattern=how, special_tokens=vocabularies.special_tokens()
    )


def load(pattern: str, threads: int) -> Encoder:
    """Return bound methods where possible; batches ignore special tokens, as those of the peers do."""
    loaded = tokenizer(pattern)
    return Encoder(
        encode=loaded.encode_ordinary,
        encode_checked=loaded.encode,
        to_lists=lambda texts: loaded.encode_batch(texts, disallowed_special=(), threads=threads),
        to_flat=lambda texts: loaded.encode_flat(texts, disallowed_special=(), threads=threads),
        list_to_str=loaded.decode,
        array_to_str=loaded.decode,
        list_to_bytes=loaded.decode_bytes,
        array_to_bytes=loaded.decode_bytes,
    )
