"""Tokenizer: exact, immutable, and safe with untrusted text."""

import copy
import gc
import json
import pickle
import sys
import threading
import weakref
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import merganser
import numpy as np
import pytest
from corpora import corpus_text
from hypothesis import given
from hypothesis import strategies as st
from merganser import DecodeError, EncodeError, SettingsError, Tokenizer, TokenizerError
from oracle import encode_pretoken
from strategies import CUSTOM_PATTERNS, texts

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

BYTES = {bytes([byte]): byte for byte in range(256)}
CASES = Path(__file__).parents[1] / "cases" / "encode.toml"

TEXT = "the cat sat on the mat; the dog's dinner was the cat's\n\n  naïve café 中文中文 2024 2025 👍👍" * 3
TRAINED = merganser.train([TEXT], 300, special_tokens=["<|endoftext|>", "<|end|>"])
#: Some of these leave text unmatched, some have lookarounds.
CUSTOM = {pattern: merganser.train([TEXT], 262, pattern=pattern) for pattern in CUSTOM_PATTERNS}
RANKS = {tokenizer.pattern: tokenizer.mergeable_ranks for tokenizer in (TRAINED, *CUSTOM.values())}


def cases() -> list[dict[str, object]]:
    return tomllib.loads(CASES.read_text("utf-8"))["case"]


@pytest.mark.parametrize("case", cases(), ids=lambda case: case["name"])
def test_ids_equal_those_in_encode_toml(case: dict[str, list[list[object]]]) -> None:
    ranks = BYTES | {str(token).encode(): 256 + nth for nth, token in enumerate(case["tokens"])}
    # Every case is one pre-token: the pattern matches the whole text.
    tokenizer = Tokenizer(ranks, pattern="(?s).+")
    assert [[*pair, new] for pair, new in tokenizer.merges_as_ids.items()] == case["merges"]
    for pretoken, ids in case["pretokens"]:
        assert tokenizer.encode(str(pretoken)) == ids
        assert tokenizer.decode(ids) == pretoken


@given(texts)
def test_every_text_round_trips(text: str) -> None:
    for tokenizer in (TRAINED, *CUSTOM.values()):
        ids = tokenizer.encode_ordinary(text)
        assert tokenizer.decode(ids) == text
        assert tokenizer.decode_bytes(ids) == text.encode()


@given(texts)
def test_ids_equal_those_of_the_oracle(text: str) -> None:
    for tokenizer in (TRAINED, *CUSTOM.values()):
        ranks = RANKS[tokenizer.pattern]
        pretokens = merganser.split(text, tokenizer.pattern)
        tokens = [token for pretoken in pretokens for token in encode_pretoken(pretoken.encode(), ranks)]
        assert tokenizer.encode_ordinary(text) == [ranks[token] for token in tokens]


def test_ids_of_real_text_equal_those_of_the_oracle() -> None:
    text = corpus_text("frankenstein.txt", 100_000)
    tokenizer = merganser.train([text], 2000)
    ranks = tokenizer.mergeable_ranks
    tokens = [
        token for pretoken in merganser.split(text) for token in encode_pretoken(pretoken.encode(), ranks)
    ]
    assert tokenizer.encode(text) == [ranks[token] for token in tokens]


def test_special_tokens_in_text_are_rejected_unless_allowed() -> None:
    text = "the<|endoftext|> cat"
    special = TRAINED.special_tokens["<|endoftext|>"]
    with pytest.raises(EncodeError, match="endoftext"):
        TRAINED.encode(text)
    with pytest.raises(EncodeError, match="endoftext"):
        TRAINED.encode(text, allowed_special={"<|end|>"})
    expected = [*TRAINED.encode("the"), special, *TRAINED.encode(" cat")]
    assert TRAINED.encode(text, allowed_special="all") == expected
    assert TRAINED.encode(text, allowed_special={"<|endoftext|>"}) == expected
    assert TRAINED.encode(text, disallowed_special=()) == TRAINED.encode_ordinary(text)
    assert special not in TRAINED.encode_ordinary(text)
    with pytest.raises(EncodeError, match="cat"):
        TRAINED.encode("the cat", disallowed_special={"cat"})
    with pytest.raises(EncodeError, match="collection"):
        TRAINED.encode("the cat", allowed_special="<|end|>")


