"""Exports are verified before they are written: on hard texts, on training text, by their readers."""

from pathlib import Path

import merganser
import pytest
import tiktoken
import tokenizers
from exported import TRAINED
from merganser import exporting
from merganser.verification import readers, verify_export

SMALL = TRAINED["gpt4"]
BYTES = {bytes([byte]): byte for byte in range(256)}


def test_an_export_that_differs_is_refused_and_nothing_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wrong = SMALL.truncated(280)
    for format in ("tiktoken", "huggingface", "gpt2", "minbpe"):
        other = wrong.to_huggingface() if format == "huggingface" else wrong.to_tiktoken()
        monkeypatch.setattr(exporting, "readers", lambda *_, other=other: {"they": other})
        with pytest.raises(merganser.ExportError, match=r"they would produce different ids: .*nothing was"):
            SMALL.export(tmp_path / format, format=format)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("kind", ["counts", "file", "corpus"])
def test_an_export_is_also_verified_on_the_training_text(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Only "zqzqx" differs, and no adversarial text contains it.
    ours = merganser.Tokenizer(BYTES | {b"zq": 256, b"zqzq": 257, b"zqzqx": 258}, pattern=r"\w+|\W+")
    monkeypatch.setattr("merganser.verification.exports.MOST", 1)  # verify on the first token only
    theirs = merganser.Tokenizer(BYTES | {b"zq": 256, b"zqzq": 257, b"zqzqx": 259}, pattern=r"\w+|\W+")
    monkeypatch.setattr(exporting, "readers", lambda *_: {"they": theirs})
    on = {"counts": merganser.count(["zqzqx"]), "corpus": ["zqzqx"]}
    on["file"] = merganser.count(["zqzqx"], out=tmp_path / "a.counts")
    ours.export(tmp_path / "a.tiktoken", format="tiktoken")
    with pytest.raises(merganser.ExportError, match="'zqzqx' becomes"):
        ours.export(tmp_path / "b.tiktoken", format="tiktoken", on=on[kind])
    assert not (tmp_path / "b.tiktoken").exists()


#: The reader of each format, a live object or our own, with the gpt2 pattern and with others.
LIVE, OURS = tiktoken.Encoding | tokenizers.Tokenizer, merganser.Tokenizer
READERS = {
    "tiktoken": (LIVE, LIVE),
    "huggingface": (LIVE, LIVE),
    "gpt2": (LIVE, OURS),
    "minbpe": (OURS, OURS),
    "gguf": (OURS, OURS),
}


@pytest.mark.parametrize("format", READERS)
@pytest.mark.parametrize(("nth", "pattern"), [(0, "gpt2"), (1, "qwen2")])
def test_readers_are_live_objects_if_the_library_is_installed(
    format: str, nth: int, pattern: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    tokenizer = TRAINED[pattern]
    contents = exporting._FORMATS[format].contents(tokenizer, "a")
    ((_, reader),) = readers.readers(tokenizer, format, contents).items()
    assert isinstance(reader, READERS[format][nth])
    verify_export(tokenizer, {"they": reader})
    monkeypatch.setattr(readers, "find_spec", lambda _: None)
    ((name, reader),) = readers.readers(tokenizer, format, contents).items()
    assert name.startswith("our reader")
    assert reader == tokenizer


def test_every_format_has_a_reader() -> None:
    assert {*READERS, "sentencepiece", "token-lengths"} == {*exporting.FORMATS}  # lengths cannot encode
