"""Verification: live peers produce the same ids, and the first difference is explained correctly."""

import gzip
import json
import sys
from dataclasses import FrozenInstanceError
from pathlib import Path

import merganser
import processes
import pytest
import tiktoken
import tokenizers
import vocabs
from exported import TRAINED
from hypothesis import given
from hypothesis import strategies as st
from merganser.verification import verify_export
from merganser.verification.adversarial import TEXTS
from merganser.verification.differences import merges_of
from strategies import texts
from tokenizers import models, normalizers, pre_tokenizers

TEXT = "the cat sat on the mat; the dog's dinner was the cat's\n\n  naïve café 中文中文 2024 2025 👍👍" * 3
SPECIALS = ["<s>", "<|end|>"]
TRAINED_HERE = merganser.train([TEXT], 300, special_tokens=SPECIALS)
BYTES = {bytes([byte]): byte for byte in range(256)}


def fast(tokenizer: merganser.Tokenizer) -> object:
    from transformers import PreTrainedTokenizerFast

    return PreTrainedTokenizerFast(tokenizer_object=tokenizer.to_huggingface())


def live(tokenizer: merganser.Tokenizer) -> list[object]:
    return [tokenizer.to_tiktoken(), tokenizer.to_huggingface(), fast(tokenizer)]


LIVE = live(TRAINED_HERE)


# ── equal ids ─────────────────────────────────────────────────────────────────


@given(st.lists(texts.filter(bool), min_size=1))
def test_every_library_produces_the_same_ids(documents: list[str]) -> None:
    for peer in LIVE:
        found = merganser.verify(TRAINED_HERE, peer, on=documents, separator=None)
        assert found and found.same and found.difference is None
        assert found.documents == len(documents)
        assert found.bytes == sum(len(document.encode()) for document in documents)
        if isinstance(peer, tiktoken.Encoding):
            ids = list(map(TRAINED_HERE.encode_ordinary, documents))
        else:  # Hugging Face tokenizers recognize special tokens in every text
            ids = TRAINED_HERE.encode_batch(documents, allowed_special="all")
        assert found.tokens == sum(map(len, ids))


@pytest.mark.parametrize("pattern", TRAINED)
def test_every_pattern_passes_the_adversarial_texts(pattern: str) -> None:
    tokenizer = TRAINED[pattern]
    verify_export(tokenizer, {"tiktoken": tokenizer.to_tiktoken(), "hf": tokenizer.to_huggingface()}, [TEXT])


@pytest.mark.parametrize("name", vocabs.OPENAI)
def test_openai_vocabularies_match_tiktoken(name: str) -> None:
    assert merganser.verify(vocabs.ours(name), vocabs.theirs(name), on=list(TEXTS), separator=None)


def test_special_tokens_are_text_unless_a_side_is_hugging_face() -> None:
    on = ["a<s>b<|end|>", "<s", "<|end|><|end|>"]
    ordinary, both = LIVE[0], LIVE[1:]
    plain = sum(len(TRAINED_HERE.encode_ordinary(text)) for text in on)
    special = sum(len(TRAINED_HERE.encode(text, allowed_special="all")) for text in on)
    assert special < plain
    assert merganser.verify(TRAINED_HERE, ordinary, on=on).tokens == plain
    for peer in both:
        assert merganser.verify(TRAINED_HERE, peer, on=on).tokens == special
        assert merganser.verify(ordinary, peer, on=on).tokens == special


def test_every_kind_of_corpus_is_accepted(tmp_path: Path) -> None:
    documents = ["the cat", "naïve café 中文", "2024\n"]
    (tmp_path / "a.txt").write_text("<|endoftext|>".join(documents), "utf-8")
    lines = "".join(json.dumps({"text": text}) + "\n" for text in documents)
    (tmp_path / "b.jsonl.gz").write_bytes(gzip.compress(lines.encode()))
    expected = merganser.verify(TRAINED_HERE, LIVE[0], on=documents)
    assert expected.documents == 3
    for on in (tmp_path / "a.txt", tmp_path / "b.jsonl.gz", [tmp_path / "a.txt"]):
        assert merganser.verify(TRAINED_HERE, LIVE[0], on=on) == expected
    found = merganser.verify(TRAINED_HERE, LIVE[0], on=tmp_path)
    assert (found.documents, found.tokens) == (6, 2 * expected.tokens)


def test_paths_are_loaded(tmp_path: Path) -> None:
    TRAINED_HERE.save(tmp_path / "a.merganser")
    TRAINED_HERE.export(tmp_path / "hf", format="huggingface")
    assert merganser.verify(tmp_path / "a.merganser", tmp_path / "hf", on=[TEXT])


def test_invalid_bytes_are_read_as_replacement_characters() -> None:
    found = merganser.verify(TRAINED_HERE, LIVE[0], on=[b"the \xff cat"])
    assert found.same and found.bytes == len("the � cat".encode())


