"""Help: every page fits 80 columns, commands are grouped, and nothing is truncated."""

import re
from collections.abc import Iterator

import click
import merganser
import pytest
from merganser import cli
from merganser.cli import GROUPS, learn, main

#: Commands that read a corpus.
READERS = ("train", "count", "encode", "embed", "verify", "bench", "compare", "report")


def commands(group: click.Command, *path: str) -> Iterator[tuple[str, ...]]:
    """Yield the path of every command and subcommand that click knows, including new ones."""
    yield path
    if isinstance(group, click.Group):
        context = click.Context(group)
        for name in group.list_commands(context):
            command = group.get_command(context, name)
            assert command is not None, name
            yield from commands(command, *path, name)


PAGES = list(commands(cli.merganser))


def page(capsys: pytest.CaptureFixture[str], *command: str) -> str:
    assert main([*command, "--help"]) == 0
    return capsys.readouterr().out


@pytest.mark.parametrize("command", PAGES, ids=lambda command: "-".join(command) or "merganser")
@pytest.mark.parametrize("columns", ["80", "200"])
def test_every_page_fits_80_columns_and_is_not_truncated(
    columns: str,
    command: tuple[str, ...],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("COLUMNS", columns)  # lines must not grow with the terminal
    lines = page(capsys, *command).splitlines()
    assert max(map(len, lines)) <= 80
    assert not [line for line in lines if "…" in line]
    assert not [line for line in lines if line.endswith("...") and not line.startswith("Usage:")]
    assert not [line for line in lines if "None" in line], "a range shows its limits"
    examples = [nth for nth, line in enumerate(lines) if line.startswith("  Example: ")]
    assert not [lines[nth] for nth in examples if lines[nth + 1]], "an example is one line that can be copied"


def test_every_command_is_checked() -> None:
    """Both levels of commands are found."""
    assert {path[0] for path in PAGES if path} == {name for lines in GROUPS.values() for name in lines}
    assert {path[1] for path in PAGES if len(path) > 1} == set(learn.LINES)


@pytest.mark.parametrize("command", [path for path in PAGES if path], ids="-".join)
def test_options_are_described_in_one_or_two_short_sentences(command: tuple[str, ...]) -> None:
    found: click.Command | None = cli.merganser
    for name in command:
        assert isinstance(found, click.Group)
        found = found.get_command(click.Context(found), name)
    assert found is not None
    for option in found.params:
        if isinstance(option, click.Option):
            assert option.help, option.name
            assert option.help.endswith("."), option.help
            assert len(option.help) <= 170, option.help


def test_commands_are_grouped_and_their_lines_have_at_most_60_characters(
    capsys: pytest.CaptureFixture[str],
) -> None:
    text = page(capsys)
    for title, commands in GROUPS.items():
        section = text.partition(f"\n{title}:\n")[2].partition("\n\n")[0]
        listed = dict(line.split(maxsplit=1) for line in section.splitlines())
        assert listed == commands
    assert {*learn.LINES} == set(re.findall(r"^  (\w+)  ", page(capsys, "learn"), re.MULTILINE)) - {"h"}
    for line in [*(line for lines in GROUPS.values() for line in lines.values()), *learn.LINES.values()]:
        assert len(line) <= 60


@pytest.mark.parametrize("command", ["train", "count", "report"])
def test_the_help_of_pattern_lists_the_presets(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    words = " ".join(page(capsys, command).split())
    assert f"Split pattern: {', '.join(merganser.preset_names())}, or a regular expression" in words


@pytest.mark.parametrize("command", READERS)
def test_the_help_of_corpus_lists_the_file_formats(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    text = page(capsys, command)
    kinds = (
        ".jsonl",
        ".ndjson",
        ".json",
        ".csv",
        ".tsv",
        ".parquet",
        ".counts",
        ".gz",
        ".zst",
        ".xz",
        ".bz2",
    )
    assert [kind for kind in kinds if kind not in text] == []
