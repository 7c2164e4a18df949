"""Naming a tokenizer: one way, which every command understands."""

import json
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import merganser
import pytest
from merganser.cli import main
from merganser.cli.naming import HELP, named
from merganser.cli.studio import _found

TEXT = "the cat sat on the mat with the other cat\n" * 20

#: Commands that take a tokenizer: how one is named to each.
COMMANDS: dict[str, Callable[[str], list[str]]] = {
    "inspect": lambda name: ["inspect", name],
    "encode": lambda name: ["encode", name, "the cat"],
    "encode --out": lambda name: ["encode", name, "a.txt", "--out", "tokens"],
    "decode": lambda name: ["decode", name, "97"],
    "show": lambda name: ["show", "the cat", "--tokenizer", name],
    "compare": lambda name: ["compare", name, "--on", "a.txt"],
    "verify": lambda name: ["verify", name, name, "--on", "a.txt"],
    "export": lambda name: ["export", name, "--to", "minbpe", "--out", "exported"],
    "train": lambda name: ["train", "a.txt", "--vocab-size", "275", "--base", name, "--out", "larger"],
    "embed": lambda name: ["embed", "a.txt", "--tokenizer", name, "--epochs", "1", "--out", "vectors"],
    "report": lambda name: ["report", name, "--held-out", "a.txt", "--out", "report"],
}


@pytest.fixture(scope="module")
def tokenizer() -> merganser.Tokenizer:
    return merganser.train([TEXT], 270, pattern="gpt2")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tokenizer: merganser.Tokenizer) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("a.txt").write_text(TEXT)
    tokenizer.save("mine.merganser")
    tokenizer.export("ranks.tiktoken", format="tiktoken")
    return tmp_path


@pytest.fixture
def plugin(monkeypatch: pytest.MonkeyPatch, tokenizer: merganser.Tokenizer) -> str:
    """An encoding that tiktoken finds by its name, with no network."""
    import tiktoken

    monkeypatch.setitem(tiktoken.registry.ENCODINGS, "plugged_in", tokenizer.to_tiktoken())
    return "plugged_in"


@pytest.fixture
def hub(tokenizer: merganser.Tokenizer) -> str:
    tokenizer.export("hf", format="huggingface")
    return "hf"


