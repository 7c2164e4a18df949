"""The reference tokenizer learns and encodes what merganser does."""

import unicodedata

import merganser
import pytest
from corpora import corpus_text
from hypothesis import given
from hypothesis import strategies as st
from merganser.learn import reference
from merganser.learn.reference import RegexTokenizer

PATTERNS = {"gpt4": reference.gpt4_pattern(), "nanochat": reference.nanochat_pattern()}
#: Characters that Python's version of Unicode knows; the core's is newer.
known = st.characters(exclude_categories=["Cs", "Cn"])
texts = st.one_of(st.text(alphabet="ab '\ts\n1", max_size=60), st.text(known, max_size=40))


@pytest.mark.parametrize("name", PATTERNS)
@given(text=texts)
def test_pretokens_equal_those_of_merganser(name: str, text: str) -> None:
    assert RegexTokenizer(PATTERNS[name]).split(text) == merganser.split(text, name)


@pytest.mark.parametrize("name", PATTERNS)
def test_every_character_is_split_like_merganser_does(name: str) -> None:
    points = [chr(point) for point in range(0x110000) if unicodedata.category(chr(point)) not in ("Cs", "Cn")]
    tokenizer = RegexTokenizer(PATTERNS[name])
    for around in ("a{}1", " {}", "'{}"):
        text = "\n".join(around.format(character) for character in points)
        assert tokenizer.split(text) == merganser.split(text, name)


@pytest.mark.parametrize("name", PATTERNS)
@pytest.mark.parametrize("corpus", ["frankenstein.txt", "code.txt", "multilingual.txt"])
def test_merges_and_ids_equal_those_of_merganser(name: str, corpus: str) -> None:
    text = corpus_text(corpus, 20_000)
    tokenizer = RegexTokenizer(PATTERNS[name])
    tokenizer.train(text, 400)
    trained = merganser.train([text], 400, pattern=name, separator=None)
    assert tokenizer.merges == trained.merges_as_ids
    assert tokenizer.vocab == {id: token for token, id in trained.mergeable_ranks.items()}
    unseen = corpus_text(corpus, 30_000)[20_000:]
    ids = tokenizer.encode_ordinary(unseen)
    assert ids == trained.encode_ordinary(unseen)
    assert tokenizer.decode(ids) == unseen


def test_training_stops_when_no_pair_is_left_and_starts_over() -> None:
    tokenizer = RegexTokenizer()
    tokenizer.train("ab ab", 300)
    assert tokenizer.merges == {(97, 98): 256, (32, 256): 257}
    tokenizer.train("cd", 300)
    assert tokenizer.merges == {(99, 100): 256}
    tokenizer.train("", 256)
    assert tokenizer.encode_ordinary("é") == [0xC3, 0xA9]
    assert tokenizer.decode([0xC3]) == "\ufffd"


def test_mistakes_are_explained() -> None:
    with pytest.raises(ValueError, match="vocab_size must be at least 256, one for each byte, got 100"):
        RegexTokenizer().train("text", 100)
    with pytest.raises(ValueError, match=r"re has no \\p\{L\}: call gpt4_pattern\(\)"):
        RegexTokenizer(r"\p{L}+")
