"""Encodings of `compat.tokenizers`: their cost to the garbage collector, and what a batch builds at once."""

import gc
import threading
import weakref
from typing import Any

import numpy as np
import pytest
from merganser import _core
from merganser.compat.tokenizers import Encoding, Tokenizer
from random_calls import fields

theirs = pytest.importorskip("tokenizers")

from transformers_kinds import KINDS, TEXTS  # noqa: E402

FIELDS = ("ids", "type_ids", "attention_mask", "special_tokens_mask", "offsets")
#: Tokens after character 2,047, and tokens of more than 15 characters: their offsets are not shared.
LONG = ["the cat " * 600, "a" * 5000, "é中 " * 900, " " * 3000]


@pytest.fixture(params=KINDS)
def pair(request: pytest.FixtureRequest) -> tuple[Any, Tokenizer]:
    """A tokenizer of the original, and ours."""
    stock = KINDS[request.param]()
    return stock, Tokenizer.from_str(stock.to_str())


def tokenizer() -> Tokenizer:
    return Tokenizer.from_str(next(iter(KINDS.values()))().to_str())


def planned(ours: Tokenizer, texts: list[str]) -> _core.EncodedTexts:
    encoded = ours._encoded(texts, True)
    assert encoded is not None
    return encoded


def test_the_collector_tracks_no_encoding() -> None:
    encodings = tokenizer().encode_batch(TEXTS)
    assert not any(map(gc.is_tracked, encodings))
    assert not any(gc.is_tracked(span) for each in encodings for span in each.offsets)


def test_a_batch_is_encoded_before_the_collector_runs() -> None:
    ours = tokenizer()
    texts = ["the cat"] * 5000
    ours.encode_batch(texts)
    gc.collect()
    runs = collections()
    encodings = ours.encode_batch(texts)
    assert len(encodings) == 5000 and collections() - runs <= 1
    encoded = planned(ours, texts)
    runs = collections()
    encoded.rows("offsets", encodings)
    assert collections() - runs <= 1
    assert gc.isenabled()


def collections() -> int:
    """Return how often the collector has run."""
    return sum(generation["collections"] for generation in gc.get_stats())


def test_encodings_are_freed_without_the_collector() -> None:
    ours = tokenizer()
    ours.enable_truncation(4)
    gc.collect()
    gc.disable()
    try:
        encodings = ours.encode_batch(TEXTS)
        for each in encodings:
            assert each.tokens is not None and each.overflowing is not None and each.word_ids is not None
        alive = [weakref.ref(each) for each in encodings]
        del each, encodings
        assert not any(each() for each in alive)
    finally:
        gc.enable()


def test_long_texts_have_the_same_offsets(pair: tuple[Any, Tokenizer]) -> None:
    stock, ours = pair
    for expected, found in zip(stock.encode_batch(LONG), ours.encode_batch(LONG), strict=True):
        assert fields(found) == fields(expected)


@pytest.mark.parametrize("direction", ["left", "right"])
def test_a_batch_builds_what_its_encodings_do(pair: tuple[Any, Tokenizer], direction: str) -> None:
    stock, ours = pair
    for each in pair:
        each.enable_padding(direction=direction, pad_id=3, pad_type_id=2, pad_to_multiple_of=8)
        each.enable_truncation(20, direction=direction)
    texts = planned(ours, TEXTS)
    assert len(texts) == len(TEXTS)
    encodings = texts.encodings(Encoding)
    expected = stock.encode_batch(TEXTS)
    for field in FIELDS:
        values = [getattr(each, field) for each in expected]
        assert texts.rows(field, encodings) == values
        array = texts.array(field)
        if field == "offsets":
            assert array is None
        else:
            assert array is not None and array.dtype == np.int64 and array.tolist() == values
    assert texts.longest() == texts.length == len(expected[0])


def test_an_array_needs_equal_lengths() -> None:
    ours = tokenizer()
    assert planned(ours, ["the cat", "the"]).array("ids") is None
    assert planned(ours, []).array("ids") is None and planned(ours, []).longest() == 0
    ours.post_processor = None
    assert planned(ours, ["", ""]).array("attention_mask") is None


def test_changed_encodings_have_their_own_fields(pair: tuple[Any, Tokenizer]) -> None:
    texts = ["the cat sat on the mat", "the dog"]
    for stock, ours in zip(*(each.encode_batch(texts) for each in pair), strict=True):
        for change in (
            lambda each: each.pad(30, pad_id=1),
            lambda each: each.truncate(3),
            lambda each: each.set_sequence_id(1),
        ):
            change(stock)
            change(ours)
            assert fields(ours) == fields(stock) and len(ours) == len(stock)


def test_threads_read_one_batch() -> None:
    ours = tokenizer()
    ours.add_tokens(["<new>"])
    texts = [f"the <new> cat {n} " * 3 for n in range(300)]
    expected = [fields(ours.encode(text)) for text in texts]
    encodings = ours.encode_batch(texts)
    found: list[list[Any]] = [[] for _ in range(4)]

    def read(n: int) -> None:
        found[n] = [fields(encodings[(at + 70 * n) % 300]) for at in range(300)]

    threads = [threading.Thread(target=read, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for n, rows in enumerate(found):
        assert rows == [expected[(at + 70 * n) % 300] for at in range(300)]


def test_what_does_not_exist_is_refused() -> None:
    ours = tokenizer()
    texts = planned(ours, ["the cat"])
    with pytest.raises(ValueError, match='"word_ids" is no field'):
        texts.rows("word_ids", texts.encodings(Encoding))
    for call in (texts.text_ids, texts.details, lambda at: Encoding(texts, at)):
        with pytest.raises(IndexError, match="no such text"):
            call(1)
