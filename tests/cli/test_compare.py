"""merganser compare: the same numbers as a table, as Markdown and as JSON."""

import json
from pathlib import Path

import merganser
import pytest
from merganser.cli import main

TEXT = "the cat sat on the mat with the other cat\n" * 20


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("news.txt").write_text(TEXT)
    Path("code.txt").write_text("if cat: sat(mat)\n" * 9)
    merganser.train([TEXT], 270).save("a.merganser")
    merganser.train([TEXT], 256).save("b.merganser")
    return tmp_path


def test_json_has_the_numbers(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", "a.merganser", "b.merganser", "--on", "news.txt", "code.txt", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["rows"]
    assert [(row["corpus"], row["tokenizer"]) for row in rows] == [
        (corpus, name)
        for corpus in ("news.txt", "code.txt", "all")
        for name in ("a.merganser", "b.merganser")
    ]
    tokens = len(merganser.load("a.merganser").encode(TEXT))
    assert rows[0] == {
        "corpus": "news.txt",
        "tokenizer": "a.merganser",
        "vocab_size": 270,
        "bytes": len(TEXT),
        "tokens": tokens,
        "relative": 0.0,
        "bytes_per_token": len(TEXT) / tokens,
    }
    assert rows[1]["tokens"] == len(TEXT)
    assert rows[1]["relative"] == len(TEXT) / tokens - 1


def test_corpora_may_be_passed_in_any_order(capsys: pytest.CaptureFixture[str]) -> None:
    outputs = []
    for arguments in (
        ["a.merganser", "b.merganser", "--on", "news.txt", "code.txt", "--threads", "1"],
        ["--on", "news.txt", "--on", "code.txt", "--threads", "2", "a.merganser", "b.merganser"],
        ["a.merganser", "b.merganser", "--on=news.txt", "--on=code.txt"],
    ):
        assert main(["compare", *arguments]) == 0
        outputs.append(capsys.readouterr().out)
    assert outputs[0] == outputs[1] == outputs[2]
    lines = outputs[0].splitlines()
    assert lines[0].split()[:4] == ["corpus", "tokenizer", "vocabulary", "tokens"]
    assert lines[1].split() == ["news.txt", "a.merganser", "270", *lines[1].split()[3:5], "+0.0%"]
    assert lines[2].split()[2:5] == ["256", "840", "1.000"]
    assert [line for line in lines if not line] == ["", ""]


def test_markdown_escapes_and_aligns_cells(capsys: pytest.CaptureFixture[str]) -> None:
    Path("x|y.txt").write_text(TEXT)
    assert main(["compare", "a.merganser", "--on", "x|y.txt", "--markdown"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[1] == "| --- | --- | ---: | ---: | ---: | ---: |"
    assert lines[2].startswith(r"| x\|y.txt | a.merganser | 270 | ")


def test_a_rank_file_is_named_with_its_pattern(capsys: pytest.CaptureFixture[str]) -> None:
    import base64

    ranks = (b"%s %d\n" % (base64.b64encode(bytes([byte])), byte) for byte in range(256))
    Path("bytes.tiktoken").write_bytes(b"".join(ranks))
    assert main(["compare", "bytes.tiktoken@gpt2", "--on", "news.txt", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["rows"][0]["tokens"] == len(TEXT)
    assert main(["compare", "bytes.tiktoken", "--on", "news.txt"]) == 1
    assert "write bytes.tiktoken@PATTERN" in capsys.readouterr().err


def test_missing_files_are_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", "a.merganser", "--on", "gone.txt"]) == 1
    assert "gone.txt" in capsys.readouterr().err
    assert main(["compare", "gone.merganser", "--on", "news.txt"]) == 1
    assert "gone.merganser" in capsys.readouterr().err
    assert main(["compare", "a.merganser"]) == 2


def test_corpora_with_the_same_label_are_added_up(capsys: pytest.CaptureFixture[str]) -> None:
    Path("src").mkdir()
    for name in ("one.py", "two.py"):
        Path("src", name).write_text("if cat: sat(mat)\n" * 9)
    Path("a=b.txt").write_text(TEXT)
    on = ["news=news.txt", "code=src/*.py", "code=code.txt", "a=b.txt", "news.txt", "news.txt"]
    assert main(["compare", "a.merganser", "--on", *on, "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["rows"]
    sizes = {row["corpus"]: row["bytes"] for row in rows}
    code = len("if cat: sat(mat)\n" * 27)
    assert sizes == {
        "news": len(TEXT),
        "code": code,
        "a=b.txt": len(TEXT),
        "news.txt": len(TEXT),
        "all": 3 * len(TEXT) + code,
    }


def test_a_named_dataset_with_a_local_copy_is_not_a_label(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", "a.merganser", "--on", "frankenstein=news.txt"]) == 1
    assert "is not Project Gutenberg 84" in capsys.readouterr().err
    assert main(["compare", "a.merganser", "--on", "book=frankenstein=news.txt"]) == 1
    assert "is not Project Gutenberg 84" in capsys.readouterr().err
