"""Loading: formats are recognized by content, folders by their files, and no code is executed."""

import base64
import gzip
import pickle
import shutil
import zipfile
from pathlib import Path

import merganser
import pytest
from exported import TRAINED
from merganser import FormatError
from merganser.exporting import FORMATS
from merganser.formats import reading, recognizing

TOKENIZER = TRAINED["llama3"]
#: Formats that hold a tokenizer, each with the file that identifies it.
FILES = {
    "tiktoken": "tiktoken_ext/t.json",
    "huggingface": "tokenizer.json",
    "gpt2": "vocab.json",
    "minbpe": "tokenizer.model",
    "gguf": "tokenizer.gguf",
}


def test_every_format_is_covered() -> None:
    assert {*FILES, "sentencepiece", "token-lengths"} == {*FORMATS}  # the last two hold other things


@pytest.mark.parametrize("format", FILES)
def test_a_folder_is_recognized_by_its_files(tmp_path: Path, format: str) -> None:
    TOKENIZER.export(tmp_path / "t", format=format)  # type: ignore[arg-type]
    settings = {"pattern": "llama3"} if format == "gpt2" else {}
    assert merganser.load(tmp_path / "t", **settings) == TOKENIZER
    (tmp_path / "t" / ".hidden.gguf").write_bytes(b"")
    assert merganser.load(tmp_path / "t", **settings) == TOKENIZER


@pytest.mark.parametrize("format", ["huggingface", "minbpe", "gguf"])
def test_the_name_of_a_file_does_not_matter(tmp_path: Path, format: str) -> None:
    TOKENIZER.export(tmp_path / "t", format=format)  # type: ignore[arg-type]
    shutil.move(tmp_path / "t" / FILES[format], tmp_path / "weights.bin")
    assert merganser.load(tmp_path / "weights.bin") == TOKENIZER


def test_the_native_file_takes_precedence(tmp_path: Path) -> None:
    TRAINED["gpt4"].export(tmp_path, format="huggingface")
    TOKENIZER.save(tmp_path / "tokenizer.merganser")
    assert merganser.load(tmp_path) == TOKENIZER


def test_a_folder_without_a_tokenizer_lists_the_known_files(tmp_path: Path) -> None:
    with pytest.raises(FormatError) as error:
        merganser.load(tmp_path)
    for name in recognizing.IN_FOLDERS:
        assert name in str(error.value)


def test_several_tokenizers_in_a_folder_are_refused(tmp_path: Path) -> None:
    for name in ("a", "b"):
        TOKENIZER.export(tmp_path / f"{name}.gguf", format="gguf")
    with pytest.raises(
        FormatError, match=r"several tokenizers, such as a\.gguf and b\.gguf; pass the path of one"
    ):
        merganser.load(tmp_path)
    assert merganser.load(tmp_path / "a.gguf") == TOKENIZER


class Trap:
    """Fails the test if it is unpickled."""

    def __reduce__(self) -> tuple[object, ...]:
        return pytest.fail, ("code was executed",)


def test_pickles_are_recognized_and_never_loaded(tmp_path: Path) -> None:
    for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1):
        (tmp_path / f"{protocol}.pkl").write_bytes(pickle.dumps(Trap(), protocol))
    with zipfile.ZipFile(tmp_path / "torch.pt", "w") as archive:
        archive.writestr("archive/data.pkl", pickle.dumps(Trap()))
    for file in tmp_path.iterdir():
        kind = "pickle" if file.suffix == ".pkl" else "zip file, as written by torch.save"
        with pytest.raises(FormatError, match=f"{file.name} is a {kind}; .*which merganser never does"):
            merganser.load(file)


def test_the_error_for_a_pickle_says_how_to_load_a_trusted_one(tmp_path: Path) -> None:
    file = tmp_path / "tokenizer.pkl"
    file.write_bytes(pickle.dumps(TOKENIZER.to_tiktoken("rustbpe")))
    for source in (file, tmp_path):
        with pytest.raises(
            FormatError, match=r"tokenizer\.pkl is a pickle.*merganser\.load\(pickle\.load\(file\)\)"
        ):
            merganser.load(source)
    with file.open("rb") as opened:
        assert merganser.load(pickle.load(opened)) == TOKENIZER


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match="nowhere: No such file"):
        merganser.load(tmp_path / "nowhere")
    with pytest.raises(FormatError, match="check the path"):
        merganser.load("with\0NUL")


def test_a_gzipped_rank_file_is_read(tmp_path: Path) -> None:
    data = b"".join(b"%s %d\n" % (base64.b64encode(bytes([byte])), byte) for byte in range(256))
    (tmp_path / "t.tiktoken.gz").write_bytes(gzip.compress(data))
    assert merganser.load(tmp_path, pattern="gpt2").encode("hi") == [104, 105]
    (tmp_path / "cut.gz").write_bytes(gzip.compress(data)[:-9])
    with pytest.raises(merganser.FormatError, match="gzipped and truncated"):
        merganser.load(tmp_path / "cut.gz", pattern="gpt2")
    (tmp_path / "bad.gz").write_bytes(b"\x1f\x8b" + b"x" * 99)
    with pytest.raises(merganser.FormatError, match="it is gzipped, but"):
        merganser.load(tmp_path / "bad.gz", pattern="gpt2")


def test_a_gzipped_file_that_would_become_too_large_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading, "_MAX_UNZIPPED", 1 << 16)
    (tmp_path / "t.gz").write_bytes(gzip.compress(bytes(1 << 20)))
    with pytest.raises(merganser.FormatError, match="cannot be a tokenizer"):
        merganser.load(tmp_path / "t.gz", pattern="gpt2")


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"[PAD]\n[unused0]\n[UNK]\n[CLS]\n", "WordPiece.*tokenizers"),
        (b"1 '\\x00' 1\n2 '\\x01' 1\n", "RWKV.*rwkv package"),
    ],
)
def test_vocabularies_that_are_not_bpe_name_the_library_to_use(
    tmp_path: Path, data: bytes, reason: str
) -> None:
    (tmp_path / "vocab.txt").write_bytes(data)
    with pytest.raises(merganser.FormatError, match=reason):
        merganser.load(tmp_path)
