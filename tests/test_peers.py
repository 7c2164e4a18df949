"""Tie-breaking rules reproduce the merges of the libraries they are named after; full sizes: tests/long."""

import merganser
import pytest
from corpora import corpus_text
from peers import huggingface_merges, rustbpe_merges

SLICES = [
    ("english.txt", 300_000),
    ("multilingual.txt", 200_000),
    ("code.txt", 300_000),
    ("frankenstein_raw.txt", None),
]


@pytest.mark.parametrize("pattern", ["gpt2", "gpt4"])
@pytest.mark.parametrize(("corpus", "size"), SLICES)
def test_merges_equal_those_of_hugging_face(pattern: str, corpus: str, size: int | None) -> None:
    text = corpus_text(corpus, size)
    counts = merganser.count([text], pattern=pattern)
    tokenizer = merganser.train(counts, 2000, tie_break="huggingface")
    assert tokenizer.merges == huggingface_merges(counts, 2000)


@pytest.mark.parametrize("pattern", ["gpt2", "gpt4"])
@pytest.mark.parametrize(("corpus", "size"), SLICES)
def test_merges_equal_those_of_rustbpe(pattern: str, corpus: str, size: int | None) -> None:
    text = corpus_text(corpus, size)
    tokenizer = merganser.train([text], 2000, pattern=pattern, separator=None)
    assert tokenizer.mergeable_ranks == rustbpe_merges([text], 2000, tokenizer.pattern)
