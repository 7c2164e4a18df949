"""fastokens, from the rank file; it uses PCRE2 for unknown patterns. Threads are set by RAYON_NUM_THREADS."""

from __future__ import annotations

import fastokens

from benchmarks.encode import vocabularies
from benchmarks.encode.peers import Encoder, from_buffers

PACKAGE = "fastokens"
HOW = (
    "`encode_batch`, then `.ids`; flat: `encode_batch_flat`; `encode_ordinary(…).ids`; "
    "`decode`, from arrays by `tolist`; no bytes"
)


def load(pattern: str, threads: int) -> Encoder:
    """Load by the encoding's name, which selects its own scanner; the same pattern as text does not."""
    path = str(vocabularies.ranks_path())
    if pattern == "gpt4":
        tokenizer = fastokens.Tokenizer.from_tiktoken(path, encoding=vocabularies.NAME)
    else:
        tokenizer = fastokens.Tokenizer.from_tiktoken(
            path,
            pattern=vocabularies.PATTERNS[pattern],
            special_tokens=vocabularies.special_tokens(),
        )
    return Encoder(
        encode=lambda text: tokenizer.encode_ordinary(text).ids,
        to_lists=lambda texts: [encoding.ids for encoding in tokenizer.encode_batch(texts)],
        to_flat=lambda texts: from_buffers(*tokenizer.encode_batch_flat(texts)),
        list_to_str=tokenizer.decode,
        array_to_str=lambda ids: tokenizer.decode(ids.tolist()),
    )