@pytest.mark.parametrize("unknown", [TRAINED.vocab_size, 2**32 - 1, 2**32, 2**70, -1])
def test_unknown_ids_are_an_error(unknown: int) -> None:
    for decode in (TRAINED.decode, TRAINED.decode_bytes):
        with pytest.raises(DecodeError, match="no token with id"):
            decode([65, unknown])


def test_an_incomplete_character_is_an_error_or_is_replaced() -> None:
    with pytest.raises(DecodeError, match="decode_bytes"):
        TRAINED.decode([0xC3])
    assert TRAINED.decode([65, 0xC3], errors="replace") == "A\ufffd"
    assert TRAINED.decode_bytes([0xC3]) == b"\xc3"
    assert TRAINED.decode([65, 0xC3, 66], errors="ignore") == "AB"
    with pytest.raises(DecodeError, match="strict"):
        TRAINED.decode([65], errors="surrogateescape")  # type: ignore[arg-type]


def test_properties_are_consistent() -> None:
    assert len(TRAINED.vocab) == len(TRAINED) == TRAINED.vocab_size == 300
    assert list(TRAINED.vocab.values()) == list(range(300))
    assert TRAINED.vocab == TRAINED.mergeable_ranks | {
        token.encode(): id for token, id in TRAINED.special_tokens.items()
    }
    ranks = TRAINED.mergeable_ranks
    for (left, right), ((left_id, right_id), new) in zip(
        TRAINED.merges, TRAINED.merges_as_ids.items(), strict=True
    ):
        assert (ranks[left], ranks[right], ranks[left + right]) == (left_id, right_id, new)
    assert TRAINED.pattern_name == "gpt4"
    assert "300 tokens" in repr(TRAINED)


def test_pickling_preserves_the_tokenizer() -> None:
    back = pickle.loads(pickle.dumps(TRAINED))
    assert back == TRAINED
    assert hash(back) == hash(TRAINED)
    assert back.merge_counts == TRAINED.merge_counts
    assert back.training == TRAINED.training
    assert back.encode(TEXT) == TRAINED.encode(TEXT)
    gaps = Tokenizer(
        {bytes([byte]): 300 * byte for byte in range(256)} | {b"ab": 7}, special_tokens={"<s>": 8}
    )
    for tokenizer in (CUSTOM[r"\w+"], gaps):
        for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1):
            assert pickle.loads(pickle.dumps(tokenizer, protocol)) == tokenizer


def test_a_pickle_is_little_larger_than_the_tokens() -> None:
    tokenizer = Tokenizer(TRAINED.mergeable_ranks)
    size = sum(len(token) + 2 for token in tokenizer.mergeable_ranks)
    assert len(pickle.dumps(tokenizer)) < size + 200


def test_a_corrupt_pickle_is_rejected() -> None:
    unpickle, (packed, *rest) = TRAINED.__reduce__()
    for corrupt in (packed[:-1], packed[1:], b"", b"\xff" * 99):
        with pytest.raises(TokenizerError):
            unpickle(corrupt, *rest)


def test_copying_returns_the_same_object() -> None:
    assert copy.copy(TRAINED) is TRAINED
    assert copy.deepcopy([TRAINED])[0] is TRAINED


def test_a_tokenizer_is_immutable() -> None:
    for name in ("vocab_size", "pattern", "merges", "merge_counts", "anything"):
        with pytest.raises(AttributeError):
            setattr(TRAINED, name, 1)
    with pytest.raises(TypeError):
        TRAINED.merge_counts[256] = 0  # type: ignore[index]
    for frozen in (TRAINED.mergeable_ranks, TRAINED.vocab, TRAINED.merges):
        with pytest.raises(TypeError, match="modify a copy"):
            frozen.clear()
    assert len(TRAINED.mergeable_ranks) == 298


