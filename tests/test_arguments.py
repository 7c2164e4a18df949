"""Wrong arguments: the error suggests a correction, and is of the type that Python programmers expect."""

from collections.abc import Callable
from pathlib import Path

import merganser
import numpy as np
import pytest
from merganser import ArgumentError, CorpusError, EncodeError, PatternError
from merganser.analyse.comparison import compare

TOKENIZER = merganser.train(["low lower lowest"] * 9, 262, special_tokens=["<|a|>", "<|b|>"])
TEXTS = ["low lower"]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: merganser.train(TEXTS, 300, vocabsize=3),  # type: ignore[call-arg]
            r"train\(\) has no argument 'vocabsize'; did you mean 'vocab_size'\?",
        ),
        (
            lambda: merganser.train(TEXTS, 300, text_field="body"),  # type: ignore[call-arg]
            r"train\(\) has no argument 'text_field'; did you mean 'text_key'\?",
        ),
        (
            lambda: merganser.train(TEXTS, 300, threads=2),  # type: ignore[call-arg]
            r"train\(\) has no argument 'threads'; pass it to the engine: engine=Local\(threads=…\)",
        ),
        (
            lambda: merganser.count(TEXTS, special=["x"]),  # type: ignore[call-overload]
            r"count\(\) has no argument 'special'; did you mean 'special_tokens'\?",
        ),
        (
            lambda: merganser.count(TEXTS, zzz=1),  # type: ignore[call-overload]
            r"count\(\) has no argument 'zzz'; it accepts corpus, pattern, special_tokens, .*allow_binary",
        ),
        (
            lambda: TOKENIZER.encode_corpus(TEXTS, out="x", fromat="npy"),  # type: ignore[call-arg]
            r"encode_corpus\(\) has no argument 'fromat'; did you mean 'format'\?",
        ),
        (
            lambda: merganser.verify(TOKENIZER, TOKENIZER, on=TEXTS, seperator=None),  # type: ignore[call-arg]
            r"verify\(\) has no argument 'seperator'; did you mean 'separator'\?",
        ),
        (
            lambda: compare({"a": TOKENIZER}, {"t": TEXTS}, enginee=None),  # type: ignore[call-arg]
            r"compare\(\) has no argument 'enginee'; did you mean 'engine'\?",
        ),
        (
            lambda: merganser.train(TEXTS, "1000"),  # type: ignore[arg-type]
            r"vocab_size must be an int, got the str '1000'; write vocab_size=1000",
        ),
        (
            lambda: merganser.train(TEXTS, 1e3),  # type: ignore[arg-type]
            r"vocab_size must be an int, got the float 1000\.0; write vocab_size=1000",
        ),
        (
            lambda: merganser.train(TEXTS, None),  # type: ignore[arg-type]
            r"vocab_size must be an int, got the NoneType None$",
        ),
        (
            lambda: TOKENIZER.encode(["low", "lower"]),  # type: ignore[arg-type]
            r"the text to encode must be one str, not list; pass a list of texts to encode_batch",
        ),
        (
            lambda: TOKENIZER.encode_ordinary(("low",)),  # type: ignore[arg-type]
            r"must be one str, not tuple; pass a list of texts to encode_batch",
        ),
        (
            lambda: TOKENIZER.encode_with_offsets(b"low"),  # type: ignore[arg-type]
            r"must be one str, not bytes; decode it first: text\.decode\(\)",
        ),
        (
            lambda: TOKENIZER.encode(bytearray(b"low")),  # type: ignore[arg-type]
            r"must be one str, not bytearray; pass bytes\(data\) to encode",
        ),
        (lambda: TOKENIZER.encode(None), r"must be one str, not NoneType; pass a str"),  # type: ignore[arg-type]
    ],
)
def test_a_wrong_argument_is_a_type_error_with_a_suggestion(call: Callable[[], object], message: str) -> None:
    with pytest.raises(ArgumentError, match=message) as raised:
        call()
    assert isinstance(raised.value, TypeError)


def test_numpy_integers_are_accepted() -> None:
    assert merganser.train(["low lower lowest"] * 9, np.int64(258)).vocab_size == 258  # type: ignore[arg-type]


@pytest.mark.parametrize("text", ["the text itself", "a line\nand another", "some text " * 1000, "why so?"])
def test_a_text_passed_as_a_corpus_is_recognized(text: str) -> None:
    with pytest.raises(CorpusError, match=r"to pass a text instead, wrap it in a list: \[text\]$") as raised:
        merganser.train(text, 1000)
    assert len(str(raised.value)) < 300
    assert "\n" not in str(raised.value)


def test_a_path_that_does_not_exist_is_not_mistaken_for_a_text() -> None:
    for path in ("missing.txt", Path("a missing file.txt"), [Path("a missing file.txt")]):
        with pytest.raises(CorpusError, match=r"there is no file or folder .*; check the path$"):
            merganser.count(path)


def test_an_unknown_special_token_is_reported_with_those_that_exist(tmp_path: Path) -> None:
    for call in (
        lambda names: TOKENIZER.encode("low", allowed_special=names),
        lambda names: TOKENIZER.encode_batch(["low"], allowed_special=names),
        lambda names: TOKENIZER.encode_flat(["low"], allowed_special=names),
        lambda names: TOKENIZER.count_tokens("low", allowed_special=names),
        lambda names: TOKENIZER.encode_with_offsets("low", allowed_special=names),
        lambda names: TOKENIZER.show("low", allowed_special=names),
        lambda names: TOKENIZER.encode_corpus(["low"], out=tmp_path / "tokens", allowed_special=names),
    ):
        with pytest.raises(
            EncodeError, match=r'names "<\|c\|>", which is not .*; it has "<\|a\|>", "<\|b\|>"'
        ):
            call({"<|a|>", "<|c|>"})
    assert not (tmp_path / "tokens").exists()
    many = merganser.Tokenizer(
        {bytes([byte]): byte for byte in range(256)},
        special_tokens={f"<{number}>": 256 + number for number in range(300)},
    )
    assert many.encode("<299>", allowed_special=set(many.special_tokens)) == [555]
    with pytest.raises(EncodeError, match=r'names "<x>", which .*; it has "<0>", .*"<19>", …$'):
        many.encode("<x>", allowed_special=[*many.special_tokens, "<x>"])
    plain = merganser.Tokenizer({bytes([byte]): byte for byte in range(256)})
    with pytest.raises(EncodeError, match=r'names "<x>", but this tokenizer has no special tokens'):
        plain.encode("<x>", allowed_special={"<x>"})


def test_a_misspelled_preset_is_recognized(tmp_path: Path) -> None:
    TOKENIZER.export(tmp_path / "x.tiktoken", format="tiktoken")
    for call in (
        lambda: merganser.load(tmp_path / "x.tiktoken", pattern="gpt5"),
        lambda: merganser.train(TEXTS, 300, pattern="gpt5"),
        lambda: merganser.split("low", "gpt5"),
    ):
        with pytest.raises(PatternError, match=r'"gpt5"; did you mean "gpt2" or "gpt4"\?'):
            call()
    assert merganser.split("gpt5 gpt5", "(gpt5)| ") == ["gpt5", " ", "gpt5"]
