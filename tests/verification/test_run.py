"""Verification: live peers give the same ids, and the first difference is told as it is."""

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
from merganser.verification.parting import merges_of
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


# ── the same ──────────────────────────────────────────────────────────────────


@given(st.lists(texts.filter(bool), min_size=1))
def test_every_library_gives_the_same_ids(documents: list[str]) -> None:
    for peer in LIVE:
        found = merganser.verify(TRAINED_HERE, peer, on=documents, separator=None)
        assert found and found.same and found.difference is None
        assert found.documents == len(documents)
        assert found.bytes == sum(len(document.encode()) for document in documents)
        assert found.tokens == sum(len(TRAINED_HERE.encode_ordinary(document)) for document in documents)


@pytest.mark.parametrize("pattern", TRAINED)
def test_every_pattern_survives_the_adversarial_set(pattern: str) -> None:
    tokenizer = TRAINED[pattern]
    verify_export(tokenizer, {"tiktoken": tokenizer.to_tiktoken(), "hf": tokenizer.to_huggingface()}, [TEXT])


@pytest.mark.parametrize("name", vocabs.OPENAI)
def test_a_known_encoding_is_tiktokens(name: str) -> None:
    assert merganser.verify(vocabs.ours(name), vocabs.theirs(name), on=list(TEXTS), separator=None)


def test_special_tokens_are_text_but_to_hugging_face() -> None:
    on = ["a<s>b<|end|>", "<s", "<|end|><|end|>"]
    ordinary, both = LIVE[0], LIVE[1:]
    plain = sum(len(TRAINED_HERE.encode_ordinary(text)) for text in on)
    special = sum(len(TRAINED_HERE.encode(text, allowed_special="all")) for text in on)
    assert special < plain
    assert merganser.verify(TRAINED_HERE, ordinary, on=on).tokens == plain
    for peer in both:
        assert merganser.verify(TRAINED_HERE, peer, on=on).tokens == special
        assert merganser.verify(ordinary, peer, on=on).tokens == special


def test_a_corpus_can_be_anything(tmp_path: Path) -> None:
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


def test_files_and_folders_are_opened(tmp_path: Path) -> None:
    TRAINED_HERE.save(tmp_path / "a.merganser")
    TRAINED_HERE.export(tmp_path / "hf", format="huggingface")
    assert merganser.verify(tmp_path / "a.merganser", tmp_path / "hf", on=[TEXT])


def test_bytes_that_are_no_text_are_read_as_such() -> None:
    found = merganser.verify(TRAINED_HERE, LIVE[0], on=[b"the \xff cat"])
    assert found.same and found.bytes == len("the � cat".encode())


# ── different ─────────────────────────────────────────────────────────────────


@st.composite
def swapped(draw: st.DrawFn) -> tuple[merganser.Tokenizer, merganser.Tokenizer, bytes, bytes]:
    """Two tokenizers, the second with two merges in the other order, neither of which needs the other."""
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
def test_a_swapped_merge_is_the_one_that_is_told(
    pair: tuple[merganser.Tokenizer, merganser.Tokenizer, bytes, bytes], kind: str
) -> None:
    a, b, one, other = pair
    found = merganser.verify(a, b if kind == "ours" else b.to_tiktoken(), on=[TEXT])
    parted = found.difference
    if parted is None:
        assert a.encode(TEXT) == b.encode(TEXT)
        return
    assert parted.reason in ("ids", "merges")
    assert TEXT.encode()[parted.offset :].startswith(parted.pretoken.encode())
    assert a.encode(TEXT) != b.encode(TEXT)
    assert list(parted.a.ids) == a.encode(parted.pretoken)
    assert list(parted.b.ids) == b.encode(parted.pretoken)
    made = {b"".join(merge) for merge in (parted.a.merge, parted.b.merge) if merge}
    assert made & {one, other}
    if parted.reason == "merges":
        steps = merges_of(parted.pretoken.encode(), a)[0], merges_of(parted.pretoken.encode(), b)[0]
        assert parted.step is not None
        assert steps[0][: parted.step] == steps[1][: parted.step]
        assert parted.a.merge != parted.b.merge


def test_the_merge_where_they_part() -> None:
    a = merganser.Tokenizer(BYTES | {b"ab": 256, b"bc": 257, b"abc": 258})
    b = merganser.Tokenizer(BYTES | {b"bc": 256, b"ab": 257, b"abc": 258})
    assert merganser.verify(a, b, on=["abc"]).same  # 258 for both, by other merges
    parted = merganser.verify(a, b, on=["xyz", "a", "  bab"]).difference
    assert parted is not None
    assert (parted.document, parted.offset, parted.pretoken) == (2, 1, " bab")
    assert parted.reason == "ids"
    assert parted.a.merge == parted.b.merge == (b"a", b"b")
    assert (parted.a.ids, parted.b.ids) == ((32, 98, 256), (32, 98, 257))
    with pytest.raises(FrozenInstanceError):
        parted.document = 1  # type: ignore[misc]