@pytest.mark.parametrize("name", ["vocab", "mergeable_ranks", "special_tokens", "merges", "merges_as_ids"])
def test_properties_are_built_once(name: str) -> None:
    tokenizer = pickle.loads(pickle.dumps(TRAINED))
    assert tokenizer._cache == {}, "nothing is built before the first access"
    start = threading.Barrier(8)

    def look_up(_: int) -> object:
        start.wait()
        return getattr(tokenizer, name)

    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(look_up, range(8)))
    assert all(each is found[0] for each in found)
    assert getattr(tokenizer, name) is found[0]


def test_tiktoken_and_json_accept_the_frozen_dicts() -> None:
    tiktoken = pytest.importorskip("tiktoken")
    encoding = tiktoken.Encoding(
        "ours",
        pat_str=TRAINED.pattern,
        mergeable_ranks=TRAINED.mergeable_ranks,
        special_tokens=TRAINED.special_tokens,
    )
    assert encoding.encode_ordinary(TEXT) == TRAINED.encode_ordinary(TEXT)
    assert json.loads(json.dumps(TRAINED.special_tokens)) == TRAINED.special_tokens


def test_tokens_and_ids_can_be_looked_up() -> None:
    gaps = Tokenizer(
        {bytes([byte]): 300 * byte for byte in range(256)} | {b"ab": 7}, special_tokens={"<s>": 8, "é": 9}
    )
    for tokenizer in (TRAINED, gaps):
        for token, id in tokenizer.vocab.items():
            assert tokenizer.token_id(token) == id
            assert tokenizer.token_bytes(id) == token
            assert token in tokenizer
            assert id in tokenizer
        for name, id in tokenizer.special_tokens.items():
            assert tokenizer.token_id(name) == id
    assert gaps.token_id("ab") == 7
    for id in (-1, 10, 299, 301, 2**32, 2**64):
        assert id not in gaps
    assert np.int64(300) in gaps
    for token in (b"", b"abc", b"<s", b"\xc3", b"<|s|>"):
        assert (token in gaps) == (token == b"\xc3")


def test_single_tokens_and_bounds_equal_those_of_tiktoken() -> None:
    gaps = Tokenizer(
        {bytes([byte]): 30 * byte for byte in range(256)} | {b"ab": 7}, special_tokens={"<s>": 8, "é": 9}
    )
    for tokenizer in (TRAINED, gaps):
        theirs = tokenizer.to_tiktoken()
        assert tokenizer.n_vocab == theirs.n_vocab
        assert tokenizer.max_token_value == theirs.max_token_value
        for id in range(-1, tokenizer.n_vocab + 2):
            assert tokenizer.is_special_token(id) == theirs.is_special_token(id)
        for token, id in tokenizer.vocab.items():
            assert tokenizer.encode_single_token(token) == theirs.encode_single_token(token) == id
            assert tokenizer.decode_single_token_bytes(id) == theirs.decode_single_token_bytes(id) == token
    assert TRAINED.encode_single_token("<|end|>") == TRAINED.special_tokens["<|end|>"]
    assert TRAINED.eot_token == TRAINED.to_tiktoken().eot_token
    assert not TRAINED.is_special_token(2**70)
    with pytest.raises(EncodeError, match=r"has no special token <\|endoftext\|>; it has <s>, é; look"):
        gaps.eot_token  # noqa: B018
    with pytest.raises(EncodeError, match="it has no special tokens"):
        Tokenizer(BYTES).eot_token  # noqa: B018
    with pytest.raises(EncodeError, match="not a token"):
        TRAINED.encode_single_token("the cat sat")
    with pytest.raises(DecodeError, match="no token with id 400"):
        TRAINED.decode_single_token_bytes(400)
    with pytest.raises(TypeError, match="an id must be an int, not str; look names up in special_tokens"):
        TRAINED.is_special_token("<|end|>")  # type: ignore[arg-type]


