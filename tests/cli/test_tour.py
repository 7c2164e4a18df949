"""First meeting: the tour, colors and shell completion."""

import os
import shlex
import sys
from pathlib import Path

import click
import merganser
import processes
import pytest
import terminal
from examples import ROOT
from merganser import cli
from merganser.cli import main
from merganser.cli.tour import STOPS

COMMANDS = [line for lines in STOPS.values() for line in lines]


def test_no_arguments_show_the_tour(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 0
    shown = capsys.readouterr()
    assert shown.err == ""
    lines = shown.out.splitlines()
    assert lines[0].startswith(f"merganser {merganser.__version__}: ")
    assert [line.strip() for line in lines if line.startswith("  ")] == COMMANDS
    assert len(lines) <= 24, "it fits a terminal"
    assert max(map(len, lines)) <= 80


@pytest.mark.parametrize("line", COMMANDS)
def test_every_command_of_the_tour_has_valid_arguments(line: str) -> None:
    program, *arguments = shlex.split(line)
    assert program == "merganser"
    command: click.Command = cli.merganser
    context = click.Context(command)
    while isinstance(command, click.Group):
        found = command.get_command(context, arguments.pop(0))
        assert found is not None, line
        command = found
    command.make_context(line, arguments)  # raises a UsageError


def test_no_color_turns_colors_off(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for size in (258, 262):
        merganser.train(["the cat sat on the mat"] * 9, size).save(tmp_path / f"{size}.merganser")
    (tmp_path / "a.txt").write_text("the cat sat")
    verify = f"['verify', '258.merganser', '262.merganser', '--on', {str(tmp_path / 'a.txt')!r}]"
    script = f"import os, sys; os.chdir({str(tmp_path)!r}); from merganser.cli import main; main({{}})"
    for call in ("[]", verify, "['show', 'the cat', '--tokenizer', '262.merganser']"):
        monkeypatch.delenv("NO_COLOR", raising=False)
        monkeypatch.setenv("TERM", "xterm-256color")
        assert "\x1b[" in terminal.drawn_by(script.format(call)), call
        monkeypatch.setenv("NO_COLOR", "1")
        drawn = terminal.drawn_by(script.format(call))
        # Bold is no color; rich keeps it.
        assert "\x1b[3" not in drawn and "\x1b[4" not in drawn and ";4" not in drawn, call
    assert "the" in drawn and "|" in drawn, "tokens that have no color are separated"


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_completion_script_is_printed(shell: str) -> None:
    done = run_completing({"_MERGANSER_COMPLETE": f"{shell}_source"})
    assert "_MERGANSER_COMPLETE=" in done.stdout
    assert done.stderr == ""
    help = processes.run([sys.executable, "-m", "merganser", "--help"]).stdout
    assert f"_MERGANSER_COMPLETE={shell}_source merganser" in help
    assert f"_MERGANSER_COMPLETE={shell}_source merganser" in (ROOT / "docs/reference/cli.md").read_text(
        "utf-8"
    )


@pytest.mark.parametrize(
    ("typed", "completed"),
    [
        ("merganser tr", "plain,train"),
        ("merganser learn l", "plain,ladder"),
        ("merganser train texts --vocab", "plain,--vocab-size"),
        ("merganser train texts --pattern nano", "plain,nanochat"),
        ("merganser export x --to hugging", "plain,huggingface"),
        ("merganser encode merg", "file,merg"),
        ("merganser train te", "file,te"),
    ],
)
def test_words_are_completed(typed: str, completed: str) -> None:
    words = {"COMP_WORDS": typed, "COMP_CWORD": str(len(typed.split()) - 1)}
    done = run_completing({"_MERGANSER_COMPLETE": "bash_complete", **words})
    assert done.stdout.splitlines() == [completed], done.stderr


def run_completing(environment: dict[str, str]) -> processes.Done:
    return processes.run([sys.executable, "-m", "merganser"], env={**os.environ, **environment})
