"""Exports to tiktoken give the same ids there."""

import sys

import merganser
import pytest
from corpora import corpus_text
from hypothesis import given
from strategies import CUSTOM_PATTERNS, PRESETS, texts

TEXT = "the cat sat on the mat; the dog's dinner was the cat's\n\n  naïve café 中文中文 2024 2025 👍👍" * 3
TRAINED = {
    pattern: merganser.train([TEXT], 262, pattern=pattern, special_tokens=["<s>"])
    for pattern in PRESETS + CUSTOM_PATTERNS
}
EXPORTED = {pattern: tokenizer.to_tiktoken() for pattern, tokenizer in TRAINED.items()}


@pytest.mark.parametrize("pattern", TRAINED)
@given(text=texts)
def test_ids_are_the_same_there(pattern: str, text: str) -> None:
    ours, theirs = TRAINED[pattern], EXPORTED[pattern]
    assert ours.encode_ordinary(text) == theirs.encode_ordinary(text)
    assert ours.encode(f"{text}<s>{text}", allowed_special="all") == theirs.encode(
        f"{text}<s>{text}", allowed_special="all"
    )


@pytest.mark.parametrize("corpus", ["english.txt", "multilingual.txt", "code.txt"])
def test_real_text_has_the_same_ids_there(corpus: str) -> None:
    text = corpus_text(corpus, 300_000)
    tokenizer = merganser.train([text], 2000, special_tokens=["<|endoftext|>"])
    encoding = tokenizer.to_tiktoken(name="ours")
    assert encoding.name == "ours"
    assert encoding.n_vocab == 2000
    ids = tokenizer.encode(text, allowed_special="all")
    assert ids == encoding.encode(text, allowed_special="all")
    assert tokenizer.decode(ids) == encoding.decode(ids) == text


def test_without_tiktoken_the_message_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tiktoken", None)
    with pytest.raises(ImportError, match=r"pip install 'merganser\[tiktoken\]'"):
        TRAINED["gpt4"].to_tiktoken()