@pytest.mark.parametrize("name", ["mine.merganser", "ranks.tiktoken@gpt2", "x=ranks.tiktoken@gpt2"])
@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_takes_every_name(command: str, name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(COMMANDS[command](name)) == 0, capsys.readouterr().err


@pytest.mark.parametrize("command", ["inspect", "encode", "decode", "show", "compare", "verify", "export"])
def test_other_libraries_have_names(
    command: str, plugin: str, hub: str, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in (
        f"tiktoken:{plugin}",
        f"gpt2=tiktoken:{plugin}",
        f"transformers:{hub}",
        f"x=transformers:{hub}",
    ):
        assert main(COMMANDS[command](name)) == 0, capsys.readouterr().err


@pytest.mark.parametrize("command", COMMANDS)
def test_help_says_how_in_the_same_words(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([command.split(maxsplit=1)[0], "--help"]) == 0
    assert HELP in " ".join(capsys.readouterr().out.split())
    assert main(["studio", "--help"]) == 0
    assert HELP in " ".join(capsys.readouterr().out.split())


def test_labels_are_printed(plugin: str, capsys: pytest.CaptureFixture[str]) -> None:
    names = ("mine=mine.merganser", "ranks=ranks.tiktoken@gpt2", f"theirs=tiktoken:{plugin}")
    labels = ["mine", "ranks", "theirs"]

    def told(*arguments: str) -> Any:
        assert main([*arguments, "--json"]) in (0, 3), capsys.readouterr().err
        return json.loads(capsys.readouterr().out)

    assert [row["tokenizer"] for row in told("compare", *names, "--on", "a.txt")["rows"]] == labels
    options = [part for name in names for part in ("--tokenizer", name)]
    assert [row["tokenizer"] for row in told("show", "the cat", *options)["shown"]] == labels
    told("report", *names, "--held-out", "a.txt", "--out", "report")
    table = json.loads(Path("report/tables/comparison.json").read_text("utf-8"))
    assert set(labels) <= set(table[0])
    merganser.load("mine.merganser").truncated(260).save("smaller.merganser")
    assert main(["verify", "large=mine.merganser", "small=smaller.merganser", "--on", "a.txt"]) == 3
    out = capsys.readouterr().out
    assert "\nlarge\n" in out
    assert "\nsmall\n" in out
    found, sources = _found(tuple(map(named, names)))
    assert list(found) == labels
    assert sources["ranks"] == "merganser.load('ranks.tiktoken', pattern='gpt2')"
    assert sources["theirs"] == f"merganser.load(tiktoken.get_encoding({plugin!r}))"


def test_the_python_of_a_name_loads_it(plugin: str, hub: str, tokenizer: merganser.Tokenizer) -> None:
    import tiktoken
    import tokenizers
    import transformers

    modules = {"merganser": merganser, "tiktoken": tiktoken, "tokenizers": tokenizers}
    for name in (
        *("mine.merganser", "ranks.tiktoken@gpt2", f"tiktoken:{plugin}"),
        *(f"transformers:{hub}", f"tokenizers:{hub}/tokenizer.json"),
    ):
        loaded = eval(named(name).expression, modules | {"transformers": transformers})
        assert loaded.encode("the cat") == tokenizer.encode("the cat"), name


def test_two_of_one_name_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", "x=mine.merganser", "x=ranks.tiktoken@gpt2", "--on", "a.txt"]) == 2
    assert "x=mine.merganser and x=ranks.tiktoken@gpt2 have the same name" in capsys.readouterr().err


def test_verify_asks_the_live_object(plugin: str, hub: str) -> None:
    import tiktoken
    import transformers

    assert isinstance(named(f"tiktoken:{plugin}").live(), tiktoken.Encoding)
    assert isinstance(named(f"x=transformers:{hub}").live(), transformers.PreTrainedTokenizerFast)
    assert isinstance(named("mine.merganser").live(), merganser.Tokenizer)


@pytest.mark.parametrize(
    "file", ["a@gpt4", "label=x.merganser", "tiktoken:gpt2", "a=b@c:d", "run=3/x@y.merganser"]
)
def test_a_file_that_is_there_wins_over_the_syntax(
    file: str, tokenizer: merganser.Tokenizer, capsys: pytest.CaptureFixture[str]
) -> None:
    Path(file).parent.mkdir(exist_ok=True)
    tokenizer.save(file)
    for name in (file, f"mine={file}"):
        found = named(name)
        assert (found.source, found.pattern, found.library) == (file, None, None)
        assert main(["encode", name, "the cat"]) == 0
    Path(file).unlink()
    tokenizer.export("ranks.tiktoken", format="tiktoken")
    Path("ranks.tiktoken").rename(file)
    for name, label in ((f"{file}@gpt2", None), (f"mine={file}@gpt2", "mine")):
        found = named(name)
        assert (found.source, found.pattern, found.label) == (file, "gpt2", label)
    capsys.readouterr()


def test_a_pattern_may_hold_what_the_syntax_uses() -> None:
    found = named(r"ranks.tiktoken@\w+@?|(?=a)a|[^:]")
    assert (found.source, found.pattern, found.label) == ("ranks.tiktoken", r"\w+@?|(?=a)a|[^:]", None)


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("ranks.tiktoken@gpt5", r'ranks\.tiktoken@gpt5: unknown split pattern "gpt5"'),
        ("x=ranks.tiktoken@(a", r'x=ranks\.tiktoken@\(a: the pattern "\(a" cannot be used'),
        ("ranks.tiktoken", r"write ranks\.tiktoken@PATTERN, where PATTERN is one of gpt2, gpt4"),
        ("mine.merganser@gpt4", r"mine\.merganser has its own pattern; leave out @gpt4"),
        ("tiktoken:gone", "tiktoken cannot open gone: .*; check the name"),
    ],
)
def test_a_wrong_name_is_one_clear_line(
    command: str, name: str, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(COMMANDS[command](name)) == 1
    said = capsys.readouterr().err
    assert re.match(f"error: .*{message}", said), said
    assert said.count("\n") == 1


@pytest.mark.parametrize("command", [name for name in COMMANDS if name != "report"])
@pytest.mark.parametrize("name", ["gone.tiktoken@gpt4", "gone.tiktoken", "mine=gone.tiktoken"])
def test_a_missing_file_is_named(command: str, name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(COMMANDS[command](name)) == 1
    said = capsys.readouterr().err
    assert (
        said == "error: cannot read the tokenizer gone.tiktoken: No such file or directory; check the path\n"
    )


@pytest.mark.parametrize(
    ("name", "install"),
    [
        ("tiktoken:gpt2", "pip install 'merganser[tiktoken]'"),
        ("tokenizers:hf/tokenizer.json", "pip install 'merganser[hf]'"),
        ("transformers:hf", "pip install transformers"),
    ],
)
def test_a_missing_library_is_named(
    name: str, install: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    library = name.partition(":")[0]
    monkeypatch.setitem(sys.modules, library, None)
    for command in (["inspect", name], ["verify", name, name, "--on", "a.txt"]):
        assert main(command) == 1
        assert capsys.readouterr().err == f"error: {name} needs {library}: {install}\n"
