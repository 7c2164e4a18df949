"""Hugging Face tokenizers, from a `tokenizer.json` with the same ranks. Threads are set by RAYON_NUM_THREADS.

Its regex engine is Oniguruma with Ruby's syntax, where `{1,3}+` repeats a repetition and `$` matches at the
end of a line.
"""

from __future__ import annotations

import json

from tokenizers import Tokenizer

from benchmarks.encode import vocabularies
from benchmarks.encode.peers import Encoder

PACKAGE = "tokenizers"
ROUNDS = 1
HOW = (
    "`encode_batch_fast`, then `.ids`; `encode`, `decode`, from arrays by `tolist`; no flat output, no bytes"
)


def load(pattern: str, threads: int) -> Encoder:
    """Load a file without special tokens, because the library cannot ignore them in user text."""
    regex = vocabularies.without_counted_possessives(vocabularies.PATTERNS[pattern]).replace("$", r"\z")
    tokenizer = Tokenizer.from_str(json.dumps(vocabularies.hugging_face(regex)))
    return Encoder(
        encode=lambda text: tokenizer.encode(text).ids,
        to_lists=lambda texts: [encoding.ids for encoding in tokenizer.encode_batch_fast(texts)],
        list_to_str=tokenizer.decode,
        array_to_str=lambda ids: tokenizer.decode(ids.tolist()),
    )
