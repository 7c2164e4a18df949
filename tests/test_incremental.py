"""A text that grows, shrinks and forks has the ids of the whole text, for every kind of tokenizer."""

import copy
import json
import threading
import tracemalloc
import warnings
import weakref
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import merganser
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from merganser import ArgumentError, Characters, EncodeError, IncrementalEncoder, Tokenizer
from owners import TOKENIZERS

SPECIAL = ["<|user|>", "<|end|>", "<|end|>x"]
TEXT = (
    "The quick brown fox's jumps, over 1234 lazy dogs.\n\n  And then: naïve cafés — 中文，文字。 "
    "def f(x):\n\treturn x ** 2  # ﬁne\r\n"
)
PATTERNS = [
    *merganser.preset_names(),
    r"[a-z]+(?=\s)|\w|\s+(?!\S)|\s|.",
    r"(?s:.{1,9})",
    r"(?<=a)b|\w+|\s+",
    r"[^ ]+ *| +",
]
#: Folders of real tokenizers; those that are there are used.
REAL = [
    "claude-2",
    "clip-vit-base",
    "deepseek-v4",
    "falcon",
    "gemma-3",
    "gpt-neox-20b",
    "llama-2",
    "llama-3.1-8b-instruct",
    "mistral-7b-v0.1",
    "mistral-7b-v0.3",
    "phi-3-mini",
    "qwen3",
    "roberta-base",
    "spm-test-bpe",
]


@cache
def bytes_level(pattern: str) -> Tokenizer:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # some patterns leave fewer pairs
        return merganser.train([TEXT] * 3, 330, pattern=pattern, special_tokens=SPECIAL)


#: What characters are trained with, and the normalizer.
CHARACTERS: dict[str, tuple[Characters, str | None]] = {
    "sentencepiece": (Characters(), None),
    "nfkc": (Characters(byte_fallback=True, user_defined=("fox", "=")), "nmt_nfkc"),
    "unknown": (Characters(character_coverage=0.9, split_digits=True), "identity"),
    "words": (Characters(word_mark="</w>"), None),
}


@cache
def characters(kind: str = "sentencepiece") -> Tokenizer:
    corpus = [TEXT, "low lower lowest the the of of of 中文中文"] * 3
    unit, normalizer = CHARACTERS[kind]
    size = 420 if unit.byte_fallback else 120
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return merganser.train(corpus, size, unit=unit, normalizer=normalizer, special_tokens=SPECIAL)


@cache
def real(name: str) -> Tokenizer:
    return merganser.load(TOKENIZERS / name)


PIECES = st.sampled_from(
    [
        *TEXT.split(" "),
        " ",
        "  ",
        "\n",
        "'s",
        "e",
        "\u0301",
        "<|end",
        "|>",
        "<|end|>",
        "x",
        "▁",
        "<|user|>",
        "=",
        "\u0338",
        "<s>",
        "ﬁ",
    ]
)
TEXTS = st.lists(PIECES, max_size=40).map(lambda pieces: " ".join(pieces[::2]) + "".join(pieces[1::2]))
EDITS = st.lists(
    st.one_of(
        TEXTS.map(lambda text: ("append", text)),
        st.integers(1, 60).map(lambda times: ("append", TEXT * times)),
        st.floats(0, 1).map(lambda share: ("truncate", share)),
        TEXTS.map(lambda text: ("fork", text)),
    ),
    min_size=1,
    max_size=6,
)
QUICK = settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck))


