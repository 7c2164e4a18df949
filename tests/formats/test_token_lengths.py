"""Token lengths: the number of bytes of every id, for bits per byte."""

import importlib.util
import io
import sys
import zipfile
from pathlib import Path

import merganser
import numpy as np
import pytest
import vocabs
from merganser import FormatError, Tokenizer
from merganser.formats import BadFile, token_lengths

GAPS = Tokenizer(
    {bytes([byte]): byte for byte in range(256)} | {"né".encode(): 300},
    special_tokens={"<s>": 256, "</s>": 302},
)
EXPECTED = [*[1] * 256, *[0] * 44, 3, 0, 0]


def test_special_tokens_and_unused_ids_have_length_zero(tmp_path: Path) -> None:
    for path in (tmp_path / "t.npy", tmp_path / "folder"):
        [file] = GAPS.export(path, format="token-lengths")
        lengths = np.load(file, allow_pickle=False)
        assert lengths.dtype == np.int32
        assert lengths.tolist() == EXPECTED
    assert file == tmp_path / "folder" / "token_lengths.npy"


@pytest.mark.parametrize("name", vocabs.ALL)
def test_the_lengths_of_a_text_add_up_to_its_bytes(tmp_path: Path, name: str) -> None:
    tokenizer = vocabs.ours(name)
    [file] = tokenizer.export(tmp_path / "t.npy", format="token-lengths")
    lengths = np.load(file, allow_pickle=False)
    assert len(lengths) == tokenizer.next_id
    text = "naïve café 中文 2024 👍👍\n\n  the end"
    assert lengths[tokenizer.encode(text)].sum() == len(text.encode())
    assert not lengths[list(tokenizer.special_tokens.values())].any()


def test_lengths_are_not_loaded_as_a_tokenizer(tmp_path: Path) -> None:
    GAPS.export(tmp_path / "t.npy", format="token-lengths")
    with pytest.raises(
        FormatError, match=r"t\.npy is a numpy array.*not a tokenizer; load the tokenizer that"
    ):
        merganser.load(tmp_path / "t.npy")


def test_without_torch_the_message_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(ImportError, match="pip install torch"):
        GAPS.export(tmp_path / "t.pt", format="token-lengths")
    assert not list(tmp_path.iterdir())


@pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="torch is not installed")
def test_torch_loads_lengths_without_executing_code(tmp_path: Path) -> None:
    import torch

    [file] = GAPS.export(tmp_path / "t.pt", format="token-lengths")
    tensor = torch.load(io.BytesIO(file.read_bytes()), weights_only=True)
    assert tensor.dtype == torch.int32
    assert tensor.tolist() == EXPECTED
    with pytest.raises(FormatError, match="would execute the code in it"):
        merganser.load(file)


def archive(members: dict[str, bytes]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as zipped:
        for name, data in members.items():
            zipped.writestr(f"token_bytes/{name}", data)
    return out.getvalue()


def test_values_of_a_pt_file_are_read_without_its_pickle() -> None:
    sizes = np.array([1, 0, 70_000], "<i4")
    pickled = b"cos\nsystem\n(S'exit 1'\ntR."
    members = {"data.pkl": pickled, "byteorder": b"little", "data/0": sizes.tobytes(), "version": b"3\n"}
    read = token_lengths.read_pt(archive(members), 3)
    assert read.tolist() == [1, 0, 70_000]
    assert read.dtype == np.int32
    read[0] = 2  # torch.from_numpy needs an array that can be written
    assert token_lengths.read_pt(archive({"data/0": sizes.tobytes()}), 3).tolist() == [1, 0, 70_000]
    for bad, size in (
        (members, 4),
        (members | {"data/1": b""}, 3),
        (members | {"byteorder": b"big"}, 3),
        ({"data.pkl": pickled}, 0),
    ):
        with pytest.raises(BadFile, match=f"does not hold the lengths of {size} tokens"):
            token_lengths.read_pt(archive(bad), size)
    whole = archive(members)
    for cut in range(0, len(whole), 7):
        with pytest.raises(BadFile):
            token_lengths.read_pt(whole[:cut], 3)
    with pytest.raises(BadFile):
        token_lengths.read_pt(whole.replace(sizes.tobytes(), b"\0" * 12), 3)  # the checksum is another
