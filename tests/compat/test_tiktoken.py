"""`merganser.compat.tiktoken` against tiktoken: every method, on the same vocabulary."""

import copy
import pickle
from typing import Any

import merganser
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from merganser.compat.tiktoken import Encoding

theirs = pytest.importorskip("tiktoken")

TEXT = ["the cat sat on the mat; the dog's naïve 中文 2024 👍 'll  \n\n  x" * 3, "hello world  "]
SPECIAL = {"<|endoftext|>": 700, "<|fim|>": 702}
_TRAINED = merganser.train(TEXT, 300, pattern="gpt4")
SETTINGS: dict[str, Any] = {
    "pat_str": _TRAINED.pattern,
    "mergeable_ranks": dict(_TRAINED.mergeable_ranks),
    "special_tokens": SPECIAL,
}
OURS = Encoding("small", **SETTINGS)
THEIRS = theirs.Encoding("small", **SETTINGS)

texts = st.text(max_size=30) | st.text(st.sampled_from("the catso  \n中é<|fim|>'l"), max_size=30)


def outcome(call: Any) -> Any:
    """Return the result of a call, or the type of its error."""
    try:
        result = call()
    except Exception as error:
        return type(error)
    return [int(id) for id in result] if type(result).__name__ == "ndarray" else result


@given(texts | st.text(st.characters(), max_size=20))
@example("\ud800")
@example("a\ud83d\ude00<|fim|>")
def test_texts_are_encoded_the_same(text: str) -> None:
    for how in (
        {},
        {"allowed_special": "all"},
        {"allowed_special": {"<|fim|>"}},
        {"disallowed_special": ()},
        {"disallowed_special": {"the"}},
    ):
        for name in ("encode", "encode_to_numpy"):
            assert outcome(lambda: getattr(OURS, name)(text, **how)) == outcome(  # noqa: B023
                lambda: getattr(THEIRS, name)(text, **how)  # noqa: B023
            )
    assert OURS.encode_ordinary(text) == THEIRS.encode_ordinary(text)
    batch = [text, "the cat", text + "x"]
    assert OURS.encode_ordinary_batch(batch, num_threads=2) == THEIRS.encode_ordinary_batch(batch)
    assert outcome(lambda: OURS.encode_batch(batch)) == outcome(lambda: THEIRS.encode_batch(batch))


@given(st.lists(st.binary(max_size=6) | texts.map(str.encode), max_size=4).map(b"".join))
@example(b" \xec\x8b\xa4\xed")
@example(b"the cat  \n\n \x80\x80")
def test_bytes_are_encoded_the_same(data: bytes) -> None:
    assert OURS._encode_bytes(data) == THEIRS._encode_bytes(data)
    assert OURS.decode_bytes(OURS._encode_bytes(data)) == data
    for name in ("encode", "encode_ordinary", "encode_to_numpy"):
        with pytest.raises(TypeError):
            getattr(THEIRS, name)(data)
        with pytest.raises(TypeError):
            getattr(OURS, name)(data)


def test_two_special_tokens_may_share_an_id() -> None:
    shared = SETTINGS | {"special_tokens": {"<|endoftext|>": 700, "<|reserved_700|>": 700}}
    ours, expected = Encoding("shared", **shared), theirs.Encoding("shared", **shared)
    for encoding in (ours, pickle.loads(pickle.dumps(ours))):
        for text in ("the<|endoftext|> cat", "<|reserved_700|>"):
            for how in ({"allowed_special": "all"}, {"disallowed_special": ()}):
                assert encoding.encode(text, **how) == expected.encode(text, **how)
            stable, completions = encoding.encode_with_unstable(text, disallowed_special=())
            assert (stable, sorted(completions)) == (
                expected.encode_with_unstable(text, disallowed_special=())[0],
                sorted(expected.encode_with_unstable(text, disallowed_special=())[1]),
            )
        assert encoding.n_vocab == expected.n_vocab
        assert encoding.special_tokens_set == expected.special_tokens_set
    with pytest.raises(ValueError, match="0x00 is missing"):
        Encoding("bad", **shared | {"mergeable_ranks": {b"a": 0}})


@given(st.text(st.sampled_from("the catsondog  \n中é'l"), max_size=12))
def test_unstable_ends_are_the_same(text: str) -> None:
    stable, completions = OURS.encode_with_unstable(text)
    expected, theirs = THEIRS.encode_with_unstable(text)
    assert stable == expected
    assert sorted(completions) == sorted(theirs)


@given(st.lists(st.integers(0, 720), max_size=12))
def test_ids_are_decoded_the_same(ids: list[int]) -> None:
    for name in ("decode_bytes", "decode", "decode_tokens_bytes", "decode_with_offsets"):
        assert outcome(lambda: getattr(OURS, name)(ids)) == outcome(  # noqa: B023
            lambda: getattr(THEIRS, name)(ids)  # noqa: B023
        ), name
    for errors in ("strict", "ignore", "replace"):
        assert outcome(lambda: OURS.decode(ids, errors=errors)) == outcome(  # noqa: B023
            lambda: THEIRS.decode(ids, errors=errors)  # noqa: B023
        )
    assert outcome(lambda: OURS.decode_batch([ids, [1]])) == outcome(lambda: THEIRS.decode_batch([ids, [1]]))


def test_the_vocabulary_is_the_same() -> None:
    for name in ("name", "n_vocab", "max_token_value", "eot_token", "special_tokens_set"):
        assert getattr(OURS, name) == getattr(THEIRS, name), name
    assert OURS.token_byte_values() == THEIRS.token_byte_values()
    assert repr(OURS) == repr(THEIRS)
    for token in ("the", b"th", "<|fim|>", "no such token", b"\xff"):
        assert outcome(lambda: OURS.encode_single_token(token)) == outcome(  # noqa: B023
            lambda: THEIRS.encode_single_token(token)  # noqa: B023
        )
    for id in (0, 300, 700, 701):
        assert OURS.is_special_token(id) == THEIRS.is_special_token(id)
        assert outcome(lambda: OURS.decode_single_token_bytes(id)) == outcome(  # noqa: B023
            lambda: THEIRS.decode_single_token_bytes(id)  # noqa: B023
        )
    with pytest.raises(AssertionError):
        Encoding("small", **SETTINGS, explicit_n_vocab=5)


def test_the_error_for_a_special_token_has_their_words() -> None:
    with pytest.raises(ValueError) as ours:
        OURS.encode("a<|fim|>")
    with pytest.raises(ValueError) as expected:
        THEIRS.encode("a<|fim|>")
    assert str(ours.value) == str(expected.value)


def test_copies_and_pickles_encode_the_same() -> None:
    for again in (pickle.loads(pickle.dumps(OURS)), copy.copy(OURS), copy.deepcopy(OURS)):
        assert again.encode("the cat") == OURS.encode("the cat")
        assert again.name == "small"


def test_names_are_looked_up_in_the_library() -> None:
    from merganser.compat import tiktoken

    assert tiktoken.list_encoding_names() == theirs.list_encoding_names()
    assert tiktoken.encoding_name_for_model("gpt-4o") == theirs.encoding_name_for_model("gpt-4o")
    with pytest.raises(KeyError):
        tiktoken.encoding_name_for_model("gpt-unknown")
    with pytest.raises(ValueError, match="Unknown encoding"):
        tiktoken.get_encoding("unknown")
    with pytest.raises(ValueError, match="Expected a string"):
        tiktoken.get_encoding(3)  # type: ignore[arg-type]