def check(tokenizer: Tokenizer, edits: list[tuple[str, object]]) -> None:
    encoder = tokenizer.incremental(allowed_special="all")
    text = ""
    originals = []
    for kind, argument in edits:
        before = encoder.ids
        kept = len(before)
        if kind == "append":
            assert isinstance(argument, str)
            kept = encoder.append(argument)
            text += argument
        elif kind == "truncate":
            assert isinstance(argument, float)
            end = int(len(text) * argument)
            kept = encoder.truncate_to(end)
            text = text[:end]
        else:
            assert isinstance(argument, str)
            originals.append((encoder, text + argument))
            fork = encoder.fork()
            encoder.append(argument)
            encoder = fork
        ids = tokenizer.encode(text, allowed_special="all")
        assert encoder.ids == ids
        assert before[:kept] == ids[:kept]
        assert encoder[kept:] == ids[kept:]
        assert (encoder.count, len(encoder), encoder.text) == (len(ids), len(ids), text)
    for original, whole in originals:
        assert original.ids == tokenizer.encode(whole, allowed_special="all")
    chunks = [argument for _, argument in edits if isinstance(argument, str)]
    ids = tokenizer.encode("".join(chunks), allowed_special="all")
    assert list(tokenizer.encode_iterable(iter(chunks), allowed_special="all")) == ids
    ends = [0, len(text) // 3, len(text), len(text) * 2 // 3, len(text) + 5]
    counts = [tokenizer.count_tokens(text[:end], allowed_special="all") for end in ends]
    assert tokenizer.count_prefixes(text, ends, allowed_special="all") == counts
    for most in (0, counts[2] - 1, counts[2]):
        if most >= 0:
            assert tokenizer.fits(text, most, allowed_special="all") == (counts[2] <= most)


@pytest.mark.parametrize("pattern", PATTERNS)
@QUICK
@given(edits=EDITS)
def test_patterns(pattern: str, edits: list[tuple[str, object]]) -> None:
    check(bytes_level(pattern), edits)


@pytest.mark.parametrize("kind", CHARACTERS)
@QUICK
@given(edits=EDITS)
def test_characters(kind: str, edits: list[tuple[str, object]]) -> None:
    check(characters(kind), edits)


@pytest.mark.parametrize("name", REAL)
@QUICK
@given(edits=EDITS)
def test_tokenizers_of_other_libraries(name: str, edits: list[tuple[str, object]]) -> None:
    if not (TOKENIZERS / name).exists():
        pytest.skip("needs ../shared")
    check(real(name), edits)


@pytest.mark.parametrize("name", REAL)
def test_cuts_are_found_for_tokenizers_of_other_libraries(name: str) -> None:
    if not (TOKENIZERS / name).exists():
        pytest.skip("needs ../shared")
    encoder = real(name).incremental()
    encoder.append(TEXT * 50)
    count = encoder.count
    assert encoder.append(" and so on") > count - 60


@pytest.mark.parametrize("make", [lambda: bytes_level("gpt4"), characters], ids=["bytes", "characters"])
def test_an_append_keeps_nearly_all_ids(make: Callable[[], Tokenizer]) -> None:
    tokenizer = make()
    encoder = tokenizer.incremental(allowed_special="all")
    encoder.append(TEXT * 500)
    count = encoder.count
    assert count - 40 < encoder.append(" word") <= count
    assert encoder.truncate_to(len(TEXT) * 250) > count // 2 - 100


def test_a_special_token_may_be_completed() -> None:
    tokenizer = bytes_level("gpt4")
    ids = tokenizer.special_tokens
    encoder = tokenizer.incremental(allowed_special="all", prepend="<|user|>")
    encoder.append("a<|en")
    encoder.append("d|>")
    assert encoder.ids == [ids["<|user|>"], *tokenizer.encode("a"), ids["<|end|>"]]
    encoder.append("x")
    assert encoder[-1] == ids["<|end|>x"]
    encoder.append("<|end|>" * 3000)
    assert encoder.ids == tokenizer.encode(encoder.text, allowed_special="all", prepend="<|user|>")


def test_an_error_changes_nothing() -> None:
    encoder = bytes_level("gpt4").incremental()
    encoder.append("one <|end")
    ids = encoder.ids
    for text, message in [("|> two", "<|end|>"), ("two <|user|>", "<|user|>"), ("a\ud800", "surrogate")]:
        with pytest.raises(EncodeError, match=message.replace("|", r"\|")):
            encoder.append(text)
        assert (encoder.ids, encoder.text) == (ids, "one <|end")
    with pytest.raises(ArgumentError, match="must be one str"):
        encoder.append(b"x")  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match="not negative"):
        encoder.truncate_to(-1)
    with pytest.raises(EncodeError, match="user"):
        bytes_level("gpt4").fits("a <|user|>", 1)


