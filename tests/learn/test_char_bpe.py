"""The character-level tokenizer: the plain version is correct, and the fast version equals it."""

import random
import re
from collections import Counter
from dataclasses import replace
from itertools import islice, pairwise

import pytest
from corpora import corpus_text
from hypothesis import given
from hypothesis import strategies as st
from merganser.learn import char_bpe, char_bpe_fast
from merganser.learn.char_bpe import END, UNKNOWN, CharBPE, Pair
from merganser.learn.char_bpe_fast import FastCharBPE, Techniques

TECHNIQUES = list(vars(Techniques()))
COMBINATIONS = [
    Techniques(),
    Techniques(**dict.fromkeys(TECHNIQUES, False)),
    *(replace(Techniques(), **{name: False}) for name in TECHNIQUES),
    *(Techniques(**{other: other == name for other in TECHNIQUES}) for name in TECHNIQUES),
]

texts = st.one_of(st.text(alphabet="ab c'._\n", max_size=80), st.text(max_size=40))


def recount(words: list[str], merges: int) -> list[Pair]:
    """Return the merges of a trainer that recounts everything each time: too simple to be wrong."""
    sequences = [[*word, END] for word in words]
    learned = []
    for _ in range(merges):
        counts = Counter(pair for sequence in sequences for pair in pairwise(sequence))
        if not counts:
            break
        best = min(counts, key=lambda pair: (-counts[pair], pair))
        sequences = [char_bpe.merged(sequence, best) for sequence in sequences]
        learned.append(best)
    return learned


@given(st.text())
def test_words_equal_those_of_the_regular_expression(text: str) -> None:
    assert char_bpe.split(text) == re.findall(r"\w+|[^\w\s]", text)


@given(texts, st.integers(0, 30))
def test_merges_equal_those_of_recounting(text: str, merges: int) -> None:
    words = char_bpe.split(text)
    expected = recount(words, merges)
    assert [merge.pair for merge in islice(char_bpe.learn(words), merges)] == expected
    assert [merge.pair for merge in islice(char_bpe_fast.learn(words), merges)] == expected


@given(texts)
def test_both_trainers_count_the_remaining_symbols(text: str) -> None:
    words = char_bpe.split(text)
    plain = list(char_bpe.learn(words))
    assert list(char_bpe_fast.learn(words)) == plain
    if plain:
        assert plain[-1].symbols == len(words), "at the end every word is one symbol"
        first = CharBPE(set(text), [plain[0].pair])
        assert plain[0].symbols == len(first.encode(text))


@given(texts, texts, st.integers(0, 40), st.sampled_from(COMBINATIONS), st.booleans())
def test_every_technique_returns_the_same_ids(
    text: str, unseen: str, merges: int, techniques: Techniques, skip_unknown: bool
) -> None:
    plain = char_bpe.train(text, merges, skip_unknown=skip_unknown)
    characters = set("".join(char_bpe.split(text)))
    fast = FastCharBPE(characters, plain.merges, techniques, cache_size=3, skip_unknown=skip_unknown)
    for sample in (text, unseen, text):
        assert fast.encode(sample) == plain.encode(sample), techniques


@given(st.randoms(use_true_random=False), texts, st.sampled_from(COMBINATIONS))
def test_ids_are_equal_for_any_order_of_merges(
    source: random.Random, text: str, techniques: Techniques
) -> None:
    """Merges in an order that no training produces, with symbols that can be built in two ways."""
    learned = [merge.pair for merge in char_bpe.learn(char_bpe.split(text))]
    merges = [("ab", "c"), ("abc", "a"), ("a", "b"), ("b", "c"), ("a", "bc"), *learned, *learned[:3]]
    source.shuffle(merges)
    assert FastCharBPE("abc", merges, techniques).encode(text) == CharBPE("abc", merges).encode(text)


def test_an_earlier_merge_is_not_tried_again() -> None:
    merges = [("ab", "c"), ("abc", "d"), ("b", "c"), ("a", "bc")]
    for techniques in COMBINATIONS:
        assert FastCharBPE("abcd", merges, techniques).tokens("abcd") == ["abc", "d", END]
    assert CharBPE("abcd", merges).tokens("abcd") == ["abc", "d", END]


