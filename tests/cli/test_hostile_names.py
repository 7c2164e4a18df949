"""Names that reach the terminal are shown and never act on it: paths, special tokens, patterns."""

import json
import sys
from pathlib import Path

import merganser
import processes
import pytest
from terminal import drawn_by

#: Clears the screen, sets the title, rings, and reverses the text.
EVIL = "a\x1b[2J\x1b]0;owned\x07\x9b31m\u202egnp"
#: Line breaks and the cursor keys of rich are allowed, these are not.
ACTING = set("\x07\x9b\u202e") | {"\x1b[2J", "\x1b]0;"}
CORPUS = "the cat sat on the mat " * 9


#: Runs all commands in one process, with a line after each.
SCRIPT = """
import json, sys
from merganser.cli import main
for arguments in json.loads(sys.argv[1]):
    print("=====", main(arguments))
"""


@pytest.fixture
def tokenizer_file(tmp_path: Path) -> Path:
    path = tmp_path / EVIL
    merganser.train([CORPUS], 263, pattern="\\w+|\\W|\x1b\x9b", special_tokens=[EVIL]).save(path)
    return path


def test_names_are_inert_in_the_terminal(tokenizer_file: Path) -> None:
    folder = tokenizer_file.parent
    text = folder / f"{EVIL}.txt"
    text.write_text(CORPUS)
    commands: list[tuple[str | Path, ...]] = [
        ("inspect", tokenizer_file),
        ("inspect", folder / f"missing{EVIL}"),
        ("compare", tokenizer_file, "--on", text),
        ("compare", tokenizer_file, "--on", text, "--markdown"),
        ("count", text, "--out", folder / f"{EVIL}.counts"),
        ("inspect", folder / f"{EVIL}.counts"),
        ("train", text, "--vocab-size", "260", "--out", folder / f"out{EVIL}"),
        ("export", tokenizer_file, "--to", "tiktoken", "--out", folder / f"{EVIL}.tiktoken"),
        ("verify", tokenizer_file, tokenizer_file, "--on", text),
        ("show", EVIL, "--tokenizer", tokenizer_file),
        ("show", EVIL, EVIL),
    ]
    written = drawn_by(SCRIPT, json.dumps([list(map(str, command)) for command in commands]))
    parts = written.split("=====")
    assert [part.split()[0] for part in parts[1:]] == ["0", "1", *["0"] * 8, "2"], written
    for command, part in zip(commands, parts, strict=False):
        assert not [sign for sign in ACTING if sign in part], (command, part)
    assert "special  262  a␛[2J␛]0;owned␇‹U+009B›31m‹U+202E›gnp" in parts[0]


def test_a_name_that_is_not_utf8_is_shown(tmp_path: Path) -> None:
    done = processes.run([sys.executable, "-m", "merganser", "inspect", b"missing\xff"], cwd=tmp_path)
    assert done.returncode == 1
    assert done.stderr.startswith("error: cannot read the tokenizer missing‹U+DCFF›: No such file")