def test_weak_references_do_not_keep_objects_alive() -> None:
    tokenizer = merganser.train(["low lower"], 258)
    objects = [
        tokenizer,
        merganser.StreamDecoder(tokenizer),
        tokenizer.incremental(),
        merganser.count(["low lower"]),
    ]
    references = [weakref.ref(each) for each in objects]
    assert [reference() for reference in references] == objects
    cache = weakref.WeakKeyDictionary({tokenizer: "kept"})
    assert cache[tokenizer] == "kept"
    del tokenizer, objects
    gc.collect()
    assert [reference() for reference in references] == [None] * 4
    assert not cache


def test_looking_up_a_token_builds_nothing() -> None:
    tokenizer = pickle.loads(pickle.dumps(TRAINED))
    assert tokenizer.token_id(b"a") == 97
    assert b"zzz" not in tokenizer
    assert 97 in tokenizer
    assert tokenizer._cache == {}


def test_looking_up_an_unknown_token_is_an_error_with_a_remedy() -> None:
    for token in (b"\xff\xfe", "the cat sat", "", b""):
        with pytest.raises(EncodeError, match="not a token of this tokenizer; call encode"):
            TRAINED.token_id(token)
    for wrong in (97, None, bytearray(b"a"), ["a"]):
        with pytest.raises(TypeError, match="a token must be bytes or str, got"):
            TRAINED.token_id(wrong)  # type: ignore[arg-type]
    for wrong in ("a", None, 1.0, bytearray(b"a"), [1]):
        with pytest.raises(TypeError, match=r"an id \(int\) or a token \(bytes\), not"):
            wrong in TRAINED  # type: ignore[operator]  # noqa: B015


def test_different_tokenizers_are_not_equal() -> None:
    same = Tokenizer(TRAINED.mergeable_ranks, special_tokens=TRAINED.special_tokens)
    assert same == TRAINED
    assert Tokenizer(TRAINED.mergeable_ranks) != TRAINED
    assert Tokenizer(BYTES) != Tokenizer(BYTES, pattern="gpt2")
    assert TRAINED != "a tokenizer"


@pytest.mark.parametrize(
    ("ranks", "specials"),
    [
        ({b"a": 0}, {}),
        (BYTES | {b"ab": 255}, {}),
        (BYTES | {b"": 256}, {}),
        (BYTES | {b"ab": 2**31}, {}),
        (BYTES, {"<s>": 255}),
    ],
)
def test_invalid_ranks_are_rejected(ranks: dict[bytes, int], specials: dict[str, int]) -> None:
    with pytest.raises(TokenizerError):
        Tokenizer(ranks, special_tokens=specials)


@pytest.mark.parametrize("special", ["", "a"])
def test_invalid_special_tokens_are_rejected(special: str) -> None:
    with pytest.raises(SettingsError):
        Tokenizer(BYTES, special_tokens={special: 256})


@pytest.mark.parametrize("size", [-1, 0, 257, 301])
def test_truncation_to_an_impossible_size_is_rejected(size: int) -> None:
    with pytest.raises(SettingsError):
        TRAINED.truncated(size)


@given(st.lists(st.integers(0, 299), max_size=30))
def test_any_ids_decode_to_their_bytes(ids: list[int]) -> None:
    token = {id: token for token, id in TRAINED.vocab.items()}
    assert TRAINED.decode_bytes(ids) == b"".join(token[id] for id in ids)
    assert TRAINED.decode(ids, errors="replace") == TRAINED.decode_bytes(iter(ids)).decode("utf-8", "replace")


def test_lone_surrogates_in_names_and_patterns_are_rejected() -> None:
    for settings in ({"special_tokens": {"<\ud800>": 256}}, {"pattern": "\ud800"}):
        with pytest.raises(merganser.TokenizerError, match="contains a lone surrogate; remove it"):
            Tokenizer({bytes([byte]): byte for byte in range(256)}, **settings)
