"""Pruning: merges that the certificate calls proven equal those of training on all pre-tokens."""

import itertools
import warnings
from typing import Any

import merganser
import pytest
from corpora import corpus_text
from hypothesis import given
from hypothesis import strategies as st
from merganser import Counts, Local, MerganserWarning, SettingsError, Tokenizer
from oracle import train
from strategies import ties

pretokens = st.dictionaries(
    st.text(st.sampled_from("aabcé "), min_size=1, max_size=12).map(str.encode),
    st.integers(1, 6),
    min_size=1,
    max_size=20,
)


def quietly(*args: Any, **settings: Any) -> Tokenizer:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MerganserWarning)
        return merganser.train(*args, **settings)


def shared(a: list[tuple[bytes, bytes]], b: list[tuple[bytes, bytes]]) -> int:
    """Return the number of equal merges before the first difference."""
    return sum(1 for _ in itertools.takewhile(lambda pair: pair[0] == pair[1], zip(a, b, strict=False)))


@given(
    pretokens,
    st.integers(1, 5),
    ties,
    st.integers(1, 4),
    st.none() | st.integers(1, 6),
    st.sampled_from([(), ("ab",), ("aa", "bc")]),
    st.sampled_from([1, 2]),
)
def test_proven_merges_equal_those_of_the_oracle_on_all_pretokens(
    pretokens: dict[bytes, int],
    min_pretoken_count: int,
    tie_break: str,
    min_frequency: int,
    max_token_bytes: int | None,
    special_tokens: tuple[str, ...],
    threads: int,
) -> None:
    limits = {"min_frequency": min_frequency, "max_token_bytes": max_token_bytes}
    tokenizer = quietly(
        Counts(pretokens, special_tokens=special_tokens),
        256 + 20 + len(special_tokens),
        tie_break=tie_break,
        min_pretoken_count=min_pretoken_count,
        engine=Local(threads=threads),
        **limits,
    )
    kept = {pretoken: count for pretoken, count in pretokens.items() if count >= min_pretoken_count}
    assert tokenizer.merges == train(kept, 20, tie_break=tie_break, special_tokens=special_tokens, **limits)
    truth = train(pretokens, 20, tie_break=tie_break, special_tokens=special_tokens, **limits)
    facts = tokenizer.training
    assert facts["proven_merges"] == shared(tokenizer.merges, truth)
    assert facts["dropped_pretokens"] == len(pretokens) - len(kept)
    assert facts["dropped_total"] == sum(pretokens.values()) - sum(kept.values())


@given(pretokens, pretokens, st.integers(2, 5), ties)
def test_proven_merges_with_a_base_equal_those_of_the_oracle(
    first: dict[bytes, int], then: dict[bytes, int], min_pretoken_count: int, tie_break: str
) -> None:
    base = quietly(Counts(first), 266, tie_break=tie_break)
    settings = {"tie_break": tie_break, "base": base}
    pruned = quietly(Counts(then), base.vocab_size + 15, min_pretoken_count=min_pretoken_count, **settings)
    truth = quietly(Counts(then), base.vocab_size + 15, **settings)
    proven = pruned.training["proven_merges"]
    assert proven == shared(pruned.merges, truth.merges) - len(base.merges)


@pytest.mark.parametrize("name", ["python-stdlib", "tinyshakespeare.txt"])
@pytest.mark.parametrize("min_pretoken_count", [2, 10])
def test_real_text_is_proven_up_to_the_first_difference(name: str, min_pretoken_count: int) -> None:
    counts = merganser.count(name if name == "python-stdlib" else [corpus_text(name)])
    truth = merganser.train(counts, 4000)
    pruned = quietly(counts, 4000, min_pretoken_count=min_pretoken_count)
    facts = pruned.training
    assert facts["proven_merges"] == shared(pruned.merges, truth.merges)
    assert facts["checked_merges"] == facts["proven_merges"] + 1
    # Rare pre-tokens are 0.6% to 5% of this text, more than the counts of the first pairs differ by, so the
    # orders diverge early.
    assert 0 < facts["proven_merges"] < len(pruned.merges)
    assert truth.training["proven_merges"] == len(truth.merges)


def test_the_certificate_does_not_depend_on_threads() -> None:
    counts = merganser.count("python-stdlib")
    one, two = (
        merganser.train(counts, 1000, min_pretoken_count=3, engine=Local(threads=threads))
        for threads in (1, 2)
    )
    assert one.training == two.training


def test_certification_can_be_turned_off() -> None:
    stages = []
    counts = Counts({b"abab": 3, b"ac": 1})
    tokenizer = merganser.train(
        counts, 257, min_pretoken_count=2, certify=False, progress=lambda stage, *_: stages.append(stage)
    )
    assert tokenizer.training["proven_merges"] is None
    assert tokenizer.training["dropped_pretokens"] == 1
    assert "certify" not in stages


def test_a_min_pretoken_count_below_one_is_rejected() -> None:
    with pytest.raises(SettingsError, match="min_pretoken_count must be at least 1"):
        merganser.train(["abc"], 257, min_pretoken_count=0)


def test_dropping_all_pretokens_is_allowed() -> None:
    with pytest.warns(MerganserWarning, match="min_pretoken_count=9"):
        tokenizer = merganser.train(["abc"], 257, min_pretoken_count=9)
    assert tokenizer.vocab_size == 256
    assert tokenizer.training["proven_merges"] == 0