@given(texts, texts, st.integers(0, 30))
def test_decoding_returns_the_words(text: str, unseen: str, merges: int) -> None:
    tokenizer = char_bpe.train(text, merges)
    assert tokenizer.decode(tokenizer.encode(text)) == " ".join(char_bpe.split(text))
    known = [
        "".join(character if character in text else UNKNOWN for character in word)
        for word in char_bpe.split(unseen)
    ]
    assert tokenizer.decode(tokenizer.encode(unseen)) == " ".join(known)


@given(texts, texts, st.integers(0, 30))
def test_skipping_unknown_tokens_only_removes_them(text: str, unseen: str, merges: int) -> None:
    keeping, skipping = (char_bpe.train(text, merges, skip_unknown=skip) for skip in (False, True))
    assert skipping.vocabulary == keeping.vocabulary
    assert skipping.encode(unseen) == [id for id in keeping.encode(unseen) if keeping.names[id] != UNKNOWN]


@given(texts, texts, st.integers(0, 30), st.booleans())
def test_a_saved_tokenizer_is_the_same(text: str, unseen: str, merges: int, skip_unknown: bool) -> None:
    tokenizer = char_bpe.train(text, merges, skip_unknown=skip_unknown)
    for kind in (CharBPE, FastCharBPE):
        again = kind.from_json(tokenizer.to_json())
        assert (again.vocabulary, again.merges) == (tokenizer.vocabulary, tokenizer.merges)
        assert again.encode(unseen) == tokenizer.encode(unseen)


@pytest.mark.parametrize(
    ("contents", "message"),
    [
        ("", "not a tokenizer that `merganser learn char` saved"),
        ("[]", "save it again"),
        ("{}", "'vocabulary'; save it again"),
        ('{"vocabulary": {"a": 0}, "merges": [["a"]], "skip_unknown": false}', "save it again"),
        ('{"vocabulary": {"a": 0}, "merges": [], "skip_unknown": false}', "does not match the merges"),
    ],
)
def test_another_file_is_refused(contents: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        CharBPE.from_json(contents)


def test_markers_in_the_text_are_plain_text() -> None:
    tokenizer = char_bpe.train("</w> <unk> low", 20)
    assert tokenizer.decode(tokenizer.encode("</w> <unk> low")) == "< / w > < unk > low"


def test_the_cache_counts_hits_and_evicts_words() -> None:
    tokenizer = FastCharBPE("abc", [], cache_size=2)
    tokenizer.encode("a a b a c b")
    hits = tokenizer.hits
    assert (hits.hits, hits.misses, hits.words, hits.room) == (2, 4, 2, 2)
    assert hits.rate == 2 / 6
    info = tokenizer.tokenize_word.cache_info()
    assert (info.hits, info.misses, info.currsize, info.maxsize) == (2, 4, 2, 2)
    assert tokenizer.tokenize_word("b") == tuple(tokenizer.encode_word("b"))
    assert hits.advice == "too small: double it to 4 words"
    assert FastCharBPE("abc", []).hits.room == 100_000


def test_the_cache_advises_below_a_hit_rate_of_90_percent() -> None:
    hits = char_bpe_fast.Hits
    assert hits(90, 10, 10, 10).advice == "large enough"
    assert hits(89, 11, 10, 10).advice == "too small: double it to 20 words"
    assert "not full" in hits(1, 9, 9, 10).advice


def test_without_a_cache_there_are_no_statistics() -> None:
    with pytest.raises(AttributeError):
        _ = FastCharBPE("abc", [], Techniques(cache=False)).hits


def test_frankenstein_yields_expected_subwords() -> None:
    words = char_bpe.split(corpus_text("frankenstein.txt"))
    merges = [merge.pair for merge in islice(char_bpe_fast.learn(words), 2000)]
    tokenizer = FastCharBPE(set().union(*words), merges)
    subwords = {token.removesuffix(END) for token in tokenizer.vocabulary}
    assert {"the", "ing", "ed", "tion", "creature"} <= subwords
    assert len(tokenizer.merges) == 2000, "no pair was learned twice"

    plain = CharBPE(set().union(*words), merges)
    for word in sorted(set(words))[::70]:
        assert tokenizer.encode_word(word) == plain.encode_word(word)


def test_encoding_the_training_text_yields_the_symbols_of_training() -> None:
    words = char_bpe.split(corpus_text("frankenstein.txt"))
    merges = list(islice(char_bpe_fast.learn(words), 2000))
    for number in (1, 100, 2000):
        tokenizer = FastCharBPE(set().union(*words), [merge.pair for merge in merges[:number]])
        assert len(tokenizer.encode(" ".join(words))) == merges[number - 1].symbols
