"""Tokenizers from a vocabulary and merges in memory: ids and the order of merges are kept."""

import random
from typing import Any

import merganser
import pytest
import regex
from hypothesis import given
from hypothesis import strategies as st
from merganser import Tokenizer, TokenizerError
from merganser.formats.gpt2 import to_printable
from oracle import encode_with_merges
from strategies import texts
from tokenizers import Tokenizer as TheirTokenizer
from tokenizers import models, pre_tokenizers

TEXT = "the cat sat on the mat; the dog's dinner was the cat's  naïve café 中文中文 2024 👍👍" * 3
TRAINED = merganser.train([TEXT], 300, pattern="gpt2", special_tokens=["<|endoftext|>"])
BYTES = {byte: bytes([byte]) for byte in range(256)}
GPT2 = merganser.Counts({}, pattern="gpt2").pattern


def shuffled(seed: int) -> tuple[dict[int, bytes], list[tuple[bytes, bytes]]]:
    """The trained merges in order, with random ids."""
    tokens = [*TRAINED.mergeable_ranks, b"<|endoftext|>"]
    numbers = random.Random(seed).sample(range(2 * len(tokens)), len(tokens))
    return dict(zip(numbers, tokens, strict=True)), list(TRAINED.merges)


def test_a_plain_vocabulary_gives_a_plain_tokenizer() -> None:
    by_id = {id: token for token, id in TRAINED.vocab.items()}
    by_name = {to_printable(token): id for token, id in TRAINED.mergeable_ranks.items()}
    names = [" ".join(map(to_printable, pair)) for pair in TRAINED.merges]
    for vocab, merges in (
        (by_id, TRAINED.merges),
        (TRAINED.vocab, iter(TRAINED.merges)),
        (by_name | {"<|endoftext|>": 299}, ["#version: 0.2", *names]),
        (by_name, [tuple(name.split(" ")) for name in names]),
    ):
        built = Tokenizer.from_vocab_and_merges(
            vocab,  # type: ignore[arg-type]
            merges,  # type: ignore[arg-type]
            special_tokens=["<|endoftext|>"],
            pattern="gpt2",
        )
        assert built == TRAINED
        assert not built.has_stages


@pytest.mark.parametrize("seed", range(3))
def test_ids_and_the_order_of_merges_are_kept(seed: int) -> None:
    vocab, merges = shuffled(seed)
    ids = {token: id for id, token in vocab.items()}
    built = Tokenizer.from_vocab_and_merges(vocab, merges, special_tokens=["<|endoftext|>"], pattern="gpt2")
    assert built.special_tokens == {"<|endoftext|>": ids[b"<|endoftext|>"]}
    assert {id: built.token_bytes(id) for id in vocab} == vocab
    ranks = {pair: rank for rank, pair in enumerate(merges)}

    @given(texts)
    def check(text: str) -> None:
        expected = [
            ids[token]
            for pretoken in regex.findall(GPT2, text)
            for token in encode_with_merges(pretoken.encode(), ranks)
        ]
        encoded = built.encode_ordinary(text)
        assert encoded == expected
        assert built.decode(encoded) == text

    check()
    assert built.encode("the<|endoftext|>", allowed_special="all")[-1] == ids[b"<|endoftext|>"]


@given(texts, st.integers(0, 5))
def test_merges_in_another_order_equal_those_of_hugging_face(text: str, seed: int) -> None:
    vocab, merges = shuffled(seed)
    order = random.Random(seed).sample(merges, len(merges))
    spelled = {to_printable(token): id for id, token in vocab.items()}
    pairs = [(to_printable(left), to_printable(right)) for left, right in order]
    ours = Tokenizer.from_vocab_and_merges(spelled, pairs, pattern="gpt2")
    theirs = TheirTokenizer(models.BPE(vocab=spelled, merges=pairs))
    theirs.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    assert ours.encode_ordinary(text) == theirs.encode(text, add_special_tokens=False).ids


def test_tokens_that_no_merge_produces_are_only_decoded() -> None:
    vocab = {**BYTES, 256: b"lo", 257: b"low", 258: b"<pad>"}
    built = Tokenizer.from_vocab_and_merges(vocab, [(b"l", b"o")])
    assert built.encode("low <pad>") == [256, *b"w <pad>"]
    assert built.decode([257, 258]) == "low<pad>"
    assert built.special_tokens == {}


def test_special_tokens_get_the_next_ids_or_those_given() -> None:
    vocab = {**BYTES, 256: b"<a>", 300: b"ab"}
    merges = [(b"a", b"b")]
    built = Tokenizer.from_vocab_and_merges(vocab, merges, special_tokens=["<b>", "<a>", "<c>"])
    assert built.special_tokens == {"<a>": 256, "<b>": 301, "<c>": 302}
    built = Tokenizer.from_vocab_and_merges(vocab, merges, special_tokens={"<a>": 256, "<b>": 999})
    assert built.special_tokens == {"<a>": 256, "<b>": 999}
    assert built.encode("ab<b>", allowed_special="all") == [300, 999]


@pytest.mark.parametrize(
    ("vocab", "merges", "specials", "message"),
    [
        ({0: b"a"}, [], None, r"lacks 255 of the 256 single bytes, the first of them b'\\x00'; add"),
        ({**BYTES, 256: "x"}, [], None, r"must map ids to bytes.*got 256: 'x'"),
        ({**BYTES, -1: b"xy"}, [], None, r"not negative, got -1: b'xy'"),
        ({**BYTES, 256: b""}, [], None, "an empty token, with the id 256"),
        ({**BYTES, 256: b"a"}, [], None, r"gives the token b'a' two ids, 97 and 256"),
        ({bytes([b]): b for b in range(256)} | {b"ab": 5}, [], None, r"the id 5 to both b'\\x05' and b'ab'"),
        (BYTES, [(b"a", b"b")], None, r"number 0 \(from 0\) joins b'a' and b'b', but b'ab' is not a token"),
        ({**BYTES, 256: b"ab"}, [(b"a", b"b")] * 2, None, "listed twice, as number 0 and 1"),
        ({**BYTES, 256: b"ab"}, [(b"a", b"b", b"c")], None, "must be two tokens, but number 0"),
        ({**BYTES, 256: b"ab"}, ["a"], None, "must be two tokens, but number 0"),
        ({**BYTES, 256: b"ab"}, [(1, 2)], None, "has 1, which is neither bytes nor str"),
        (BYTES, ["a 中"], None, "'中' does not spell a byte in GPT-2's alphabet"),
        ({"中": 5}, [], None, "vocab has the token '中', in which"),
        (BYTES, [], "<s>", r"in a list: special_tokens=\['<s>'\]"),
        (BYTES, [], [""], "at least one character, got ''"),
        (BYTES, [], {"<s>": 5}, r"'<s>' has the id 5, which b'\\x05' has"),
        ({**BYTES, 256: b"<s>"}, [], {"<s>": 257}, "has the id 256 in vocab, but 257 in special_tokens"),
    ],
)
def test_a_wrong_vocabulary_is_an_error_that_says_what_is_wrong(
    vocab: Any, merges: Any, specials: Any, message: str
) -> None:
    with pytest.raises(TokenizerError, match=message):
        Tokenizer.from_vocab_and_merges(vocab, merges, special_tokens=specials)


def test_a_wrong_pattern_is_a_pattern_error() -> None:
    for vocab in (BYTES, {**BYTES, 300: b"ab"}):
        with pytest.raises(merganser.PatternError):
            Tokenizer.from_vocab_and_merges(vocab, [], pattern="(")
