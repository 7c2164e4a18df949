"""GPT-2's files: other readers produce our ids, files round-trip, and invalid ones are refused."""

import json
import shutil
from pathlib import Path

import merganser
import pytest
import vocabs
from corpora import corpus_text
from exported import ADVERSARIAL, TRAINED
from hypothesis import given
from merganser import ExportError, FormatError, SettingsError, Tokenizer
from merganser.formats import gpt2, native
from strategies import texts
from tokenizers import Tokenizer as Theirs
from tokenizers import decoders, models, pre_tokenizers

BYTES = {bytes([byte]): byte for byte in range(256)}
GPT2 = TRAINED["gpt2"]


def theirs(folder: Path) -> Theirs:
    tokenizer = Theirs(models.BPE.from_file(str(folder / "vocab.json"), str(folder / "merges.txt")))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    return tokenizer


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("gpt2")
    assert GPT2.export(folder, format="gpt2") == [folder / "vocab.json", folder / "merges.txt"]
    return folder


@given(text=texts)
def test_the_peer_produces_the_same_ids(folder: Path, text: str) -> None:
    assert theirs(folder).encode(text).ids == GPT2.encode_ordinary(text)


@pytest.mark.parametrize("name", ADVERSARIAL)
def test_the_peer_produces_the_same_ids_for_adversarial_texts(folder: Path, name: str) -> None:
    text = ADVERSARIAL[name]
    assert theirs(folder).encode(text).ids == GPT2.encode_ordinary(text)


def test_the_peer_produces_the_same_ids_for_real_text(tmp_path: Path) -> None:
    text = corpus_text("multilingual.txt", 300_000)
    tokenizer = merganser.train([text], 2000, pattern="gpt2")
    tokenizer.export(tmp_path, format="gpt2")
    assert theirs(tmp_path).encode(text).ids == tokenizer.encode_ordinary(text)


@pytest.mark.parametrize("pattern", TRAINED)
def test_a_written_file_is_read_and_rewritten_identically(tmp_path: Path, pattern: str) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    TRAINED[pattern].export(first, format="gpt2")
    for source in (first, first / "vocab.json", first / "merges.txt"):
        back = merganser.load(source, pattern=pattern)
        assert back == TRAINED[pattern]
        back.export(second, format="gpt2")
        for name in ("vocab.json", "merges.txt"):
            assert (first / name).read_bytes() == (second / name).read_bytes()


def test_the_real_gpt2_vocabulary_round_trips(tmp_path: Path) -> None:
    tokenizer = vocabs.ours("gpt2")
    tokenizer.export(tmp_path, format="gpt2")
    assert merganser.load(tmp_path, pattern="gpt2") == tokenizer
    vocab = json.loads((tmp_path / "vocab.json").read_text("utf-8"))
    assert vocab["<|endoftext|>"] == len(vocab) - 1 == len(tokenizer.mergeable_ranks)
    ids = vocabs.theirs("gpt2").encode_ordinary(" the cat")
    assert [vocab[token] for token in theirs(tmp_path).encode(" the cat").tokens] == ids
    version, *merges = (tmp_path / "merges.txt").read_text("utf-8").splitlines()
    assert version == "#version: 0.2"
    assert [vocab[merge.replace(" ", "")] for merge in merges] == list(range(256, len(vocab) - 1))
    if vocabs.is_real("gpt2"):
        assert vocab["Ġthe"] == 262
        assert vocab["<|endoftext|>"] == 50256
        assert merges[:3] == ["Ġ t", "Ġ a", "h e"]


# ── refused exports ───────────────────────────────────────────────────────────


def test_a_token_that_no_merge_produces_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ExportError, match="the first of them b'abc', are not produced by any merge"):
        Tokenizer(BYTES | {b"abc": 256}).export(tmp_path / "new", format="gpt2")
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize("special", ["Ġ", "é"])
def test_a_special_token_that_spells_a_byte_is_refused(tmp_path: Path, special: str) -> None:
    with pytest.raises(ExportError, match="another name"):
        Tokenizer(BYTES, special_tokens={special: 256}).export(tmp_path, format="gpt2")


def test_a_merge_that_looks_like_the_first_line_is_refused(tmp_path: Path) -> None:
    ranks = BYTES | {b"#version"[:length]: 254 + length for length in range(2, 9)} | {b"#version:": 263}
    tokenizer = Tokenizer(ranks)
    assert tokenizer.merges[-1] == (b"#version", b":")
    with pytest.raises(ExportError, match="#version"):
        tokenizer.export(tmp_path, format="gpt2")


