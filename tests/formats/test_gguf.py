"""GGUF: the package `gguf` reads our files, we read its files, and llama.cpp produces our ids."""

import struct
import warnings
from pathlib import Path
from typing import Any

import merganser
import pytest
import vocabs
from corpora import corpus_text
from exported import ADVERSARIAL, TRAINED
from gguf import GGUFReader, GGUFWriter
from hypothesis import given
from llama import Llama, needs_llama
from merganser import ExportError, FormatError, SettingsError, Tokenizer
from merganser.formats import gguf_metadata, gpt2, native
from strategies import texts

BYTES = {bytes([byte]): byte for byte in range(256)}
KNOWN = {"gpt2": "gpt-2", "llama3": "llama-bpe", "qwen2": "qwen2"}
REAL = ("gpt2", "llama3", "qwen3")
#: Unused ids, special tokens with low ids, and a token that no merge produces.
GAPS = Tokenizer(
    {token: id + 3 for token, id in BYTES.items()} | {b"ab": 300, b" hello": 301},
    pattern="llama3",
    special_tokens={"<|begin_of_text|>": 0, "<|end_of_text|>": 310},
)


def metadata(file: Path) -> dict[str, Any]:
    """Return the metadata as read by the package `gguf`."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the package leaves the file open
        return {name: field.contents() for name, field in GGUFReader(file).fields.items()}


@pytest.mark.parametrize("pattern", KNOWN)
def test_the_gguf_package_reads_every_entry(tmp_path: Path, pattern: str) -> None:
    tokenizer = TRAINED[pattern]
    [file] = tokenizer.export(tmp_path / "t.gguf", format="gguf")
    read = metadata(file)
    assert read["GGUF.version"] == 3
    assert read["GGUF.tensor_count"] == 0
    assert read["general.architecture"] == read["tokenizer.ggml.model"] == "gpt2"
    assert read["tokenizer.ggml.pre"] == KNOWN[pattern]
    vocab = gpt2.vocabulary(tokenizer)
    assert read["tokenizer.ggml.tokens"] == list(vocab)
    assert read["tokenizer.ggml.token_type"] == [1] * (len(vocab) - 2) + [3, 3]
    pairs = [f"{gpt2.to_printable(left)} {gpt2.to_printable(right)}" for left, right in tokenizer.merges]
    assert read["tokenizer.ggml.merges"] == pairs
    assert read["tokenizer.ggml.bos_token_id"] == tokenizer.special_tokens["<s>"]
    assert read["tokenizer.ggml.eos_token_id"] == tokenizer.special_tokens["</s>"]
    assert read["tokenizer.ggml.add_bos_token"] is read["tokenizer.ggml.add_eos_token"] is False


def test_a_warning_names_the_texts_that_llama_cpp_splits_differently(tmp_path: Path) -> None:
    with pytest.warns(merganser.MerganserWarning, match="llama.cpp splits a few rare texts"):
        [file] = TRAINED["qwen2"].export(tmp_path / "t.gguf", format="gguf")
    assert merganser.load(file) == TRAINED["qwen2"]


@pytest.mark.parametrize("pattern", KNOWN)
def test_a_file_written_by_the_gguf_package_is_read(tmp_path: Path, pattern: str) -> None:
    tokenizer = TRAINED[pattern]
    vocab = gpt2.vocabulary(tokenizer)
    writer = GGUFWriter(tmp_path / "t.gguf", "llama")
    writer.add_name("a model")
    writer.add_context_length(4096)
    writer.add_rope_freq_base(10000.0)
    writer.add_array("some.numbers", [1, 2, 3])
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre(KNOWN[pattern])
    writer.add_token_list(list(vocab))
    writer.add_token_types([3 if token in tokenizer.special_tokens else 1 for token in vocab])
    writer.add_token_merges([" ".join(map(gpt2.to_printable, pair)) for pair in tokenizer.merges])
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.close()
    with (tmp_path / "t.gguf").open("ab") as file:
        file.write(bytes(5000))  # where the tensors would be
    assert merganser.load(tmp_path) == tokenizer


@pytest.mark.parametrize("tokenizer", [*(TRAINED[pattern] for pattern in KNOWN), GAPS])
def test_a_written_file_is_read_and_rewritten_identically(tmp_path: Path, tokenizer: Tokenizer) -> None:
    [first] = tokenizer.export(tmp_path / "first", format="gguf")
    assert first == tmp_path / "first" / "tokenizer.gguf"
    for source in (first, first.parent):
        assert merganser.load(source) == tokenizer
    [second] = merganser.load(first).export(tmp_path / "second.gguf", format="gguf")
    assert first.read_bytes() == second.read_bytes()


def test_an_id_without_a_token_is_written_as_unused(tmp_path: Path) -> None:
    read = metadata(GAPS.export(tmp_path / "t.gguf", format="gguf")[0])
    assert read["tokenizer.ggml.tokens"][1] == "[PAD1]"
    assert read["tokenizer.ggml.token_type"][:4] == [3, 5, 5, 1]
    assert len(read["tokenizer.ggml.tokens"]) == 311


# ── llama.cpp itself ──────────────────────────────────────────────────────────


@pytest.fixture(scope="module")
def llamas(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Llama]:
    folder = tmp_path_factory.mktemp("gguf")
    for pattern in KNOWN:
        TRAINED[pattern].export(folder / f"{pattern}.gguf", format="gguf")
    return {pattern: Llama(folder / f"{pattern}.gguf") for pattern in KNOWN}


@needs_llama
@pytest.mark.parametrize("pattern", KNOWN)
@given(text=texts)
def test_llama_produces_the_same_ids(llamas: dict[str, Llama], pattern: str, text: str) -> None:
    text = text.replace("'ſ", "'")  # see below
    theirs, ours = llamas[pattern], TRAINED[pattern]
    assert theirs.encode(text) == ours.encode_ordinary(text)
    both = f"{text}<s>{text}</s><s"
    assert theirs.encode(both, special=True) == ours.encode(both, allowed_special="all")
    assert theirs.encode(both) == ours.encode_ordinary(both)


@needs_llama
@pytest.mark.parametrize("name", REAL)
def test_llama_produces_the_same_ids_on_real_text(tmp_path: Path, name: str) -> None:
    ours = vocabs.ours(name)
    theirs = Llama(ours.export(tmp_path / "t.gguf", format="gguf")[0])
    for text in ADVERSARIAL.values():
        assert theirs.encode(text) == ours.encode_ordinary(text)
    for corpus in ("english.txt", "multilingual.txt", "code.txt"):
        text = corpus_text(corpus, 500_000)
        assert theirs.encode(text) == ours.encode_ordinary(text)


@needs_llama
def test_llama_uses_unreachable_tokens_and_skips_unused_ids(tmp_path: Path) -> None:
    theirs = Llama(GAPS.export(tmp_path / "t.gguf", format="gguf")[0])
    text = "ab hello helloo [PAD1] <|end_of_text|>"
    assert theirs.encode(text) == GAPS.encode_ordinary(text)
    assert theirs.encode(text, special=True) == GAPS.encode(text, allowed_special="all")


@needs_llama
def test_llama_splits_long_s_differently(tmp_path: Path) -> None:
    ranks = BYTES | {"ſ".encode(): 256, "'ſ".encode(): 257, "'ſa".encode(): 258}
    ours = Tokenizer(ranks, pattern="qwen2")
    theirs = Llama(ours.export(tmp_path / "t.gguf", format="gguf")[0])
    assert ours.encode("'ſa") == [257, 97]
    assert theirs.encode("'ſa") == [258]


# ── refused exports ───────────────────────────────────────────────────────────


@pytest.mark.parametrize("pattern", [pattern for pattern in TRAINED if pattern not in KNOWN])
def test_a_pattern_without_an_equivalent_in_llama_is_refused(tmp_path: Path, pattern: str) -> None:
    with pytest.raises(ExportError, match="only of gpt2, llama3, qwen2; train with one of these"):
        TRAINED[pattern].export(tmp_path / "new.gguf", format="gguf")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("tokenizer", "message"),
    [
        (
            Tokenizer(BYTES | {b"abc": 256}, pattern="qwen2"),
            "the first of them b'abc', are not produced by any merge",
        ),
        (Tokenizer(BYTES, pattern="gpt2", special_tokens={"Ġ": 256}), "another name"),
        (Tokenizer(BYTES, pattern="llama3", special_tokens={"hello": 256}), "even in ordinary text"),
        (Tokenizer(BYTES, pattern="llama3", special_tokens={"Ġhello": 256}), "pre-token ' hello'"),
        (
            Tokenizer(BYTES, pattern="gpt2", special_tokens={"[PAD256]": 257}),
            "the name that GGUF gives an unused id",
        ),
    ],
)
def test_a_tokenizer_that_llama_would_encode_differently_is_refused(
    tmp_path: Path, tokenizer: Tokenizer, message: str
) -> None:
    with pytest.raises(ExportError, match=message):
        tokenizer.export(tmp_path / "new.gguf", format="gguf")
    assert not list(tmp_path.iterdir())


# ── refused files ─────────────────────────────────────────────────────────────

TOKENS = [gpt2.to_printable(token) for token in BYTES]


def string(text: str) -> bytes:
    return struct.pack("<Q", len(text.encode())) + text.encode()


def array(kind: int, values: list[Any]) -> tuple[int, bytes]:
    packed = map(string, values) if kind == 8 else (struct.pack("<i", value) for value in values)
    return 9, struct.pack("<IQ", kind, len(values)) + b"".join(packed)


def written(changes: dict[str, tuple[int, bytes] | None], version: int = 3) -> bytes:
    values: dict[str, tuple[int, bytes] | None] = {
        "model": (8, string("gpt2")),
        "pre": (8, string("gpt-2")),
        "tokens": array(8, [*TOKENS, "ab"]),
        "token_type": array(5, [1] * 257),
        "merges": array(8, ["a b"]),
        **changes,
    }
    entries = [
        string(f"tokenizer.ggml.{name}") + struct.pack("<I", value[0]) + value[1]
        for name, value in values.items()
        if value
    ]
    return b"GGUF" + struct.pack("<IQQ", version, 0, len(entries)) + b"".join(entries)


def test_the_unchanged_file_is_valid(tmp_path: Path) -> None:
    (tmp_path / "t").write_bytes(written({}))
    assert merganser.load(tmp_path / "t") == Tokenizer(BYTES | {b"ab": 256}, pattern="gpt2")


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"GGUF", "truncated at byte 4"),
        (written({})[:-1], "truncated"),
        (written({}, version=1), "version 1"),
        (b"GGUF" + struct.pack("<IQQ", 3, 0, 2**60), "metadata entries"),
        (b"GGUF" + struct.pack("<IQQQ", 3, 0, 1, 2**63), "truncated"),
        (written({"x": (8, struct.pack("<Q", 1) + b"\xff")}), "not UTF-8"),
        (written({"x": (13, b"")}), "unknown type 13"),
        (written({"x": (9, struct.pack("<IQ", 8, 2**62))}), "a list of more than"),
        (written({"x": (9, struct.pack("<IQ", 5, 2**21))}), "truncated"),
        (written({"x": (9, struct.pack("<IQ", 9, 1))}), "has values of type 9"),
        (written({"model": None}), "tokenizer.ggml.model is missing or has the wrong type"),
        (written({"tokens": (8, string("a"))}), "tokenizer.ggml.tokens is missing or has the wrong type"),
        (written({"model": (8, string("llama"))}), "a token for each byte"),
        (written({"model": (8, string("t5"))}), r"model 't5' \(Unigram\)"),
        (written({"pre": (8, string("gpt-5"))}), "pre-tokenizer 'gpt-5' is not known"),
        (written({"token_type": array(5, [1] * 256)}), "257 tokens but 256 token types"),
        (written({"token_type": array(5, [1] * 256 + [7])}), "unknown type 7"),
        (written({"tokens": array(5, [1] * 257)}), "not strings"),
        (written({"merges": array(5, [1])}), "not two tokens"),
        (written({"merges": array(8, ["ab"])}), "not two tokens"),
        (written({"merges": array(8, ["a b", "b c"])}), "are not tokens"),
        (
            written({}).replace(b"ggml.pre", b"ggml.abc").replace(b"ggml.model", b"ggml.merge"),
            "model is missing",
        ),
        (
            b"GGUF" + struct.pack("<IQQ", 3, 0, 2) + (string("x") + struct.pack("<I?", 7, True)) * 2,
            "the key 'x' twice",
        ),
    ],
)
def test_invalid_files_are_refused(tmp_path: Path, data: bytes, message: str) -> None:
    file = tmp_path / "named.anyhow"
    file.write_bytes(data)
    with pytest.raises(FormatError, match=rf"named\.anyhow .*{message}"):
        merganser.load(file)


def test_files_beyond_the_limits_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "t").write_bytes(written({}))
    with pytest.raises(SettingsError, match="already contains its pattern"):
        merganser.load(tmp_path / "t", pattern="gpt2")
    for module, limit in ((gguf_metadata, "_MAX_ENTRIES"), (native, "MAX_TOKENS")):
        with monkeypatch.context() as patch:
            patch.setattr(module, limit, 2)
            with pytest.raises(FormatError, match="more than 2 "):
                merganser.load(tmp_path / "t")


def test_only_the_start_of_a_large_file_is_read(tmp_path: Path) -> None:
    file = tmp_path / "model.gguf"
    file.write_bytes(written({}))
    with file.open("r+b") as opened:
        opened.truncate(3 << 30)  # sparse: uses no disk space
    assert merganser.load(file).pattern_name == "gpt2"


@pytest.mark.parametrize(
    ("data", "ids"),
    [
        (written({}, version=2), [256]),
        (written({"pre": (8, string("gpt-4o"))}), [256]),
        (written({"pre": None}), [256]),  # llama.cpp's default
        (written({"merges": array(8, [])}), [97, 98]),
        (written({"token_type": array(5, [1] * 256 + [4])}), [256]),
        (
            written(
                {"tokens": array(8, [*TOKENS[:97], "[PAD]", *TOKENS[98:], "ab"]), "merges": array(8, [])}
            ),
            [98],
        ),
    ],
)
def test_files_that_are_not_plain_are_loaded(tmp_path: Path, data: bytes, ids: list[int]) -> None:
    (tmp_path / "t.gguf").write_bytes(data)
    assert merganser.load(tmp_path).encode_ordinary("ab") == ids


def test_the_byte_tokens_of_a_vocabulary_by_scores_are_used(tmp_path: Path) -> None:
    tokens = ["<unk>", "<s>", *(f"<0x{byte:02X}>" for byte in range(256)), "▁", "a", "b", "ab", "▁ab"]
    scores = struct.pack(f"<IQ{len(tokens)}f", 6, len(tokens), *[0.0] * 258, -9.0, -8.0, -7.0, -1.0, -2.0)
    data = written(
        {
            "model": (8, string("llama")),
            "tokens": array(8, tokens),
            "token_type": array(5, [2, 3, *[6] * 256, *[1] * 5]),
            "scores": (9, scores),
            "bos_token_id": (4, struct.pack("<I", 1)),
        }
    )
    (tmp_path / "t.gguf").write_bytes(data)
    loaded = merganser.load(tmp_path)
    assert loaded.encode_ordinary("ab ab<s>") == [262, 262, 2 + 0x3C, 2 + 0x73, 2 + 0x3E]
    assert loaded.encode("ab<s>", allowed_special="all") == [262, 1]
    assert loaded.decode([262, 262, 2 + 0x3C]) == "ab ab<"
