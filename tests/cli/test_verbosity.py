"""--quiet and --verbose: progress, notes and warnings on standard error; results are unaffected."""

import inspect
import json
import re
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from merganser import cli
from merganser.cli import main, progress
from terminal import on_terminal


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "texts").mkdir()
    (tmp_path / "texts" / "a.txt").write_bytes(b"the cat sat on the mat \xff\n" * 200)
    (tmp_path / "texts" / "b.bin").write_bytes(b"a\0b")
    return tmp_path


TRAIN = ["train", "texts", "--vocab-size", "262", "--json", "--force"]


def test_quiet_prints_no_warnings_and_no_notes(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(TRAIN) == 0
    loud = capsys.readouterr()
    assert "warning: skipped 1 binary file" in loud.err
    assert main([*TRAIN, "--quiet"]) == 0
    quiet = capsys.readouterr()
    assert quiet.err == ""
    assert json.loads(quiet.out)["training"] == json.loads(loud.out)["training"]
    count = ["count", "texts", "--out", "a.counts", "--force"]
    assert main(count) == 0
    assert "note: 200 bytes of invalid UTF-8" in capsys.readouterr().err
    assert main([*count, "-q"]) == 0
    assert capsys.readouterr().err == ""


def test_quiet_draws_no_progress_on_a_terminal(folder: Path) -> None:
    code, _, lines = on_terminal(["-m", "merganser", *TRAIN], folder)
    assert code == 0 and any("merging" in line for line in lines)
    code, output, lines = on_terminal(["-m", "merganser", *TRAIN, "--quiet"], folder)
    assert (code, lines) == (0, [])
    assert json.loads(output)["vocab_size"] == 262


def test_errors_are_printed_in_any_case(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["train", "missing", "--vocab-size", "300", "--quiet"]) == 1
    assert capsys.readouterr().err == "error: there is no file or folder missing; check the path\n"


def test_verbose_prints_progress_as_lines(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*TRAIN, "--verbose"]) == 0
    shown = capsys.readouterr()
    assert re.search(r"^merging: 100%  6 of 6 merges", shown.err, re.MULTILINE)
    assert "\x1b" not in shown.err
    json.loads(shown.out)


def test_verbose_prints_a_line_now_and_then_and_one_at_the_end(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    clock = iter(range(0, 100, 3))  # three seconds between two reports
    monkeypatch.setattr(progress, "monotonic", lambda: float(next(clock)))
    monkeypatch.setattr(progress, "is_verbose", lambda: True)
    with progress.bars() as draw:
        assert draw
        for done in (0, 10, 20, 30, 40, 40):
            draw("merge", done, 40)
        draw("count", 10**6, 0)
    lines = capsys.readouterr().err.splitlines()
    assert [re.search(r"\d+ of 40 merges", line)[0] for line in lines] == [  # type: ignore[index]
        "20 of 40 merges",
        "40 of 40 merges",
    ]


def test_they_cannot_be_combined(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*TRAIN, "--quiet", "--verbose"]) == 2
    assert "--quiet and --verbose cannot be combined; pass one of them" in capsys.readouterr().err


def every_command(group: click.Group) -> Iterator[click.Command]:
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        if isinstance(command, click.Group):
            yield from every_command(command)
        else:
            yield command


def test_every_command_with_progress_has_both() -> None:
    found = set()
    for command in every_command(cli.merganser):
        assert command.callback
        module = Path(inspect.unwrap(command.callback).__code__.co_filename)
        if "progress.bars()" in module.read_text("utf-8"):
            found.add(module.stem)
            assert {"quiet", "verbose"} <= {option.name for option in command.params}, command.name
    assert len(found) > 10
