"""Measures: hand-computed values, and independent reference implementations."""

import math
from collections import Counter
from fractions import Fraction
from pathlib import Path

import merganser
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from merganser import SettingsError, analyse
from strategies import texts

BYTES = merganser.Tokenizer({bytes([byte]): byte for byte in range(256)})
TEXT = "the cat sat on the mat. Did it? «Yes…» naïve café 中文。中文！ 2024 👍👍\n\n" * 3
TOKENIZERS = [
    merganser.train([TEXT], 280, pattern=pattern, special_tokens=["<|x|>"])
    for pattern in ("gpt4", "gpt2", "o200k")
]

DOCS = Path(__file__).parents[2] / "docs" / "analyse.md"

frequencies = st.lists(st.integers(0, 1000), min_size=2).filter(any)


def used(text: str) -> analyse.Usage:
    """Measure a text: `low. low x!` is low, ., _low, _, x and !, in three words and two sentences."""
    return analyse.use(merganser.train(["low low"] * 9, 259), analyse.Sample.of([text]))


def test_hand_computed_measures_are_reproduced() -> None:
    usage = used("low. low x!")
    assert usage.tokens == 6
    assert analyse.bytes_per_token(usage) == 11 / 6
    assert analyse.tokens_per_100_characters(usage) == 600 / 11
    assert analyse.tokens_per_word(usage) == 2
    assert analyse.tokens_per_sentence(usage) == 3
    assert analyse.single_byte_share(usage) == 4 / 6
    assert analyse.vocabulary_use(usage.frequencies) == 6 / 259
    assert usage.top(1) == [(32, 1)]


def test_measures_of_hand_computed_distributions_are_reproduced() -> None:
    # -log(1/4 + 1/16 + 1/16) / log 4
    assert analyse.renyi_efficiency([2, 1, 1, 0], alpha=2) == pytest.approx(math.log(8 / 3, 4))
    # Shannon: 1.5 bits of 2; order 0: three of four occur.
    assert analyse.renyi_efficiency([2, 1, 1, 0], alpha=1) == pytest.approx(0.75)
    assert analyse.renyi_efficiency([2, 1, 1, 0], alpha=0) == pytest.approx(math.log(3, 4))
    assert analyse.renyi_efficiency([2, 1, 1, 0], alpha=1e9) == pytest.approx(0.5), "only the largest counts"
    assert analyse.renyi_efficiency([7, 7, 7]) == pytest.approx(1)
    assert analyse.renyi_efficiency([7, 0, 0]) == pytest.approx(0)
    # Mean absolute difference 2 * (1 + 3 + 2) / 9 over twice the mean of 4/3.
    assert analyse.gini([0, 1, 3]) == pytest.approx(0.5)
    assert analyse.gini([5, 5, 5, 5]) == 0
    assert analyse.gini([0, 0, 0, 9]) == 0.75
    assert analyse.coverage([6, 1, 3, 0], 1) == 0.6
    assert analyse.coverage([6, 1, 3, 0], 99) == 1


def renyi_from_the_definition(seen: list[int], alpha: float) -> float:
    """Compute the Rényi efficiency term by term, as the logarithm of a norm."""
    total = sum(seen)
    powers = math.fsum(float(Fraction(one, total)) ** alpha for one in seen if one)
    norm = powers ** (1 / alpha)
    return alpha / (1 - alpha) * math.log2(norm) / math.log2(len(seen))


@given(frequencies, st.sampled_from([0.5, 2, 2.5, 3, 7]))
def test_renyi_agrees_with_the_definition(seen: list[int], alpha: float) -> None:
    assert analyse.renyi_efficiency(seen, alpha) == pytest.approx(
        renyi_from_the_definition(seen, alpha), abs=1e-9
    )


@given(frequencies)
def test_gini_agrees_with_the_mean_difference(seen: list[int]) -> None:
    differences = sum(abs(one - other) for one in seen for other in seen)
    assert analyse.gini(seen) == pytest.approx(
        float(Fraction(differences, 2 * len(seen) * sum(seen))), abs=1e-9
    )


@given(st.lists(texts.filter(str.strip), min_size=1, max_size=4))
def test_fertility_agrees_with_encoding_every_document(documents: list[str]) -> None:
    documents = [
        document.replace("<|endoftext|>", "a").replace("\x1c", "").replace("\x1d", "")
        for document in documents
    ]
    documents = [document.replace("\x1e", "").replace("\x1f", "") + "a" for document in documents]
    sample = analyse.Sample.of(documents)
    for tokenizer in TOKENIZERS:
        usage = analyse.use(tokenizer, sample)
        ids = Counter(id for document in documents for id in tokenizer.encode_ordinary(document))
        words = sum(len(document.split()) for document in documents)
        assert analyse.tokens_per_word(usage) == float(Fraction(sum(ids.values()), words))
        assert dict(zip(usage.ids.tolist(), usage.frequencies.tolist(), strict=True)) == {
            id: ids[id] for id in range(279)
        }
    assert sample.bytes == sum(len(document.encode()) for document in documents)
    assert sample.characters == sum(map(len, documents))
    assert sample.documents == len(documents)


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("One. Two! Three?", 3),
        ('He said "No." Then (he left.) 3.14 is a number', 2),
        ("Wait… what?!", 2),
        ("no end", 1),
        ("未来世界。很好！", 2),
        ("هل هذا؟ نعم۔", 2),
        ("यह घर है। वह भी॥", 2),
        ("«Да.» Нет", 1),
    ],
)
def test_sentences_are_counted_by_the_rule(text: str, sentences: int) -> None:
    assert analyse.Sample.of([text]).sentences == sentences


