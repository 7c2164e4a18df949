"""quicktok (quicktok-v1 on PyPI), with its bundled cl100k_base; its importer refuses unknown patterns."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

import quicktok

from benchmarks.encode import vocabularies
from benchmarks.encode.peers import Encoder, Refused, sliced

PACKAGE = "quicktok-v1"
HOW = (
    "flat: `encode_batch(threads=…)`; lists: the same, sliced, `tolist`, ahead of a loop on one thread; "
    "`encode_ordinary`, `encode`, `decode`, `decode_bytes`, from arrays by `tolist`"
)


def load(pattern: str, threads: int) -> Encoder:
    """Load the bundled ranks, which the proof compares with ours."""
    tokenizer = quicktok.get_encoding(vocabularies.NAME) if pattern == "gpt4" else imported(pattern)
    return Encoder(
        encode=tokenizer.encode_ordinary,
        encode_checked=tokenizer.encode,
        to_lists=lambda texts: sliced(tokenizer.encode_batch(texts, threads=threads)),
        to_flat=lambda texts: tokenizer.encode_batch(texts, threads=threads),
        list_to_str=tokenizer.decode,
        array_to_str=lambda ids: tokenizer.decode(ids.tolist()),
        list_to_bytes=tokenizer.decode_bytes,
        array_to_bytes=lambda ids: tokenizer.decode_bytes(ids.tolist()),
    )


def imported(pattern: str) -> quicktok.Tokenizer:
    """Import a tokenizer with another pattern, if the importer accepts it."""
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "tokenizer.json"
        source.write_text(json.dumps(vocabularies.hugging_face(vocabularies.PATTERNS[pattern])), "utf-8")
        try:
            quicktok.import_tokenizer(str(source), "custom", data_dir=folder)
            return quicktok.get_encoding("custom", folder)
        except (Exception, SystemExit) as error:
            raise Refused(str(error)) from error
