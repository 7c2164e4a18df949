"""Tokenizer names: one syntax for every command."""

import json
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import merganser
import pytest
from merganser.cli import main
from merganser.cli.naming import HELP, parse
from merganser.cli.studio import _load

TEXT = "the cat sat on the mat with the other cat\n" * 20

#: The arguments of every command that takes a tokenizer, given its name.
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
    """An encoding that tiktoken finds by name, without a network."""
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
def test_tokenizers_of_other_libraries_can_be_named(
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
def test_the_help_of_every_command_explains_the_syntax(
    command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([command.split(maxsplit=1)[0], "--help"]) == 0
    assert HELP in " ".join(capsys.readouterr().out.split())
    assert main(["studio", "--help"]) == 0
    assert HELP in " ".join(capsys.readouterr().out.split())


def test_labels_are_printed(plugin: str, capsys: pytest.CaptureFixture[str]) -> None:
    names = ("mine=mine.merganser", "ranks=ranks.tiktoken@gpt2", f"theirs=tiktoken:{plugin}")
    labels = ["mine", "ranks", "theirs"]

    def run(*arguments: str) -> Any:
        assert main([*arguments, "--json"]) in (0, 3), capsys.readouterr().err
        return json.loads(capsys.readouterr().out)

    assert [row["tokenizer"] for row in run("compare", *names, "--on", "a.txt")["rows"]] == labels
    options = [part for name in names for part in ("--tokenizer", name)]
    assert [row["tokenizer"] for row in run("show", "the cat", *options)["shown"]] == labels
    run("report", *names, "--held-out", "a.txt", "--out", "report")
    table = json.loads(Path("report/tables/comparison.json").read_text("utf-8"))
    assert set(labels) <= set(table[0])
    merganser.load("mine.merganser").truncated(260).save("smaller.merganser")
    assert main(["verify", "large=mine.merganser", "small=smaller.merganser", "--on", "a.txt"]) == 3
    out = capsys.readouterr().out
    assert "\nlarge\n" in out
    assert "\nsmall\n" in out
    loaded, sources = _load(tuple(map(parse, names)))
    assert list(loaded) == labels
    assert sources["ranks"] == "merganser.load('ranks.tiktoken', pattern='gpt2')"
    assert sources["theirs"] == f"merganser.load('tiktoken:{plugin}')"


def test_the_python_expression_of_a_name_loads_it(
    plugin: str, hub: str, tokenizer: merganser.Tokenizer
) -> None:
    import tiktoken
    import tokenizers
    import transformers

    modules = {"merganser": merganser, "tiktoken": tiktoken, "tokenizers": tokenizers}
    for name in (
        *("mine.merganser", "ranks.tiktoken@gpt2", f"tiktoken:{plugin}"),
        *(f"transformers:{hub}", f"tokenizers:{hub}/tokenizer.json"),
    ):
        loaded = eval(parse(name).expression, modules | {"transformers": transformers})
        assert loaded.encode("the cat") == tokenizer.encode("the cat"), name


def test_two_tokenizers_with_the_same_label_are_rejected(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", "x=mine.merganser", "x=ranks.tiktoken@gpt2", "--on", "a.txt"]) == 2
    assert "x=mine.merganser and x=ranks.tiktoken@gpt2 have the same name" in capsys.readouterr().err


def test_live_returns_the_object_of_the_library(plugin: str, hub: str) -> None:
    import tiktoken
    import transformers

    assert isinstance(parse(f"tiktoken:{plugin}").live(), tiktoken.Encoding)
    assert isinstance(parse(f"x=transformers:{hub}").live(), transformers.PreTrainedTokenizerFast)
    assert isinstance(parse("mine.merganser").live(), merganser.Tokenizer)


@pytest.mark.parametrize(
    "file", ["a@gpt4", "label=x.merganser", "tiktoken:gpt2", "a=b@c:d", "run=3/x@y.merganser"]
)
def test_an_existing_file_takes_precedence_over_the_syntax(
    file: str, tokenizer: merganser.Tokenizer, capsys: pytest.CaptureFixture[str]
) -> None:
    Path(file).parent.mkdir(exist_ok=True)
    tokenizer.save(file)
    for name in (file, f"mine={file}"):
        parsed = parse(name)
        assert (parsed.source, parsed.pattern, parsed.library) == (file, None, None)
        assert main(["encode", name, "the cat"]) == 0
    Path(file).unlink()
    tokenizer.export("ranks.tiktoken", format="tiktoken")
    Path("ranks.tiktoken").rename(file)
    for name, label in ((f"{file}@gpt2", None), (f"mine={file}@gpt2", "mine")):
        parsed = parse(name)
        assert (parsed.source, parsed.pattern, parsed.label) == (file, "gpt2", label)
    capsys.readouterr()


def test_a_pattern_may_contain_the_characters_of_the_syntax() -> None:
    parsed = parse(r"ranks.tiktoken@\w+@?|(?=a)a|[^:]")
    assert (parsed.source, parsed.pattern, parsed.label) == ("ranks.tiktoken", r"\w+@?|(?=a)a|[^:]", None)


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("ranks.tiktoken@gpt5", r'ranks\.tiktoken@gpt5: unknown split pattern "gpt5"'),
        ("x=ranks.tiktoken@(a", r'x=ranks\.tiktoken@\(a: the pattern "\(a" cannot be used'),
        ("ranks.tiktoken", r"write ranks\.tiktoken@PATTERN, where PATTERN is one of gpt2, gpt4"),
        ("mine.merganser@gpt4", r"mine\.merganser contains its own split pattern; leave out @gpt4"),
        ("tiktoken:gone", "tiktoken cannot open gone: .*; check the name"),
    ],
)
def test_a_wrong_name_is_one_line(
    command: str, name: str, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(COMMANDS[command](name)) == 1
    error = capsys.readouterr().err
    assert re.match(f"error: .*{message}", error), error
    assert error.count("\n") == 1


@pytest.mark.parametrize("command", [name for name in COMMANDS if name != "report"])
@pytest.mark.parametrize("name", ["gone.tiktoken@gpt4", "gone.tiktoken", "mine=gone.tiktoken"])
def test_a_missing_file_is_named(command: str, name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(COMMANDS[command](name)) == 1
    error = capsys.readouterr().err
    assert (
        error == "error: cannot read the tokenizer gone.tiktoken: No such file or directory; check the path\n"
    )


def test_without_a_trained_tokenizer_the_error_says_how_to_train_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    for command in (["show", "text"], ["inspect", "merganser-out"]):
        assert main(command) == 1
        assert (
            "merganser-out does not exist; train a tokenizer first (merganser train"
            in capsys.readouterr().err
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
