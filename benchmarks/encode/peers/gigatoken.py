"""gigatoken, with its own API, not the slower compatible ones. Threads are set by RAYON_NUM_THREADS.

It supports only patterns that it knows; a `tokenizer.json` with another one is refused. Decoding returns
bytes.
"""

from __future__ import annotations

import json
from pathlib import Path

import gigatoken

from benchmarks.encode import vocabularies
from benchmarks.encode.peers import Encoder, Flat, Refused
from benchmarks.patterns import SEPARATOR

PACKAGE = "gigatoken"
HOW = (
    "`encode_batch_list`; flat: `encode_batch`, the arrays inside its awkward array; files: `encode_files`; "
    "`encode(…).tolist()`; `decode`, then `.decode()` for a str"
)


def load(pattern: str, threads: int) -> Encoder:
    """Load the rank file, whose name determines the pattern."""
    if pattern == "gpt4":
        tokenizer = gigatoken.Tokenizer.from_tiktoken(vocabularies.ranks_path())
    else:
        regex = vocabularies.PATTERNS[pattern]
        try:
            tokenizer = gigatoken.Tokenizer.from_json(json.dumps(vocabularies.hugging_face(regex)))
        except Exception as error:
            raise Refused(str(error)) from error
    native = tokenizer.backend

    def to_flat(texts: list[str]) -> Flat:
        layout = tokenizer.encode_batch(texts).layout
        return layout.content.data, layout.offsets.data

    def file_to_flat(path: Path) -> Flat:
        layout = tokenizer.encode_files(gigatoken.TextFileSource([path], separator=SEPARATOR)).layout
        return layout.content.data, layout.offsets.data

    return Encoder(
        encode=lambda text: native.encode(text).tolist(),
        to_lists=tokenizer.encode_batch_list,
        to_flat=to_flat,
        file_to_flat=file_to_flat,
        list_to_str=lambda ids: native.decode(ids).decode(),
        array_to_str=lambda ids: native.decode(ids).decode(),
        list_to_bytes=native.decode,
        array_to_bytes=native.decode,
    )
