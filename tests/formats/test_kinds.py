"""Tokenizers of every BPE kind, trained by the library that owns the kind, have its ids, text and offsets."""

import json
import tempfile
from functools import cache
from pathlib import Path

import kinds
import merganser
import owners
import pytest
from hypothesis import given
from hypothesis import strategies as st

ALL = [*kinds.HUGGING_FACE, *kinds.SENTENCEPIECE]


@cache
def opened(name: str) -> tuple[merganser.Tokenizer, owners.Owner]:
    with tempfile.TemporaryDirectory() as folder:
        file, theirs = kinds.written(Path(folder), name)
        return merganser.load(file), theirs


def check(name: str, text: str) -> None:
    loaded, theirs = opened(name)
    expected = theirs.encode(text)
    ours = theirs.ours(loaded, text)
    assert ours == expected, f"{text[:80]!r}: {owners.first_difference(ours, expected)}"


@pytest.mark.parametrize("name", ALL)
def test_ids_equal_the_owners(name: str) -> None:
    for text in [*owners.AWKWARD, *owners.samples(2), *owners.code_points(25)]:
        check(name, text)


@pytest.mark.parametrize("name", ALL)
@given(text=st.text(max_size=60) | st.text(st.sampled_from("▁ \nab'é\u0301中<>|s12"), max_size=80))
def test_ids_equal_the_owners_on_any_text(name: str, text: str) -> None:
    check(name, text)


@pytest.mark.parametrize("name", kinds.HUGGING_FACE)
def test_added_tokens_are_found_as_the_owner_finds_them(name: str) -> None:
    tokens = [token["content"] for token in json.loads(kinds.hugging_face(name))["added_tokens"]]
    for text in owners.with_added([*owners.samples(2, 60), "", " ", "a", "  x  "] * 3, tokens):
        check(name, text)


@pytest.mark.parametrize("name", kinds.HUGGING_FACE)
def test_special_tokens_are_plain_text_unless_they_are_allowed(name: str) -> None:
    loaded, _ = opened(name)
    tokens = json.loads(kinds.hugging_face(name))["added_tokens"]
    for token in tokens:
        found = token["id"] in loaded.encode_ordinary(f"a {token['content']} b")
        assert found != token["special"] or token["content"] == "<unk>"


@pytest.mark.parametrize("name", ALL)
def test_text_equals_the_owners(name: str) -> None:
    loaded, theirs = opened(name)
    for text in [*owners.AWKWARD, *owners.samples(2)]:
        ids = theirs.encode(text)
        assert loaded.decode(ids, errors="replace") == theirs.decode(ids), text[:80]


@pytest.mark.parametrize("name", ALL)
@given(chosen=st.lists(st.integers(0, 2000), max_size=12))
def test_text_of_any_ids_equals_the_owners(name: str, chosen: list[int]) -> None:
    loaded, theirs = opened(name)
    # sentencepiece decodes control tokens to nothing; here they have a text.
    known = [id for id in range(loaded.next_id) if id in loaded and not _is_control(name, loaded, id)]
    ids = [known[id % len(known)] for id in chosen]
    expected = theirs.decode(ids)
    assert loaded.decode(ids, errors="replace") == expected, ids
    stream = merganser.StreamDecoder(loaded, errors="replace")
    streamed = "".join(stream.push(id) for id in ids) + stream.finish()
    if "\ufffd" not in expected:  # a stream cannot know how many bytes a character would have had
        assert streamed == expected, ids


def _is_control(name: str, loaded: merganser.Tokenizer, id: int) -> bool:
    return name in kinds.SENTENCEPIECE and id in loaded.special_tokens.values()


@pytest.mark.parametrize("name", kinds.HUGGING_FACE)
def test_offsets_equal_the_owners(name: str) -> None:
    loaded, theirs = opened(name)
    assert theirs.offsets is not None
    for text in [*owners.AWKWARD, *owners.samples(2)]:
        spans = loaded.encode_with_offsets(text, allowed_special="all").chars
        assert spans == theirs.offsets(text), text[:80]
