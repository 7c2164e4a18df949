"""Every shared corpus at full size: the pre-tokens of tiktoken, the merges of Hugging Face and rustbpe.

Tokenizers have 32,000 tokens. Run by `make test-long`; it takes almost an hour, nearly all of it in the
peers.
"""

import merganser
import pytest
from corpora import NAMES, corpus_file, corpus_text
from cuts import tiktoken_pretokens
from peers import huggingface_merges, rustbpe_merges
from strategies import PRESETS

#: Small corpora run out of pairs before 32,000; the peers then learn only as many merges as we did.
pytestmark = pytest.mark.filterwarnings("ignore::merganser.MerganserWarning")

_SLICE = 4_000_000


@pytest.mark.parametrize("corpus", NAMES)
@pytest.mark.parametrize("pattern", ["gpt2", "gpt4"])
def test_merges_equal_those_of_rustbpe(corpus: str, pattern: str) -> None:
    documents = corpus_text(corpus).split("<|endoftext|>")
    tokenizer = merganser.train(corpus_file(corpus), 32_000, pattern=pattern)
    ours = tokenizer.mergeable_ranks
    assert ours == rustbpe_merges(documents, tokenizer.vocab_size, tokenizer.pattern)


@pytest.mark.parametrize("corpus", NAMES)
@pytest.mark.parametrize("pattern", ["gpt2", "gpt4"])
def test_merges_equal_those_of_hugging_face(corpus: str, pattern: str) -> None:
    counts = merganser.count(corpus_file(corpus), pattern=pattern)
    tokenizer = merganser.train(counts, 32_000, tie_break="huggingface")
    assert tokenizer.merges == huggingface_merges(counts, tokenizer.vocab_size)


@pytest.mark.parametrize("corpus", NAMES)
@pytest.mark.parametrize("pattern", PRESETS)
def test_pretokens_equal_those_of_tiktoken(corpus: str, pattern: str) -> None:
    text = corpus_text(corpus)
    for start in range(0, len(text), _SLICE):
        part = text[start : start + _SLICE]
        pretokens = merganser.split(part, pattern)
        regex = merganser.Counts({}, pattern=pattern).pattern
        assert tiktoken_pretokens(part, regex, pretokens) == pretokens
