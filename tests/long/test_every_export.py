"""Every shared corpus at full size, with every preset: tiktoken, tokenizers and transformers produce our ids.

Run by `make test-long`; it takes about half an hour on two busy cores, nearly all of it in Hugging Face.
"""

from functools import cache
from pathlib import Path

import merganser
import pytest
from corpora import NAMES, corpus_file, corpus_text
from everywhere import PATTERNS, SPECIAL_TOKENS, Everywhere

_SAMPLE = 100_000


@cache
def trained(pattern: str) -> merganser.Tokenizer:
    files = [corpus_file(name) for name in NAMES]
    return merganser.train(files, 8000, pattern=pattern, special_tokens=SPECIAL_TOKENS)


@pytest.mark.parametrize("pattern", PATTERNS)
@pytest.mark.parametrize("corpus", NAMES)
def test_ids_are_the_same_everywhere(tmp_path: Path, pattern: str, corpus: str) -> None:
    text = corpus_text(corpus)
    exports = Everywhere.of(trained(pattern), tmp_path)
    documents = text.split("<|endoftext|>")
    assert exports.check_long(documents) > 100_000
    assert exports.check(documents[:: max(1, len(text) // _SAMPLE)]) > 0
    exports.check_by_hand(text[:_SAMPLE])
    # The same with special tokens in the text.
    some = text[:_SAMPLE]
    ids = exports.ours.encode(some, allowed_special="all")
    assert exports.tiktoken.encode(some, allowed_special="all") == ids
    assert exports.tokenizers.encode(some).ids == ids
    assert exports.transformers.encode(some) == ids
