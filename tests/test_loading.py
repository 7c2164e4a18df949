"""Loading: formats are recognized by content, folders by their files, and no code is executed."""

import pickle
import shutil
import zipfile
from pathlib import Path

import merganser
import pytest
from exported import TRAINED
from merganser import FormatError
from merganser.exporting import FORMATS
from merganser.formats import loading

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
    assert [*FILES, "token-lengths"] == list(FORMATS)


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
    for name in loading._IN_FOLDERS:
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
