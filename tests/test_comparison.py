"""Comparison: the figures equal those of encoding all text."""

from pathlib import Path

import merganser
import pytest
from hypothesis import given
from hypothesis import strategies as st
from merganser.analyse.comparison import compare
from strategies import SPECIAL_NAMES, texts

TEXT = "the cat sat on the mat; the dog's dinner was the cat's\n\n  naïve café 中文中文 2024 2025 👍👍" * 3
TOKENIZERS = {
    pattern: merganser.train([TEXT], 262, pattern=pattern, special_tokens=["<|end|>"])
    # The last two use look-around: they split a pre-token differently out of context.
    for pattern in ("gpt4", "gpt2", "o200k", r"(?<=\s)\w+|\w|\s+|\S", r"\w+(?=\s)|\w|\W+")
}


@given(st.lists(texts.filter(bool), min_size=1))
def test_the_figures_equal_those_of_encoding_every_document(documents: list[str]) -> None:
    documents = [document.replace("<|endoftext|>", "") or "a" for document in documents]
    rows = compare(TOKENIZERS, {"one": [*documents, "<|end|>  x "], "two": [TEXT]})
    assert [(row.corpus, row.tokenizer) for row in rows] == [
        (corpus, name) for corpus in ("one", "two", "all") for name in TOKENIZERS
    ]
    for row in rows:
        expected = {
            "one": [*documents, "<|end|>  x "],
            "two": [TEXT],
            "all": [*documents, "<|end|>  x ", TEXT],
        }
        tokenizer = TOKENIZERS[row.tokenizer]
        ids = [tokenizer.encode_ordinary(document) for document in expected[row.corpus]]
        assert row.tokens == sum(map(len, ids))
        assert row.bytes == sum(len(document.encode()) for document in expected[row.corpus])
        first = next(other for other in rows if other.corpus == row.corpus)
        assert row.relative == row.tokens / first.tokens - 1
        assert row.bytes_per_token == row.bytes / row.tokens
        assert row.vocab_size == tokenizer.vocab_size


def test_each_invalid_byte_is_one_token() -> None:
    (row,) = compare({"a": TOKENIZERS["gpt4"]}, {"broken": [b"the \xff\xff\xe4\xb8 cat"]})
    assert row.bytes == 12
    assert row.tokens == 4 + sum(len(TOKENIZERS["gpt4"].encode(text)) for text in ("the ", " cat"))


def test_a_source_that_can_be_read_once_serves_only_one_pattern() -> None:
    one = {"a": TOKENIZERS["gpt4"]}
    assert compare(one, {"texts": iter([TEXT])}) == compare(one, {"texts": [TEXT]})
    for source in (iter([TEXT]), "-", Path("-"), [Path("a"), Path("-")]):
        with pytest.raises(merganser.SettingsError, match="texts can be read only once"):
            compare(TOKENIZERS, {"texts": source})


@pytest.mark.parametrize("document", SPECIAL_NAMES)
def test_a_document_is_never_taken_for_a_name(document: str, recwarn: pytest.WarningsRecorder) -> None:
    rows = compare(TOKENIZERS, {"one": [document], "two": (document, TEXT), "three": {document: 1}})
    assert [row.bytes for row in rows[:: len(TOKENIZERS)]] == [
        size := len(document.encode()),
        size + len(TEXT.encode()),
        size,
        3 * size + len(TEXT.encode()),
    ]


def test_nothing_to_compare_is_an_error() -> None:
    with pytest.raises(merganser.SettingsError, match="at least one tokenizer and one corpus; pass both"):
        compare({}, {"texts": [TEXT]})
    with pytest.raises(merganser.SettingsError, match="at least one tokenizer and one corpus; pass both"):
        compare(TOKENIZERS, {})
    with pytest.raises(merganser.CorpusError, match="void contains no text; check the path"):
        compare(TOKENIZERS, {"void": [""]})


def test_a_corpus_called_all_is_distinguished_from_the_total() -> None:
    rows = compare({"a": TOKENIZERS["gpt4"]}, {"all": ["a"], "b": ["b"]})
    assert [row.corpus for row in rows] == ["all", "b", "all together"]


def test_counts_on_disk_give_the_same_numbers(tmp_path: Path) -> None:
    in_memory = compare({"a": TOKENIZERS["gpt4"]}, {"text": [TEXT]})
    file = merganser.count([TEXT], pattern="gpt4", special_tokens=(), out=tmp_path / "a.counts")
    assert compare({"a": TOKENIZERS["gpt4"]}, {"text": file.path}) == in_memory


def test_progress_counts_pretokens() -> None:
    calls: list[tuple[str, int, int]] = []
    compare(TOKENIZERS, {"text": [TEXT]}, progress=lambda *call: calls.append(call))
    last = [call for call in calls if call[0] == "pretokens"]
    assert last
    assert last[-1][1] == last[-1][2] > 0