def test_ids_are_taken_like_those_of_a_list() -> None:
    encoder = bytes_level("gpt4").incremental()
    encoder.append(TEXT * 100)
    ids = encoder.ids
    for key in (slice(5, 1000), slice(None, None, 7), slice(-3, None), slice(9, 3), slice(None, None, -1)):
        assert encoder[key] == ids[key]
    assert (encoder[0], encoder[-1], encoder[777]) == (ids[0], ids[-1], ids[777])
    with pytest.raises(IndexError):
        encoder[len(ids)]
    with pytest.raises(TypeError):
        encoder["a"]  # type: ignore[call-overload]
    assert repr(encoder) == f"<IncrementalEncoder: {len(TEXT) * 100} characters, {len(ids)} ids>"


def test_copies_are_forks() -> None:
    encoder = bytes_level("gpt4").incremental()
    encoder.append(TEXT)
    for other in (copy.copy(encoder), copy.deepcopy(encoder)):
        assert isinstance(other, IncrementalEncoder)
        other.append("more")
        assert (encoder.text, other.text) == (TEXT, TEXT + "more")
        assert other.tokenizer is encoder.tokenizer


def test_threads_take_turns() -> None:
    tokenizer = bytes_level("gpt4")
    encoder = tokenizer.incremental()

    def work() -> None:
        for _ in range(20):
            encoder.append(TEXT * 60)  # long enough to release the GIL

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert encoder.text == TEXT * 60 * 80
    assert encoder.ids == tokenizer.encode(encoder.text)


def test_prefixes_stop_at_the_longest() -> None:
    tokenizer = bytes_level("gpt4")
    counts = [tokenizer.count_tokens(text) for text in ("one two", "one")]
    assert tokenizer.count_prefixes("one two <|end|>", [7, 3]) == counts
    assert tokenizer.count_prefixes("", [0, 1]) == [0, 0]
    assert tokenizer.count_prefixes("abc", []) == []
    with pytest.raises(EncodeError):
        tokenizer.count_prefixes("one two <|end|>", [3, 15])
    with pytest.raises(ArgumentError):
        tokenizer.count_prefixes("abc", [-1])


def test_fits_does_not_encode_all_of_a_long_text() -> None:
    tokenizer = bytes_level("gpt4")
    text = TEXT * 100_000
    assert not tokenizer.fits(text, 1000)
    assert tokenizer.fits(TEXT, tokenizer.count_tokens(TEXT))
    assert not tokenizer.fits(TEXT, tokenizer.count_tokens(TEXT), append="<|end|>")


@pytest.mark.parametrize("size", [1, 2, 7, 1000])
def test_a_stream_of_chunks_has_the_ids_of_the_whole(size: int) -> None:
    for tokenizer in (bytes_level("gpt2"), characters()):
        text = (TEXT + "<|end|>" + "<|end|>x") * 3
        chunks = (text[at : at + size] for at in range(0, len(text), size))
        how = {"allowed_special": {"<|end|>", "<|end|>x"}, "prepend": "<|user|>", "append": ["<|end|>"]}
        ids = tokenizer.encode(text, **how)  # type: ignore[arg-type]
        assert list(tokenizer.encode_iterable(chunks, **how)) == ids  # type: ignore[arg-type]
    assert list(bytes_level("gpt2").encode_iterable([])) == []
    assert len(list(bytes_level("gpt2").encode_iterable([], append="<|end|>"))) == 1


def test_a_stream_of_documents_has_the_ids_of_each() -> None:
    for tokenizer in (bytes_level("gpt4"), characters()):
        documents = [TEXT, "", "one two", "two", TEXT * 20]
        ids = [tokenizer.encode(text, prepend="<|user|>", append="<|end|>") for text in documents]
        stream = tokenizer.encode_iterable(
            iter(documents), documents=True, prepend="<|user|>", append="<|end|>"
        )
        assert list(stream) == [id for document in ids for id in document]


def test_a_stream_is_lazy_and_forgets() -> None:
    tokenizer = bytes_level("gpt4")
    pulled = 0

    def lines() -> Iterator[str]:
        nonlocal pulled
        while True:
            pulled += 1
            yield "a line of words, and some more of them\n" * 100

    stream = tokenizer.encode_iterable(lines())
    assert pulled == 0
    next(stream)
    assert pulled == 1
    tracemalloc.start()
    for _ in range(200_000):
        next(stream)
    assert tracemalloc.get_traced_memory()[1] < 200_000
    tracemalloc.stop()
    encoder = tokenizer.stream_encoder()
    for _ in range(100):
        encoder.push(TEXT)
        assert encoder.pending < 20
    assert weakref.ref(encoder)() is encoder


