"""Training: exactly the merges of the oracle, with any settings."""

import warnings
from pathlib import Path
from typing import Any

import merganser
import pytest
from hypothesis import given
from hypothesis import strategies as st
from merganser import CorpusError, Counts, CountsError, Local, MerganserWarning, SettingsError, Tokenizer
from oracle import encode_pretoken, train, train_first
from peers import huggingface_merges
from strategies import documents, ties

PATTERNS = ("gpt2", "gpt4", "whitespace", r"(?s).{1,9}", r"\w+")
pretokens = st.dictionaries(
    st.text(st.sampled_from("aabcé"), min_size=1, max_size=12).map(str.encode),
    st.integers(1, 9) | st.integers(2**32, 2**33),
    max_size=12,
)
threads = st.sampled_from([1, 2, 4])


def quietly(*args: Any, **settings: Any) -> Tokenizer:
    """Train without the warning that no pair is left, which is expected here."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MerganserWarning)
        return merganser.train(*args, **settings)


@given(documents, st.integers(0, 30), ties, st.sampled_from(PATTERNS), threads)
def test_merges_equal_those_of_the_oracle(
    texts: list[str], merges: int, tie_break: str, pattern: str, threads: int
) -> None:
    counts = merganser.count([*texts, "ab"], pattern=pattern)
    tokenizer = quietly(
        [*texts, "ab"], 256 + merges, pattern=pattern, tie_break=tie_break, engine=Local(threads=threads)
    )
    assert tokenizer.merges == train(counts.to_dict(), merges, tie_break=tie_break)


@given(documents, st.integers(0, 30), st.sampled_from(PATTERNS), st.integers(1, 3))
def test_of_equal_pairs_the_first_in_the_text_is_merged(
    texts: list[str], merges: int, pattern: str, buffer_size: int
) -> None:
    corpus = [*texts, "ab"]
    trained = quietly(corpus, 256 + merges, pattern=pattern, tie_break="first", buffer_size=buffer_size)
    in_order = [pretoken.encode() for text in corpus for pretoken in merganser.split(text, pattern)]
    expected = train_first(in_order, merges)
    assert trained.merges == expected
    assert list(trained.merges_as_ids.values()) == list(range(256, 256 + len(expected)))
    # It continues from a base, as if it had never stopped.
    base = quietly(corpus, 256 + merges // 2, pattern=pattern, tie_break="first")
    assert quietly(corpus, 256 + merges, base=base, tie_break="first").merges == expected


def test_the_order_of_the_text_decides_between_equal_pairs(tmp_path: Path) -> None:
    def merges(corpus: Any, **settings: Any) -> list[tuple[bytes, bytes]]:
        return list(merganser.train(corpus, 257, tie_break="first", **settings).merges)

    assert merges(["zz yy"]) == [(b"z", b"z")]
    assert merges(["yy zz"]) == [(b"y", b"y")]
    (tmp_path / "a.txt").write_text("yy", "utf-8")
    (tmp_path / "b.jsonl").write_text('{"text": "xx<|endoftext|>zz"}', "utf-8")
    assert merges([tmp_path / "b.jsonl", tmp_path / "a.txt"]) == [(b"x", b"x")]
    assert merges([tmp_path / "a.txt", tmp_path / "b.jsonl"]) == [(b"y", b"y")]
    assert merges(tmp_path, engine=Local(threads=4, work_dir=tmp_path / "work")) == [(b"y", b"y")]
    # Special tokens are cut out of the text, and no merge forms one.
    special = merganser.train(["zz<s>yy"], 258, tie_break="first", special_tokens=["<s>"])
    assert special.merges == [(b"z", b"z")]
    assert special.training["tie_break"] == "first"


def test_the_order_of_the_text_must_be_known(tmp_path: Path) -> None:
    counts = merganser.count(["zz yy"])
    counts.save(tmp_path / "a.counts")
    for known, error, message in (
        ((counts, {}), CountsError, "counts are not in the order of the text"),
        ((tmp_path / "a.counts", {}), CorpusError, r"a\.counts holds counts, which are not in the order"),
        ((["a b"], {"engine": Local(memory="1GB")}), SettingsError, "without memory"),
        ((["a b"], {"unit": "characters"}), SettingsError, "combined with unit="),
        ((["a b"], {"normalizer": "nfc"}), SettingsError, "combined with a normalizer"),
        ((["a b"], {"min_pretoken_count": 2}), SettingsError, "combined with min_pretoken_count"),
    ):
        corpus, settings = known
        with pytest.raises(error, match=message):
            merganser.train(corpus, 300, tie_break="first", **settings)


@given(documents, st.integers(0, 8) | st.none(), st.integers(0, 3))
def test_lengths_and_frequencies_are_limited_as_by_hugging_face(
    texts: list[str], max_token_length: int | None, min_frequency: int
) -> None:
    counts = merganser.count([*texts, "ab"], pattern="gpt2")
    limits = {"max_token_length": max_token_length, "min_frequency": min_frequency}
    ours = quietly(counts, 290, tie_break="huggingface", **limits)
    assert ours.merges == huggingface_merges(counts, 290, **limits)
    if max_token_length is not None:
        assert max(map(len, ours.mergeable_ranks)) <= max(2, max_token_length - 1)
    assert ours.training["min_frequency"] == max(1, min_frequency)


@given(
    pretokens.filter(bool),
    ties,
    st.integers(1, 5),
    st.none() | st.integers(1, 6),
    st.sampled_from([(), ("ab",), ("aa", "bc", "aba")]),
    threads,
)
def test_limits_work_as_in_the_oracle(
    pretokens: dict[bytes, int],
    tie_break: str,
    min_frequency: int,
    max_token_bytes: int | None,
    special_tokens: tuple[str, ...],
    threads: int,
) -> None:
    limits = {"min_frequency": min_frequency, "max_token_bytes": max_token_bytes}
    counts = Counts(pretokens, special_tokens=special_tokens)
    tokenizer = quietly(
        counts,
        256 + 20 + len(special_tokens),
        tie_break=tie_break,
        engine=Local(threads=threads),
        **limits,
    )
    expected = train(pretokens, 20, tie_break=tie_break, special_tokens=special_tokens, **limits)
    assert tokenizer.merges == expected
    ids = range(256 + len(expected), 256 + len(expected) + len(special_tokens))
    assert tokenizer.special_tokens == dict(zip(special_tokens, ids, strict=True))


@given(
    pretokens.filter(bool), pretokens.filter(bool), st.integers(0, 8), ties, st.sampled_from([(), ("<s>",)])
)
def test_training_from_a_base_equals_the_oracle(
    first: dict[bytes, int],
    then: dict[bytes, int],
    merges: int,
    tie_break: str,
    special_tokens: tuple[str, ...],
) -> None:
    base = quietly(
        Counts(first, special_tokens=special_tokens), 256 + merges + len(special_tokens), tie_break=tie_break
    )
    more = Counts(then, special_tokens=(*special_tokens, "<new>"))
    tokenizer = quietly(more, base.vocab_size + 11, tie_break=tie_break, base=base)

    expected = train(then, 10, tie_break=tie_break, base=base.mergeable_ranks)
    assert tokenizer.merges == base.merges + expected
    new_ids = [id for _, id in list(tokenizer.merges_as_ids.items())[len(base.merges) :]]
    assert new_ids == list(range(base.next_id, base.next_id + len(expected)))
    assert tokenizer.vocab.items() >= base.vocab.items()
    assert tokenizer.special_tokens["<new>"] == base.next_id + len(expected)


@given(documents, ties, st.integers(0, 20), st.integers(0, 20), st.sampled_from([(), ("<a>", "<b>")]))
def test_truncating_equals_training_with_a_smaller_size(
    texts: list[str], tie_break: str, less: int, more: int, special_tokens: tuple[str, ...]
) -> None:
    counts = merganser.count([*texts, "ab"], special_tokens=special_tokens)
    large = quietly(counts, 256 + less + more + len(special_tokens), tie_break=tie_break)
    size = min(large.vocab_size, 256 + less + len(special_tokens))
    small = quietly(counts, size, tie_break=tie_break)
    assert large.truncated(size) == small
    assert large.truncated(size).merge_counts == small.merge_counts


@given(documents, threads)
def test_encoding_a_pretoken_equals_its_segmentation_in_training(texts: list[str], threads: int) -> None:
    counts = merganser.count([*texts, "ab"])
    tokenizer = quietly(counts, 280, engine=Local(threads=threads))
    for pretoken in counts.to_dict():
        text = pretoken.decode()
        ranks = tokenizer.mergeable_ranks
        assert tokenizer.encode(text) == [ranks[token] for token in encode_pretoken(pretoken, ranks)]


def test_merge_counts_record_how_often_each_merge_occurred() -> None:
    tokenizer = merganser.train(Counts({b"abab": 3, b"ab": 1}), 258)
    assert dict(tokenizer.merge_counts) == {256: 7, 257: 3}


def test_a_smaller_tokenizer_than_requested_causes_a_warning() -> None:
    with pytest.warns(
        MerganserWarning, match="258 tokens instead of 1000: no pair is left to merge; train on"
    ):
        tokenizer = merganser.train(["abc"], 1000)
    assert tokenizer.vocab_size == 258
    with pytest.warns(MerganserWarning, match="no pair is left to merge within min_frequency=2"):
        merganser.train(["abc"], 1000, min_frequency=2)


@pytest.mark.parametrize("nothing", [[""], ["", b""], Counts({}), ["<|endoftext|>"]])
def test_a_corpus_without_text_is_an_error(nothing: Any) -> None:
    with pytest.raises(CorpusError, match="no text to train on; check the path"):
        merganser.train(nothing, 300)


def test_special_tokens_are_included_in_the_size_and_come_last() -> None:
    tokenizer = merganser.train(["ab ab<s>ab"], 259, special_tokens=["<s>", "<t>"])
    assert tokenizer.special_tokens == {"<s>": 257, "<t>": 258}
    assert tokenizer.vocab_size == len(tokenizer) == len(tokenizer.vocab) == 259
    assert tokenizer.merges == [(b"a", b"b")]


def test_special_tokens_may_come_on_top_of_the_size() -> None:
    on_top = {"special_tokens": ["<s>", "<t>"], "special_tokens_extra": True}
    tokenizer = merganser.train(["ab ab<s>ab"], 257, **on_top)  # type: ignore[arg-type]
    assert tokenizer == merganser.train(["ab ab<s>ab"], 259, special_tokens=["<s>", "<t>"])
    assert tokenizer.special_tokens == {"<s>": 257, "<t>": 258}
    assert tokenizer.training["vocab_size"] == tokenizer.vocab_size == 259
    counts = merganser.count(["ab ab<s>ab"], special_tokens=["<s>", "<t>"])
    assert merganser.train(counts, 257, special_tokens_extra=True) == tokenizer
    extended = merganser.train(
        ["cd<s>"], 260, base=tokenizer, special_tokens=["<u>"], special_tokens_extra=True
    )
    assert extended.special_tokens == {"<s>": 257, "<t>": 258, "<u>": 260}
    assert extended.vocab_size == 261
    with pytest.raises(SettingsError, match=r"vocab_size must be at least 256 \(256 bytes\), got 255"):
        merganser.train(["ab"], 255, **on_top)  # type: ignore[arg-type]
    with pytest.raises(SettingsError, match=r"at least 259 \(259 tokens of the base\), got 258"):
        merganser.train(["ab"], 258, base=tokenizer, special_tokens_extra=True)
    with pytest.warns(MerganserWarning, match="the vocabulary has 259 tokens instead of 302"):
        merganser.train(["ab"], 300, **on_top)  # type: ignore[arg-type]


def test_special_tokens_keep_their_order() -> None:
    tokenizer = merganser.train(["abc"], 260, special_tokens=["<z>", "<a>"])
    assert tokenizer.special_tokens == {"<z>": 258, "<a>": 259}
    counts = merganser.count(["abc"], special_tokens=["<z>", "<a>"])
    assert merganser.train(counts, 260, special_tokens=["<z>", "<a>"]) == tokenizer


def test_settings_come_from_the_counts_and_must_not_contradict_them() -> None:
    counts = merganser.count(["ab ab<s>"], pattern="gpt2", special_tokens=["<s>"], separator=None)
    tokenizer = merganser.train(counts, 258)
    assert tokenizer.pattern_name == "gpt2"
    assert tokenizer.special_tokens == {"<s>": 257}
    assert merganser.train(counts, 258, pattern="gpt2", special_tokens=["<s>"], separator=None) == tokenizer
    for other in ({"pattern": "gpt4"}, {"special_tokens": []}, {"separator": "<|endoftext|>"}):
        with pytest.raises(CountsError):
            merganser.train(counts, 258, **other)  # type: ignore[arg-type]


def test_a_base_determines_pattern_and_special_tokens() -> None:
    base = merganser.train(["ab ab"], 258, pattern="gpt2", special_tokens=["<s>"])
    tokenizer = merganser.train(["abc abc<s>"], 259, base=base)
    assert tokenizer.pattern_name == "gpt2"
    assert tokenizer.vocab.items() >= base.vocab.items()
    assert tokenizer.merges_as_ids[256, ord("c")] == 258
    with pytest.raises(SettingsError, match=r"gpt2.*; train with the pattern of the base"):
        merganser.train(["abc"], 300, base=base, pattern="gpt4")
    with pytest.raises(CountsError, match=r"<s>.*; count again with the special tokens of the base"):
        merganser.train(Counts({b"abc": 1}, pattern="gpt2"), 300, base=base)
    with pytest.raises(SettingsError, match=r"at least 258 \(.* of the base \+ .* special tokens\), got"):
        merganser.train(["abc"], 257, base=base)


@pytest.mark.parametrize(
    "settings",
    [
        {"tie_break": "random"},
        {"min_frequency": -1},
        {"max_token_length": -1},
        {"max_token_length": 5, "max_token_bytes": 4},
        {"max_token_length": 5, "unit": "characters"},
        {"max_token_bytes": 0},
        {"buffer_size": 0},
        {"special_tokens": "<s>"},
        {"special_tokens": ["<s>", "<s>"]},
        {"special_tokens": [""]},
        {"vocab_size": 255},
        {"vocab_size": 256, "special_tokens": ["<s>"]},
        {"vocab_size": -1},
    ],
)
def test_invalid_settings_are_rejected(settings: dict[str, Any]) -> None:
    with pytest.raises(SettingsError):
        merganser.train(["some text"], **({"vocab_size": 300} | settings))
    with pytest.raises(SettingsError):
        Local(threads=0)


def test_special_tokens_keep_their_order_in_counts() -> None:
    order = ["<z>", "<a>", "<m>"]
    counts = Counts({b"abab": 3}, special_tokens=order)
    assert list(merganser.train(counts, 261).special_tokens) == order
    assert list(merganser.train(["abab"], 261, special_tokens=order).special_tokens) == order


TRUNCATED = (
    "the cat sat on the mat, and the dog sat on the cat's mat; a long, long tale of cats and dogs " * 2
)


@pytest.mark.parametrize(
    "settings", [{}, {"min_pretoken_count": 2}, {"min_pretoken_count": 2, "certify": False}]
)
def test_a_truncated_tokenizer_has_the_facts_of_its_size(settings: dict[str, Any]) -> None:
    counts = merganser.count([TRUNCATED, "tales of the cat"], special_tokens=["<|a|>", "<|b|>"])
    large = merganser.train(counts, 285, **settings)
    for size in (258, 259, 265, 280, 284):
        small, alone = large.truncated(size), merganser.train(counts, size, **settings)
        assert small == alone
        assert small.merge_counts == alone.merge_counts
        assert small.training == {**alone.training, "truncated_from": 285}
        assert small.training["vocab_size"] == size == small.vocab_size
        assert small.training["merges"] == len(small.merges)
        assert small.truncated(258).training["truncated_from"] == 285, "the size that was trained"
    assert large.truncated(285).training == large.training


def test_truncating_a_tokenizer_with_a_base_counts_only_new_merges() -> None:
    base = merganser.train([TRUNCATED], 262, special_tokens=["<|a|>"])
    large = merganser.train(["some other text, some other words"] * 3, 275, base=base)
    assert (large.training["vocab_size"], large.training["merges"]) == (275, 13)
    small = large.truncated(266)
    alone = merganser.train(["some other text, some other words"] * 3, 266, base=base)
    assert small.training == {**alone.training, "truncated_from": 275}
    assert small.training["merges"] == small.training["proven_merges"] == 4


def test_size_dependent_facts_of_old_files_are_dropped() -> None:
    large = merganser.train([TRUNCATED], 280)
    old = {name: fact for name, fact in large.training.items() if name not in ("merges", "vocab_size")}
    assert old["proven_merges"] == 24
    small = merganser.Tokenizer(large.mergeable_ranks, training=old).truncated(270)
    assert small.training["pretokens"] == large.training["pretokens"]
    assert small.training["truncated_from"] == 280
    assert not {"merges", "proven_merges", "checked_merges"} & small.training.keys()
    assert merganser.Tokenizer(large.mergeable_ranks).truncated(270).training == {"truncated_from": 280}