def test_invalid_bytes_are_counted() -> None:
    sample = analyse.Sample.of([b"low \xff\xff low"])
    assert (sample.bytes, sample.characters, sample.words) == (10, 10, 2)
    usage = analyse.use(BYTES, sample)
    assert usage.tokens == 10
    assert usage.frequencies[255] == 2


def test_frequencies_are_not_rounded(tmp_path: object) -> None:
    counts = merganser.Counts({b"a": 2**62 + 1, b"b": 1})
    path = f"{tmp_path}/large.counts"
    counts.save(path)
    sample = analyse.Sample.of([b"a"])
    sample._counts["gpt4"] = merganser.Counts.load(path)
    usage = analyse.use(BYTES, sample)
    assert usage.frequencies[[97, 98]].tolist() == [2**62 + 1, 1]
    assert usage.tokens == 2**62 + 2
    with pytest.raises(merganser.CountsError, match="64 bits do not hold"):
        analyse.sample.Pretokens.of(merganser.Counts({b"ab": 2**62}))


def test_use_sizes_equals_use_of_truncated_tokenizers() -> None:
    sample = analyse.Sample.of([TEXT])
    for tokenizer in TOKENIZERS:
        for size, usage in zip((260, 270), analyse.use_sizes(tokenizer, [260, 270], sample), strict=True):
            smaller = merganser.train([TEXT], size, pattern=tokenizer.pattern_name, special_tokens=["<|x|>"])
            assert usage.tokenizer == smaller
            assert np.array_equal(usage.frequencies, analyse.use(smaller, sample).frequencies)
            assert usage.tokens == len(smaller.encode(TEXT))


def test_parity_is_relative_to_the_reference() -> None:
    same = {"English": ["Yes", "No"], "Russian": ["Да", "Нет"]}
    assert analyse.parity(BYTES, same) == {"English": 1, "Russian": 2}
    assert analyse.parity(BYTES, same, reference="Russian") == {"English": 0.5, "Russian": 1}


def test_the_names_of_measures_contain_their_parameters() -> None:
    names = list(analyse.measures(used("low. low x!"), alpha=3, top=2))
    assert "Rényi efficiency (α = 3, V = 259)" in names
    assert "coverage of the top 2 tokens" in names
    assert len(names) == 9


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda: analyse.renyi_efficiency([3]), "vocabulary of one token"),
        (
            lambda: analyse.renyi_efficiency([3, 4], alpha=-1),
            "alpha must be a finite number of at least 0, got -1",
        ),
        (lambda: analyse.gini([0, 0]), "all frequencies are 0; measure a text"),
        (lambda: analyse.gini([0.5, 1]), "integers of at least 0, one per token"),
        (lambda: analyse.vocabulary_use([]), "integers of at least 0, one per token"),
        (lambda: analyse.coverage([-1, 2], 1), "integers of at least 0, one per token"),
        (lambda: analyse.coverage([1, 2], 0), "top must be at least 1 token, got 0"),
        (lambda: analyse.parity(BYTES, {}), "at least one language"),
        (
            lambda: analyse.parity(BYTES, {"a": ["x"]}, reference="b"),
            "'b' is not a language of texts; use one of a",
        ),
        (lambda: analyse.parity(BYTES, {"a": ["x"], "b": []}), "their numbers are a 1, b 0"),
        (lambda: analyse.parity(BYTES, {"a": [""]}), "sentences in a are empty"),
        (lambda: analyse.Sample.of(iter(["a"])), "can be read only once"),
        (lambda: analyse.Sample.of("-"), "can be read only once"),
        (lambda: analyse.Sample.of([Path("-")]), "can be read only once"),
    ],
)
def test_invalid_arguments_are_refused(wrong: object, message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        wrong()  # type: ignore[operator]


def test_a_text_without_words_is_refused() -> None:
    with pytest.raises(merganser.CorpusError, match="blank contains no words; check the path"):
        analyse.Sample.of([" \n"], name="blank")


def test_every_public_name_is_documented() -> None:
    text = DOCS.read_text("utf-8")
    for name in analyse.__all__:
        assert name.isupper() or getattr(analyse, name).__doc__
        assert name.isupper() or name in text, f"{name} is not in docs/analyse.md"