def test_other_merges_of_the_same_pretoken() -> None:
    a = merganser.Tokenizer(BYTES | {b"ab": 256, b"cd": 258})
    b = merganser.Tokenizer(BYTES | {b"bc": 257, b"cd": 258})
    parted = merganser.verify(a, b, on=["cd xabcx"]).difference
    assert parted is not None
    assert (parted.reason, parted.step, parted.offset, parted.pretoken) == ("merges", 0, 2, " xabcx")
    assert (parted.a.merge, parted.b.merge) == ((b"a", b"b"), (b"b", b"c"))
    assert parted.a.tokens == (b" ", b"x", b"ab", b"c", b"x")
    assert parted.b.tokens == (b" ", b"x", b"a", b"bc", b"x")


def test_a_token_that_is_taken_whole() -> None:
    whole = merganser.Tokenizer(BYTES | {b"abcd": 256})
    parted = merganser.verify(whole, merganser.Tokenizer(BYTES), on=["abcd"]).difference
    assert parted is not None
    assert (parted.a.merge, parted.b.merge, parted.step) == ((b"abcd",), None, 0)


def test_the_split_differs() -> None:
    a = merganser.Tokenizer(BYTES | {b"12": 256, b"34": 257, b"4x": 300}, pattern="gpt2")
    b = merganser.Tokenizer(BYTES | {b"12": 256, b"34": 257, b"4x": 300}, pattern=r"\d{1,3}|[^\d]+")
    for other in (b, b.to_tiktoken(), b.to_huggingface()):
        parted = merganser.verify(a, other, on=["é 1234x", "y"]).difference
        assert parted is not None
        assert parted.reason == "split"
        assert (parted.a.merge, parted.step) == (None, None)
        assert "".join(parted.a.pretokens) == "".join(parted.b.pretokens) == parted.pretoken
        assert "é 1234x".encode()[parted.offset :].startswith(parted.pretoken.encode())
    assert parted.a.pretokens != parted.b.pretokens


def test_a_special_token_to_one_only() -> None:
    without = merganser.Tokenizer(TRAINED_HERE.mergeable_ranks)
    parted = merganser.verify(without, LIVE[1], on=["the", "the<s> cat"]).difference
    assert parted is not None
    assert (parted.reason, parted.document, parted.offset, parted.pretoken) == ("special", 1, 3, "<s>")
    assert parted.b.tokens == (b"<s>",)
    assert b"".join(parted.a.tokens) == b"<s>"


def test_what_we_cannot_read_is_compared_all_the_same() -> None:
    peer = tokenizers.Tokenizer.from_str(TRAINED_HERE.to_huggingface().to_str())
    peer.normalizer = normalizers.Lowercase()
    assert merganser.verify(TRAINED_HERE, peer, on=["the cat"])
    parted = merganser.verify(TRAINED_HERE, peer, on=["the cat", "the Cat"]).difference
    assert parted is not None
    assert (parted.reason, parted.document) == ("unknown", 1)
    words = tokenizers.Tokenizer(models.WordLevel({"the": 0, "cat": 1, "?": 2}, unk_token="?"))
    words.pre_tokenizer = pre_tokenizers.Whitespace()
    parted = merganser.verify(words, TRAINED_HERE, on=["the cat"]).difference
    assert parted is not None and parted.reason == "unknown" and parted.a.ids[:1] == (0,)


def test_text_that_tiktoken_drops_is_a_difference() -> None:
    encoding = tiktoken.Encoding("words", pat_str=r"\w+", mergeable_ranks=BYTES, special_tokens={})
    ours = merganser.Tokenizer(BYTES, pattern=r"\w+")
    parted = merganser.verify(ours, encoding, on=["ab cd"]).difference
    assert parted is not None
    assert (parted.reason, parted.offset) == ("unknown", 2)


@given(texts.filter(bool))
def test_merges_lead_to_the_tokens(text: str) -> None:
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


def test_what_is_no_corpus_or_no_tokenizer_is_an_error(tmp_path: Path) -> None:
    merganser.count([TEXT]).save(tmp_path / "a.counts")
    for on, message in ((tmp_path / "a.counts", "holds counts"), ([""], "no text"), ([1], "str or bytes")):
        with pytest.raises(merganser.CorpusError, match=message):
            merganser.verify(TRAINED_HERE, TRAINED_HERE, on=on)
    with pytest.raises(merganser.CorpusError, match="lone surrogate at position 1"):
        merganser.verify(TRAINED_HERE, TRAINED_HERE, on=["a\ud800"])
    with pytest.raises(merganser.TokenizerError):
        merganser.verify(TRAINED_HERE, 3, on=["a"])


def test_a_broken_record_is_skipped_if_asked(tmp_path: Path) -> None:
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
