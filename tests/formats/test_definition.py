"""Readers turn files into definitions: tokens in inner bytes, and stages in the form that the core takes."""

import json
import struct
from pathlib import Path
from typing import Any

import kinds
import merganser
import pytest
from merganser.formats import BadFile, protobuf, sentencepiece, stages
from merganser.formats.definition import Definition
from merganser.formats.huggingface_definition import added_tokens, definition

_METASPACE = {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": True}
_TO_SYMBOLS = {"type": "Replace", "pattern": {"String": " "}, "content": "▁"}
_TO_SPACES = {"type": "Replace", "pattern": {"String": "▁"}, "content": " "}
_PREPEND = {"type": "Prepend", "prepend": "▁"}


def defined(name: str) -> Any:
    config = json.loads(kinds.hugging_face(name))
    return definition(config, config["model"])


def file(vocab: dict[str, int], merges: list[list[str]], **model: Any) -> dict[str, Any]:
    return {"vocab": vocab, "merges": merges, **model}


def test_a_space_replaces_the_symbol_where_every_space_becomes_one() -> None:
    llama = defined("Llama 2")
    assert llama.normalizer["normalizers"] == [_PREPEND | {"prepend": " "}, _TO_SPACES]
    assert not any("▁".encode() in token for token, _ in llama.tokens)
    assert any(token.startswith(b" ") for token, _ in llama.tokens)
    assert defined("Gemma").pre_tokenizer is None  # it splits at spaces, and there are none


@pytest.mark.parametrize(
    ("normalizers", "pre_tokenizers"),
    [
        ([_TO_SYMBOLS, {"type": "NFKC"}], []),  # may add spaces
        ([_TO_SYMBOLS, {"type": "Strip", "strip_left": True, "strip_right": True}], []),
        ([_TO_SYMBOLS, {"type": "Prepend", "prepend": " "}], []),
        ([_TO_SYMBOLS], [{"type": "Whitespace"}]),
        ([], [{"type": "WhitespaceSplit"}, _METASPACE]),
        ([], []),
    ],
)
def test_the_symbol_stays_where_a_stage_could_tell_it_from_a_space(
    normalizers: list[Any], pre_tokenizers: list[Any]
) -> None:
    assert stages.with_spaces(normalizers, pre_tokenizers, [_TO_SPACES], []) is None


def test_the_symbol_stays_unless_the_decoder_shows_it_as_a_space() -> None:
    assert stages.with_spaces([_TO_SYMBOLS], [], [{"type": "Fuse"}], []) is None
    assert stages.with_spaces([_TO_SYMBOLS], [], [_TO_SPACES], []) is not None


def test_a_leading_space_is_rewritten_only_if_nothing_in_between_could_tell() -> None:
    rewritten = stages.with_spaces([_PREPEND, {"type": "NFC"}, _TO_SYMBOLS], [], [_TO_SPACES], [])
    assert rewritten and rewritten[0][0] == _PREPEND | {"prepend": " "}
    strip = {"type": "Strip", "strip_left": True, "strip_right": False}
    rewritten = stages.with_spaces([_PREPEND, strip, _TO_SYMBOLS], [], [_TO_SPACES], [])
    assert rewritten and rewritten[0][0] == _PREPEND


def test_words_end_and_begin_with_bytes_that_text_cannot_contain() -> None:
    ends = defined("words of characters")
    assert ends.suffix
    assert any(token.endswith(b"\xff") for token, _ in ends.tokens)
    continued = defined("continued words")
    assert continued.prefix
    assert any(token.startswith(b"\xfe") for token, _ in continued.tokens)
    assert not any(token.startswith(b"##") for token, _ in continued.tokens)


def test_byte_tokens_are_listed_apart() -> None:
    llama = defined("Llama 2")
    vocab = json.loads(kinds.hugging_face("Llama 2"))["model"]["vocab"]
    assert llama.byte_tokens == [vocab[f"<0x{byte:02X}>"] for byte in range(256)]
    assert not any(token.startswith(b"<0x") for token, _ in llama.tokens)


def test_of_a_merge_listed_twice_the_last_counts() -> None:
    vocab = {"a": 0, "b": 1, "c": 2, "ab": 3, "bc": 4}
    twice = file(vocab, [["a", "b"], ["b", "c"], ["a", "b"]])
    assert definition({}, twice).merges == [(1, 2, 4), (0, 1, 3)]


def test_merges_of_what_is_no_token_are_refused() -> None:
    with pytest.raises(BadFile, match="are not tokens"):
        definition({}, file({"a": 0, "b": 1}, [["a", "b"]]))


def test_added_tokens_have_the_ids_that_the_library_gives_them() -> None:
    token = {"content": "<x>", "id": 9, "special": True}
    with pytest.warns(merganser.MerganserWarning, match="'<x>': 2 instead of 9"):
        [added] = added_tokens([token], {"a": 0, "b": 1})
    assert added["id"] == 2
    assert [token["id"] for token in added_tokens([token | {"id": 0, "content": "a"}], {"a": 0})] == [0]


def test_settings_that_change_no_ids_are_dropped_with_a_warning() -> None:
    config = json.loads(kinds.hugging_face("byte-level with NFC"))
    config["truncation"] = {"max_length": 8, "strategy": "LongestFirst", "stride": 0, "direction": "Right"}
    config["model"]["dropout"] = 0.1
    import tokenizers

    live = tokenizers.Tokenizer.from_str(json.dumps(config))
    with pytest.warns(merganser.MerganserWarning, match="truncation and dropout"):
        loaded = merganser.load(live)
    assert len(loaded.encode("a long text that is not truncated, whatever the file says")) > 8


# ── SentencePiece ─────────────────────────────────────────────────────────────


def message(*fields: tuple[int, bytes | int | float]) -> bytes:
    """Serialize a message of short fields."""

    def varint(number: int) -> bytes:
        return bytes([number]) if number < 128 else bytes([number & 127 | 128, number >> 7])

    parts = []
    for number, value in fields:
        if isinstance(value, bytes):
            parts.append(varint(number << 3 | 2) + varint(len(value)) + value)
        elif isinstance(value, float):
            parts.append(varint(number << 3 | 5) + struct.pack("<f", value))
        else:
            parts.append(varint(number << 3) + varint(value))
    return b"".join(parts)


def piece(text: str, kind: int = 1, score: float = 0.0) -> tuple[int, bytes]:
    return 1, message((1, text.encode()), (2, score), (3, kind))


BPE = (2, message((3, 2)))
UNKNOWN = piece("<unk>", 2)


def test_pieces_are_sorted_by_their_types() -> None:
    parsed = sentencepiece.parse(
        message(UNKNOWN, piece("<s>", 3), piece("▁the", 4), piece("a", score=-1.0), piece("x y"), BPE)
    )
    assert (parsed.tokens, parsed.scores) == ([(b"a", 3)], [-1.0])
    assert parsed.decode_only == [(b"x y", 4), (" ⁇ ".encode(), 0)]
    assert [token["content"] for token in parsed.added_tokens] == ["<s>", " the"]
    assert [token["special"] for token in parsed.added_tokens] == [True, False]
    assert parsed.normalizer == {
        "type": "SentencePiece",
        "charsmap": None,
        "add_dummy_prefix": True,
        "remove_extra_whitespaces": True,
        "suffix_whitespace": False,
    }


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (message(UNKNOWN), "SentencePiece Unigram model"),
        (message(UNKNOWN, (2, message((3, 4)))), "SentencePiece Char model"),
        (message(piece("a"), BPE), "exactly one unknown piece"),
        (message(UNKNOWN, piece("a"), piece("a"), BPE), "the same piece twice"),
        (message(UNKNOWN, piece("a", 7), BPE), "no text, score or type"),
        (message(UNKNOWN, piece("a", score=float("nan")), BPE), "no text, score or type"),
        (message(UNKNOWN, piece("<0x0A>", 6), BPE), "a piece for each byte"),
        (message(UNKNOWN, piece("ab", 5), piece("a"), BPE), "unused piece 'ab'"),
        (message(UNKNOWN, BPE, (3, message((5, 0)))), "without escape_whitespaces"),
        (message(UNKNOWN, BPE)[:-1], "truncated"),
        (message(UNKNOWN, BPE) + b"\x0f", "unknown kind 7"),
        (b"\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", "truncated"),
    ],
)
def test_models_that_cannot_be_read_say_why(data: bytes, reason: str) -> None:
    with pytest.raises(BadFile, match=reason):
        sentencepiece.parse(data)