def test_errors_of_a_stream_come_where_they_belong(tmp_path: Path) -> None:
    tokenizer = bytes_level("gpt4")
    stream = tokenizer.encode_iterable(["one two <|en", "d|> three"])
    assert next(stream) == tokenizer.encode("one two")[0]
    with pytest.raises(EncodeError, match=r"<\|end\|>\" at byte 8"):
        list(stream)
    # Wrong arguments fail before the first id is needed.
    for single in ("one two", b"one two"):
        with pytest.raises(EncodeError, match=r"single text; pass an iterable of texts, \[text\]"):
            tokenizer.encode_iterable(single)  # type: ignore[arg-type]
    with pytest.raises(EncodeError, match="an iterable of str, got int"):
        tokenizer.encode_iterable(5)  # type: ignore[arg-type]
    with pytest.raises(EncodeError, match="not a special token"):
        tokenizer.encode_iterable(["a"], allowed_special=["<x>"])
    with pytest.raises(ArgumentError, match="not bytes; decode it first"):
        list(tokenizer.encode_iterable([b"one"]))  # type: ignore[list-item]
    file = tmp_path / "a.txt"
    file.write_text(TEXT * 9, encoding="utf-8", newline="")
    with file.open(encoding="utf-8", newline="") as lines:
        assert list(tokenizer.encode_iterable(lines)) == tokenizer.encode(TEXT * 9)


def test_definitions_with_stages() -> None:
    """The stages of several models around a small vocabulary, which need no files."""
    letters = sorted({*TEXT, "▁", "é", "<", "|", ">"})
    tokens = [(letter.encode(), 300 + i) for i, letter in enumerate(letters)]
    ids = dict(tokens)
    merges, next_id = [], 300 + len(letters)
    for left, right in [("t", "h"), ("th", "e"), ("▁", "t"), (" ", "t"), ("a", "n"), ("o", "w")]:
        new = (left + right).encode()
        merges.append((ids[left.encode()], ids[right.encode()], next_id))
        tokens.append((new, next_id))
        ids[new] = next_id
        next_id += 1
    added = [
        {"content": "<|end|>", "id": 9000, "special": True, "rstrip": True},
        {"content": "fox", "id": 9001, "lstrip": True, "normalized": True},
    ]
    replace = {"type": "Replace", "pattern": {"String": " "}, "content": "▁"}
    prepend = {"type": "Prepend", "prepend": "▁"}
    stages = [
        ({"type": "Sequence", "normalizers": [prepend, replace]}, None),
        (
            {"type": "NFKC"},
            {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "first", "split": True},
        ),
        ({"type": "NFC"}, {"type": "ByteLevel", "add_prefix_space": True, "use_regex": True}),
        ({"type": "Lowercase"}, {"type": "BertPreTokenizer"}),
        (
            None,
            {
                "type": "Sequence",
                "pretokenizers": [{"type": "Digits", "individual_digits": True}, {"type": "Whitespace"}],
            },
        ),
    ]
    for normalizer, pretokenizer in stages:
        definition = {
            "unit": "characters",
            "byte_tokens": list(range(256)),
            "added_tokens": added,
            "normalizer": normalizer,
            "pre_tokenizer": pretokenizer,
            "decoder": {"type": "Fuse"},
        }
        model = merganser._core.Model.from_definition(tokens, merges, None, json.dumps(definition))
        tokenizer = Tokenizer._of(model, {}, {})
        encoder = tokenizer.incremental(allowed_special="all")
        for step in range(1, 400):
            encoder.append(TEXT[step % 7 : 5 + step % 31] + ("<|end|> " if step % 50 == 0 else ""))
            if step % 40 == 0:
                encoder.truncate_to(len(encoder.text) * 9 // 10)
            if step % 20 == 0:
                assert encoder.ids == tokenizer.encode(encoder.text, allowed_special="all")
        count = encoder.count
        assert encoder.append(" dog") > count - 60, "cuts are found"
