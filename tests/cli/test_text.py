"""TEXT arguments: a text, a file or standard input, but never a misspelled path."""

from pathlib import Path

import merganser
import pytest
from merganser.cli import main
from merganser.cli.text import looks_like_path


@pytest.fixture(autouse=True)
def tokenizer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> merganser.Tokenizer:
    monkeypatch.chdir(tmp_path)
    trained = merganser.train(["low lower lowest"] * 9, 262, special_tokens=["<|a|>", "<|b|>"])
    trained.save("tokenizer.merganser")
    return trained


@pytest.mark.parametrize("command", ["encode", "show"])
@pytest.mark.parametrize(
    "missing", ["missing.txt", "./missing", "texts/missing.dat", "~/missing", "data.JSONL"]
)
def test_a_missing_path_is_not_used_as_text(
    command: str, missing: str, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = {
        "encode": ["encode", "tokenizer.merganser", missing],
        "show": ["show", missing, "--tokenizer", "tokenizer.merganser"],
    }[command]
    assert main(arguments) == 1
    shown = capsys.readouterr()
    assert shown.err == (
        f"error: file {missing} does not exist; check the path, or pass --text to use it as text\n"
    )
    assert shown.out == ""
    assert main([*arguments, "--text"]) == 0


def test_a_name_in_an_existing_folder_is_a_path(tmp_path: Path) -> None:
    assert not looks_like_path("and/or")
    (tmp_path / "and").mkdir()
    assert looks_like_path("and/or")


@pytest.mark.parametrize(
    "text",
    ["hello", "3.14", "e.g.", "and/or", "1/2", "</s>", "/s", "//", "Node.js", "example.com", "U.S.A", "...",
     "", "the file missing.txt", "https://example.com/a.txt", "a\nb.txt", "<|a|>", "\\d+", "日本語"],
)  # fmt: skip
def test_text_that_is_not_a_path_is_encoded(
    text: str, tokenizer: merganser.Tokenizer, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["encode", "tokenizer.merganser", text, "--ordinary"]) == 0
    assert capsys.readouterr().out.split() == [str(id) for id in tokenizer.encode_ordinary(text)]


def test_a_file_is_read_unless_text_is_passed(
    tmp_path: Path, tokenizer: merganser.Tokenizer, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a.txt").write_text("lowest")
    for more, text in (([], "lowest"), (["--text"], "a.txt")):
        assert main(["encode", "tokenizer.merganser", "a.txt", *more]) == 0
        assert capsys.readouterr().out.split() == [str(id) for id in tokenizer.encode(text)]
        assert main(["show", "a.txt", "--tokenizer", "tokenizer.merganser", "--json", *more]) == 0
        assert f'"text": "{text}"' in capsys.readouterr().out


def test_the_help_explains_what_is_a_path(capsys: pytest.CaptureFixture[str]) -> None:
    for command in ("encode", "show"):
        assert main([command, "--help"]) == 0
        help = " ".join(capsys.readouterr().out.split())
        assert "looks like the path of a file that does not exist" in help
        assert "--text" in help


@pytest.mark.parametrize("command", ["encode", "show", "corpus"])
def test_an_unknown_special_token_is_reported_with_those_that_exist(
    command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a.txt").write_text("lowest<|c|>")
    arguments = {
        "encode": ["encode", "tokenizer.merganser", "low<|c|>"],
        "show": ["show", "low<|c|>", "--tokenizer", "tokenizer.merganser"],
        "corpus": ["encode", "tokenizer.merganser", "a.txt", "--out", "tokens"],
    }[command]
    assert main([*arguments, "--allow-special", "<|c|>"]) == 1
    error = capsys.readouterr().err
    assert '"<|c|>", which is not a special token of this tokenizer; it has "<|a|>", "<|b|>"' in error
    assert not (tmp_path / "tokens").exists()
