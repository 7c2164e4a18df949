"""Formatting: paths and tokens fit 80 columns, however long they are."""

import json
from pathlib import Path

import merganser
import pytest
from merganser.cli import formatting, main
from merganser.cli.formatting import short_path, short_token


def test_paths_are_relative_to_the_current_or_home_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    assert short_path(tmp_path / "work" / "out" / "a", 80) == "out/a"
    assert short_path("out/a", 80) == "out/a"
    assert short_path(tmp_path / "other" / "a", 80) == "~/other/a"
    assert short_path("/somewhere/else", 80) == "/somewhere/else"


@pytest.mark.parametrize(
    "path", ["/" + "/".join(["folder"] * 30) + "/tokenizer.merganser", "a" * 200, "/é" * 99]
)
@pytest.mark.parametrize("width", [20, 40, 79])
def test_long_paths_are_shortened_in_the_middle(path: str, width: int) -> None:
    shown = short_path(path, width)
    assert len(shown) <= width
    assert "…" in shown
    assert path.startswith(shown.partition("…")[0])
    assert path.endswith(shown.partition("…")[2])


@pytest.mark.parametrize("token", [b"-" * 1000, "数据".encode() * 200, b"\xff" * 99, b" " * 300])
def test_long_tokens_are_cut_and_followed_by_their_size(token: bytes) -> None:
    shown = short_token(token, 40)
    assert formatting.cells(shown) <= 40
    assert shown.endswith(f"… ({len(token):,} bytes)")
    assert short_token(b" short", 40) == "·short"


def test_results_fit_80_columns_and_json_has_full_paths(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    deep = Path("/tmp", *[tmp_path.name] * 2, *["a folder with a long name"] * 5)
    deep = tmp_path / ".." / Path(*deep.parts[1:])  # neither inside this folder nor inside the home folder
    text = "=" * 400 + " numbers and 数据 and words\n"
    Path("a.txt").write_text(text * 50, "utf-8")
    out = str(deep / "trained")
    commands = [
        ["train", "a.txt", "--vocab-size", "400", "--pattern", r"\S+|\s+", "--out", out],
        ["count", "a.txt", "--out", str(deep / "a.counts")],
        ["encode", out, "a.txt", "--out", str(deep / "ids")],
        ["encode", out, "a.txt", "--out", str(deep / "ids")],
        ["export", out, "--to", "minbpe", "--out", str(deep / "m.model")],
        ["export", str(deep / "a.counts"), "--to", "tsv", "--out", str(deep / "a.counts.tsv")],
        ["inspect", out],
        ["inspect", str(deep / "a.counts")],
        ["compare", out, "--on", "a.txt", str(deep / "a.counts.tsv")],
        ["verify", out, out, "--on", "a.txt"],
    ]
    for command in commands:
        assert main(command) == 0, capsys.readouterr().err
        printed = capsys.readouterr().out.splitlines()
        assert max(map(formatting.cells, printed)) <= 80, (command, printed)
    assert main(["inspect", out]) == 0
    assert "bytes)" in capsys.readouterr().out
    assert main([*commands[0], "--force", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["tokenizer"] == f"{out}/tokenizer.merganser"
    assert main(["inspect", out, "--json"]) == 0
    longest = max(map(len, merganser.load(out).mergeable_ranks))
    assert max(map(len, json.loads(capsys.readouterr().out)["longest_tokens"])) >= longest