# ── different ids ─────────────────────────────────────────────────────────────


@st.composite
def swapped(draw: st.DrawFn) -> tuple[merganser.Tokenizer, merganser.Tokenizer, bytes, bytes]:
    """Draw two tokenizers, the second with two independent merges swapped."""
    merges = TRAINED_HERE.merges
    first = draw(st.integers(0, len(merges) - 2))
    second = draw(st.integers(first + 1, len(merges) - 1))
    one, other = (merges[n][0] + merges[n][1] for n in (first, second))
    ranks = TRAINED_HERE.mergeable_ranks
    other_ranks = ranks | {one: ranks[other], other: ranks[one]}
    try:
        tokenizer = merganser.Tokenizer(other_ranks)
        a = merganser.Tokenizer(ranks)
    except merganser.TokenizerError:
        from hypothesis import reject

        reject()
    return a, tokenizer, one, other


@given(swapped(), st.sampled_from(["ours", "tiktoken"]))
def test_a_swapped_merge_is_reported(
    pair: tuple[merganser.Tokenizer, merganser.Tokenizer, bytes, bytes], kind: str
) -> None:
    a, b, one, other = pair
    found = merganser.verify(a, b if kind == "ours" else b.to_tiktoken(), on=[TEXT])
    difference = found.difference
    if difference is None:
        assert a.encode(TEXT) == b.encode(TEXT)
        return
    assert difference.reason in ("ids", "merges")
    assert TEXT.encode()[difference.offset :].startswith(difference.pretoken.encode())
    assert a.encode(TEXT) != b.encode(TEXT)
    assert list(difference.a.ids) == a.encode(difference.pretoken)
    assert list(difference.b.ids) == b.encode(difference.pretoken)
    produced = {b"".join(merge) for merge in (difference.a.merge, difference.b.merge) if merge}
    assert produced & {one, other}
    if difference.reason == "merges":
        steps = merges_of(difference.pretoken.encode(), a)[0], merges_of(difference.pretoken.encode(), b)[0]
        assert difference.step is not None
        assert steps[0][: difference.step] == steps[1][: difference.step]
        assert difference.a.merge != difference.b.merge


def test_the_merge_with_another_id_is_reported() -> None:
    a = merganser.Tokenizer(BYTES | {b"ab": 256, b"bc": 257, b"abc": 258})
    b = merganser.Tokenizer(BYTES | {b"bc": 256, b"ab": 257, b"abc": 258})
    assert merganser.verify(a, b, on=["abc"]).same  # 258 for both, by different merges
    difference = merganser.verify(a, b, on=["xyz", "a", "  bab"]).difference
    assert difference is not None
    assert (difference.document, difference.offset, difference.pretoken) == (2, 1, " bab")
    assert difference.reason == "ids"
    assert difference.a.merge == difference.b.merge == (b"a", b"b")
    assert (difference.a.ids, difference.b.ids) == ((32, 98, 256), (32, 98, 257))
    with pytest.raises(FrozenInstanceError):
        difference.document = 1  # type: ignore[misc]


def test_different_merges_of_the_same_pretoken_are_reported() -> None:
    a = merganser.Tokenizer(BYTES | {b"ab": 256, b"cd": 258})
    b = merganser.Tokenizer(BYTES | {b"bc": 257, b"cd": 258})
    difference = merganser.verify(a, b, on=["cd xabcx"]).difference
    assert difference is not None
    assert (difference.reason, difference.step, difference.offset, difference.pretoken) == (
        "merges",
        0,
        2,
        " xabcx",
    )
    assert (difference.a.merge, difference.b.merge) == ((b"a", b"b"), (b"b", b"c"))
    assert difference.a.tokens == (b" ", b"x", b"ab", b"c", b"x")
    assert difference.b.tokens == (b" ", b"x", b"a", b"bc", b"x")


def test_a_token_that_is_kept_whole_is_reported() -> None:
    whole = merganser.Tokenizer(BYTES | {b"abcd": 256})
    difference = merganser.verify(whole, merganser.Tokenizer(BYTES), on=["abcd"]).difference
    assert difference is not None
    assert (difference.a.merge, difference.b.merge, difference.step) == ((b"abcd",), None, 0)


def test_a_different_split_is_reported() -> None:
    a = merganser.Tokenizer(BYTES | {b"12": 256, b"34": 257, b"4x": 300}, pattern="gpt2")
    b = merganser.Tokenizer(BYTES | {b"12": 256, b"34": 257, b"4x": 300}, pattern=r"\d{1,3}|[^\d]+")
    for other in (b, b.to_tiktoken(), b.to_huggingface()):
        difference = merganser.verify(a, other, on=["é 1234x", "y"]).difference
        assert difference is not None
        assert difference.reason == "split"
        assert (difference.a.merge, difference.step) == (None, None)
        assert "".join(difference.a.pretokens) == "".join(difference.b.pretokens) == difference.pretoken
        assert "é 1234x".encode()[difference.offset :].startswith(difference.pretoken.encode())
    assert difference.a.pretokens != difference.b.pretokens


