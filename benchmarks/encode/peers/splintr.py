"""splintr (splintr-rs on PyPI), from the rank file, with any pattern without possessive quantifiers.

Threads are set by RAYON_NUM_THREADS.
"""

from __future__ import annotations

import splintr

from benchmarks.encode import vocabularies
from benchmarks.encode.peers import Encoder, from_buffers

PACKAGE = "splintr-rs"
HOW = (
    "`encode_batch`; flat: `encode_batch_flat`; `encode_ordinary`; `decode`, `decode_bytes`, "
    "from arrays by `tolist`; patterns without possessives"
)


def load(pattern: str, threads: int) -> Encoder:
    """Load with plain quantifiers, which act as possessive ones: its JIT regex engine does not backtrack."""
    tokenizer = splintr.Tokenizer(
        str(vocabularies.ranks_path()),
        vocabularies.without_possessives(vocabularies.PATTERNS[pattern]),
        vocabularies.special_tokens(),
    )
    return Encoder(
        encode=tokenizer.encode_ordinary,
        to_lists=tokenizer.encode_batch,
        to_flat=lambda texts: from_buffers(*tokenizer.encode_batch_flat(texts)),
        list_to_str=tokenizer.decode,
        array_to_str=lambda ids: tokenizer.decode(ids.tolist()),
        list_to_bytes=tokenizer.decode_bytes,
        array_to_bytes=lambda ids: tokenizer.decode_bytes(ids.tolist()),
    )