def test_a_length_beyond_the_data_allocates_nothing() -> None:
    with pytest.raises(BadFile, match="truncated"):
        list(protobuf.fields(b"\x0a\xff\xff\xff\xff\x0f"))


def test_of_equal_scores_the_leftmost_merges_first(tmp_path: Path) -> None:
    """As the runs of spaces in Llama 2, whose scores are all the same."""
    import sentencepiece as library

    runs = [piece("a" * length, score=-9.0) for length in (2, 4, 8, 5, 3, 6, 7)]
    pieces = [UNKNOWN, piece("a", score=-9.0), piece("b", score=-1.0), piece("ab", score=-1.0), *runs]
    file = tmp_path / "t.model"
    file.write_bytes(message(*pieces, BPE, (3, message((3, 0), (4, 0)))))
    loaded, theirs = merganser.load(file), library.SentencePieceProcessor(model_file=str(file))
    for length in range(1, 30):
        for text in ("a" * length, "a" * length + "b", "b" + "a" * length):
            assert loaded.encode_ordinary(text) == theirs.encode(text), text


def test_user_defined_symbols_are_found_in_the_normalized_text_as_they_are(tmp_path: Path) -> None:
    import sentencepiece as library

    pieces = [UNKNOWN, piece("▁", score=-9.0), *(piece(letter, score=-8.0) for letter in "abx")]
    file = tmp_path / "t.model"
    file.write_bytes(message(*pieces, piece("▁▁", 4), piece("ab▁", 4), piece("▁x", score=-1.0), BPE))
    loaded, theirs = merganser.load(file), library.SentencePieceProcessor(model_file=str(file))
    for text in ("▁x", "ab x", " ab  x ▁▁▁a", "xab abab x", "ab", "▁▁"):
        assert loaded.encode_ordinary(text) == theirs.encode(text), text


def test_a_merge_with_a_character_that_is_no_token_cannot_be_exported() -> None:
    # Chinese-LLaMA-2 has the pieces 山 and 山楂, but not 楂.
    tokens = [("山".encode(), 0), ("山楂".encode(), 1)]
    tokenizer = Definition(
        tokens, scores=[0.0, -1.0], unit="characters", unknown=2, decode_only=[(b"<unk>", 2)]
    ).tokenizer()
    assert tokenizer.encode("山楂") == [1]
    with pytest.raises(merganser.ExportError, match="not a token"):
        tokenizer.to_huggingface()