def test_a_special_token_of_only_one_side_is_reported() -> None:
    without = merganser.Tokenizer(TRAINED_HERE.mergeable_ranks)
    difference = merganser.verify(without, LIVE[1], on=["the", "the<s> cat"]).difference
    assert difference is not None
    assert (difference.reason, difference.document, difference.offset, difference.pretoken) == (
        "special",
        1,
        3,
        "<s>",
    )
    assert difference.b.tokens == (b"<s>",)
    assert b"".join(difference.a.tokens) == b"<s>"


def test_peers_that_cannot_be_represented_are_compared() -> None:
    peer = tokenizers.Tokenizer.from_str(TRAINED_HERE.to_huggingface().to_str())
    peer.normalizer = normalizers.Lowercase()
    assert merganser.verify(TRAINED_HERE, peer, on=["the cat"])
    difference = merganser.verify(TRAINED_HERE, peer, on=["the cat", "the Cat"]).difference
    assert difference is not None
    assert (difference.reason, difference.document) == ("unknown", 1)
    words = tokenizers.Tokenizer(models.WordLevel({"the": 0, "cat": 1, "?": 2}, unk_token="?"))
    words.pre_tokenizer = pre_tokenizers.Whitespace()
    difference = merganser.verify(words, TRAINED_HERE, on=["the cat"]).difference
    assert difference is not None and difference.reason == "unknown" and difference.a.ids[:1] == (0,)


def test_text_dropped_by_tiktoken_is_reported() -> None:
    encoding = tiktoken.Encoding("words", pat_str=r"\w+", mergeable_ranks=BYTES, special_tokens={})
    ours = merganser.Tokenizer(BYTES, pattern=r"\w+")
    difference = merganser.verify(ours, encoding, on=["ab cd"]).difference
    assert difference is not None
    assert (difference.reason, difference.offset) == ("unknown", 2)


@given(texts.filter(bool))
def test_replayed_merges_produce_the_tokens(text: str) -> None:
    for pretoken in merganser.split(text):
        tokens = [TRAINED_HERE.token_bytes(id) for id in TRAINED_HERE.encode_ordinary(pretoken)]
        merges, made = merges_of(pretoken.encode(), TRAINED_HERE)
        if len(merganser.split(pretoken)) == 1:
            assert made == tokens
            assert len(merges) == len(pretoken.encode()) - len(tokens)


# ── errors ────────────────────────────────────────────────────────────────────


def test_a_peer_that_fails_is_named_with_the_document() -> None:
    encoding = tiktoken.Encoding(
        "deep", pat_str=r"\s+(?!\S)|\s+|\S", mergeable_ranks=BYTES, special_tokens={}
    )
    ours = merganser.load(encoding)
    with pytest.raises(merganser.EncodeError, match=r"Tiktoken fails on document 1 \(1,000,001 bytes\)"):
        merganser.verify(ours, encoding, on=["b", " " * 1_000_000 + "a"])


def test_invalid_corpora_and_tokenizers_are_refused(tmp_path: Path) -> None:
    merganser.count([TEXT]).save(tmp_path / "a.counts")
    for on, message in (
        (tmp_path / "a.counts", "holds counts"),
        ([""], "contains no text; check the path"),
        ([1], "str or bytes"),
    ):
        with pytest.raises(merganser.CorpusError, match=message):
            merganser.verify(TRAINED_HERE, TRAINED_HERE, on=on)
    with pytest.raises(merganser.CorpusError, match="lone surrogate at position 1"):
        merganser.verify(TRAINED_HERE, TRAINED_HERE, on=["a\ud800"])
    with pytest.raises(merganser.TokenizerError):
        merganser.verify(TRAINED_HERE, 3, on=["a"])


def test_an_invalid_record_is_skipped_on_request(tmp_path: Path) -> None:
    file = tmp_path / "a.jsonl"
    file.write_text('{"text": "the cat"}\nnot JSON\n{"text": "sat"}\n')
    with pytest.raises(merganser.CorpusError, match=r"a\.jsonl"):
        merganser.verify(TRAINED_HERE, LIVE[0], on=file)
    with pytest.warns(merganser.MerganserWarning, match="skipped 1 record"):
        assert merganser.verify(TRAINED_HERE, LIVE[0], on=file, on_error="skip").documents == 2


def test_verifying_needs_no_other_library() -> None:

    script = (
        "import sys, merganser\n"
        "for name in ('tiktoken', 'tokenizers', 'transformers'): sys.modules[name] = None\n"
        "a = merganser.train(['low lower lowest'] * 9, 260)\n"
        "assert merganser.verify(a, a, on=['low'])"
    )
    processes.run([sys.executable, "-W", "error", "-c", script], check=True)
