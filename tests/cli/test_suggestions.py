"""Misspelled commands, options, presets, formats, names and numbers: the error suggests the right one."""

import json
from pathlib import Path

import pytest
from merganser.cli import main


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.txt").write_text("the cat sat on the mat with the other cat\n" * 20)
    return tmp_path


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["trian", "a.txt"], 2, "No such command 'trian'. Did you mean 'train'?"),
        (["embd"], 2, "No such command 'embd'. Did you mean 'embed'?"),
        (["learn", "tarce", "x"], 2, "No such command 'tarce'. Did you mean 'trace'?"),
        (["frobnicate"], 2, "No such command 'frobnicate'. The commands are train, count, encode"),
        (["train", "a.txt", "--vocabsize", "300"], 2, "--vocab-size"),
        (["train", "a.txt", "--vocab-size", "many"], 2, "'many' is not a number of tokens; write 32000,"),
        (["train", "a.txt", "--vocab-size", "1.5"], 2, "'1.5' is not a number of tokens"),
        (["train", "a.txt", "--vocab-size", "1,00"], 2, "'1,00' is not a number of tokens"),
        (["encode", "x", "a.txt", "--out", "o", "--shard-tokens", "0k"], 2, "0 is not in the range x>=1"),
        (["train", "a.txt", "--vocab-size", "300", "--pattern", "gpt5"], 1, 'did you mean "gpt2" or "gpt4"?'),
        (["count", "a.txt", "--out", "a.counts", "--pattern", "cl100k_base"], 1, 'did you mean "gpt4"?'),
        (["export", "x", "--to", "hugingface", "--out", "o"], 2, "Did you mean 'huggingface'?"),
        (["export", "x", "--to", "pickle", "--out", "o"], 2, "is not one of 'tiktoken', 'huggingface',"),
        (["encode", "x", "a.txt", "--out", "o", "--format", "lmc"], 2, "Did you mean 'llmc'?"),
        (["train", "a.txt", "--vocab-size", "300", "--tie-break", "id"], 2, "Did you mean 'ids'?"),
        (["train", "frankenstien", "--vocab-size", "300"], 1, "did you mean 'frankenstein'?"),
        (["encode", "cl100k_bas", "text"], 1, "check the path; did you mean 'cl100k_base'?"),
        (["encode", "missing", "text"], 1, "No such file or directory; check the path\n"),
    ],
)  # fmt: skip
def test_the_closest_match_is_suggested(
    arguments: list[str], code: int, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == code
    assert message in capsys.readouterr().err


@pytest.mark.parametrize("written", ["1000", "1k", "1K", "1_000", "1,000", "0.001M"])
def test_numbers_of_tokens_may_be_abbreviated(written: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["train", "a.txt", "--vocab-size", written, "--json"]) == 0
    shown = capsys.readouterr()
    assert "instead of 1000: no pair is left to merge" in shown.err
    assert json.loads(shown.out)["vocab_size"] < 1000


def test_a_warning_is_printed_once(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The corpus is read twice, once for each pattern."""
    for pattern in ("gpt2", "gpt4"):
        assert main(["train", "a.txt", "--vocab-size", "260", "--pattern", pattern, "--out", pattern]) == 0
    (folder / "texts").mkdir()
    (folder / "texts" / "a.txt").write_text("the cat")
    (folder / "texts" / "b.bin").write_bytes(b"a\0b")
    capsys.readouterr()
    assert main(["compare", "gpt2", "gpt4", "--on", "texts"]) == 0
    assert capsys.readouterr().err == "warning: skipped 1 binary file below texts: b.bin\n"
