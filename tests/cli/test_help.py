"""Help: every page fits 80 columns, commands stand in groups, and nothing is cut."""

import re

import merganser
import pytest
from merganser.cli import COMMANDS, GROUPS, learn, main

PAGES = [(), *((name,) for name in COMMANDS), *(("learn", name) for name in learn.LINES)]
#: The commands that read a corpus.
READERS = ("train", "count", "encode", "embed", "verify", "compare", "report")


def page(capsys: pytest.CaptureFixture[str], *command: str) -> str:
    assert main([*command, "--help"]) == 0
    return capsys.readouterr().out


@pytest.mark.parametrize("command", PAGES, ids=lambda command: "-".join(command) or "merganser")
def test_every_page_fits(
    command: tuple[str, ...], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "200")  # a wide terminal does not make long lines
    lines = page(capsys, *command).splitlines()
    assert max(map(len, lines)) <= 80
    assert not [line for line in lines if line.endswith("...") and not line.startswith("Usage:")]
    assert not [line for line in lines if "None" in line], "a range without limits"


def test_commands_stand_in_groups_and_their_lines_are_not_cut(capsys: pytest.CaptureFixture[str]) -> None:
    text = page(capsys)
    for title, commands in GROUPS.items():
        section = text.partition(f"\n{title}:\n")[2].partition("\n\n")[0]
        listed = dict(line.split(maxsplit=1) for line in section.splitlines())
        assert listed == commands
    assert {*learn.LINES} == set(re.findall(r"^  (\w+)  ", page(capsys, "learn"), re.MULTILINE)) - {"h"}
    for line in [*(line for lines in GROUPS.values() for line in lines.values()), *learn.LINES.values()]:
        assert len(line) <= 60


@pytest.mark.parametrize("command", ["train", "count", "report"])
def test_pattern_names_the_presets(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    words = " ".join(page(capsys, command).split())
    assert f"How text is split: {', '.join(merganser.preset_names())}, or a regular expression" in words


@pytest.mark.parametrize("command", READERS)
def test_corpus_names_the_kinds_of_files(command: str, capsys: pytest.CaptureFixture[str]) -> None:
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