def test_an_unknown_format_is_reported_with_the_known_ones(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"unknown export format 'pickle'; use one of .*gpt2.*lengths$"):
        GPT2.export(tmp_path, format="pickle")  # type: ignore[arg-type]


def test_a_file_in_place_of_the_folder_is_reported(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(merganser.WriteError, match="is a file, not a folder"):
        GPT2.export(tmp_path / "file", format="gpt2")


# ── refused files ─────────────────────────────────────────────────────────────


def test_the_pattern_is_required_and_special_tokens_are_refused(folder: Path) -> None:
    with pytest.raises(SettingsError, match="pattern="):
        merganser.load(folder)
    with pytest.raises(SettingsError, match="special tokens"):
        merganser.load(folder, pattern="gpt2", special_tokens={})


@pytest.mark.parametrize(
    ("vocab", "merges", "message"),
    [
        ({"ab": 256, "abc": 257}, "a b\nab c\nb", "line 3"),
        ({"ab": 256, "abc": 257}, "a b\nab  c", "line 2"),
        ({"ab": 256}, "a b\nb c", "are not tokens"),
        ({"ab": 256}, "a b\n ", "are not tokens"),
        ({"ab": 256, "abc": 257}, "a b\na bc", "are not tokens"),
        ({"ab": "256"}, "a b", "map every token to an id"),
        ({"ab": True}, "a b", "map every token to an id"),
        ({"ab": -1}, "a b", "map every token to an id"),
        ({"ab": 97}, "a b", "both"),
        ({"ab": 1 << 31}, "a b", "too high"),
    ],
)
def test_invalid_files_are_refused(
    tmp_path: Path, vocab: dict[str, object], merges: str, message: str
) -> None:
    base = {gpt2.to_printable(token): id for token, id in BYTES.items()}
    (tmp_path / "vocab.json").write_text(json.dumps(base | vocab), "utf-8")
    (tmp_path / "merges.txt").write_text(merges, "utf-8")
    with pytest.raises(FormatError, match=rf"vocab\.json.*{message}"):
        merganser.load(tmp_path, pattern="gpt2")


@pytest.mark.parametrize(
    ("vocab", "merges", "ids"),
    [
        ({"ab": 257, "bc": 256}, "a b\nb c", [257, 99]),  # ids are not in the order of the merges
        ({"ab": 256, "abc": 257, "bc": 258}, "a b\na bc\nb c", [256, 99]),
        ({"<s>": 256, "ab": 300}, "a b", [300, 99]),
    ],
)
def test_files_that_are_not_plain_are_loaded(
    tmp_path: Path, vocab: dict[str, int], merges: str, ids: list[int]
) -> None:
    base = {gpt2.to_printable(token): id for token, id in BYTES.items()}
    (tmp_path / "encoder.json").write_text(json.dumps(base | vocab), "utf-8")
    (tmp_path / "vocab.bpe").write_text(f"#version: 0.2\n{merges}\n", "utf-8")
    loaded = merganser.load(tmp_path)  # OpenAI's names imply the pattern
    assert loaded.encode_ordinary("abc") == ids
    assert loaded.decode(ids) == "abc"


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"{", "is corrupt: it is not JSON"),
        (b'{"a": 1, "a": 2}', "is corrupt: it has the same token or key twice"),
        (b"{\xff}", "is corrupt: it is not JSON"),
        (b'{"a":' * 100_000, "is corrupt: it is not JSON"),
        (b'{"a": {}}', "is corrupt: its vocabulary does not map every token to an id"),
        (b"{}", "is not in a known tokenizer format"),
    ],
)
def test_a_corrupt_vocabulary_is_refused(folder: Path, tmp_path: Path, data: bytes, message: str) -> None:
    shutil.copy(folder / "merges.txt", tmp_path)
    (tmp_path / "vocab.json").write_bytes(data)
    with pytest.raises(FormatError, match=message):
        merganser.load(tmp_path, pattern="gpt2")


def test_one_file_without_the_other_is_refused(folder: Path, tmp_path: Path) -> None:
    for name, other in (("vocab.json", "merges.txt"), ("merges.txt", "vocab.json")):
        shutil.copy(folder / name, tmp_path)
        with pytest.raises(FormatError, match=other):
            merganser.load(tmp_path / name, pattern="gpt2")
        (tmp_path / name).unlink()


def test_files_beyond_the_limits_are_refused(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(native, "MAX_TOKENS", 100)
    with pytest.raises(FormatError, match="more than 100"):
        merganser.load(folder, pattern="gpt2")
