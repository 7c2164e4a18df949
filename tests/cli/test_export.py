"""merganser export: every format from the command line, and errors in one line."""

import json
import sys
from dataclasses import fields
from pathlib import Path

import merganser
import pytest
from merganser import exporting
from merganser.chat import Template
from merganser.cli import export, main

FILES = {
    "tiktoken": ["tiktoken_ext/out.tiktoken", "tiktoken_ext/out.json", "tiktoken_ext/out.py"],
    "huggingface": ["tokenizer.json", "tokenizer_config.json"],
    "gpt2": ["vocab.json", "merges.txt"],
    "minbpe": ["tokenizer.model", "tokenizer.vocab"],
    "gguf": ["tokenizer.gguf"],
    "token-lengths": ["token_lengths.npy"],
}


@pytest.fixture(autouse=True)
def tokenizer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> merganser.Tokenizer:
    monkeypatch.chdir(tmp_path)
    tokenizer = merganser.train(["the cat sat on the mat"] * 9, 265, pattern="qwen2", special_tokens=["<s>"])
    tokenizer.save("t.merganser")
    return tokenizer


def test_all_formats_are_offered() -> None:
    assert tuple(export._FOR_TOKENIZERS) == exporting.FORMATS
    assert {*FILES, "sentencepiece"} == {*exporting.FORMATS}


def test_characters_are_trained_and_exported(capsys: pytest.CaptureFixture[str]) -> None:
    Path("text.txt").write_text("low lower lowest slow slower\n" * 9)
    command = ["train", "text.txt", "--vocab-size", "280", "--unit", "characters", "--byte-fallback"]
    assert main([*command, "--max-token-characters", "4", "--out", "made"]) == 0, capsys.readouterr().err
    assert main(["export", "made", "--to", "sentencepiece", "--out", "sp"]) == 0, capsys.readouterr().err
    assert merganser.load("sp/tokenizer.model") == merganser.load("made")
    capsys.readouterr()
    assert main(["train", "text.txt", "--vocab-size", "280", "--byte-fallback", "--out", "other"]) == 2
    assert "--byte-fallback requires --unit characters" in capsys.readouterr().err
    assert main(["export", "t.merganser", "--to", "sentencepiece", "--out", "sp"]) == 1
    assert "is not of SentencePiece's kind" in capsys.readouterr().err


@pytest.mark.parametrize("form", FILES)
def test_every_format_is_written(
    form: str, tokenizer: merganser.Tokenizer, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["export", "t.merganser", "--to", form, "--out", "out", "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert (result["out"], result["format"]) == ("out", form)
    files = [str(Path(file).relative_to("out")) for file in result["files"]]
    assert files[: len(FILES[form])] == FILES[form]
    assert all(Path("out", file).stat().st_size for file in files)
    if form not in ("token-lengths", "gpt2"):
        assert merganser.load("out") == tokenizer


def test_written_files_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["export", "t.merganser", "--to", "minbpe", "--out", "m.model"]) == 0
    out = capsys.readouterr().out
    assert "wrote m.model\nwrote m.vocab\n" in out
    assert "minbpe's load() ignores line 2 of the file, the pattern; pass it yourself:\n" in out
    assert out.endswith('RegexTokenizer(open("m.model").readlines()[1].strip())\ntokenizer.load("m.model")\n')


def test_instructions_for_loading_and_padding_are_printed(capsys: pytest.CaptureFixture[str]) -> None:
    command = ["export", "t.merganser", "--to", "huggingface", "--out", "out"]
    assert main(command) == 0
    load = 'AutoTokenizer.from_pretrained("out")'
    *wrote, loading, hint = capsys.readouterr().out.splitlines()
    assert all(line.startswith("wrote out/") for line in wrote)
    assert loading == load
    assert hint == "no pad token, so padding=True will not work; set one with --role 'pad=<s>'"
    assert main([*command, "--role", "pad=<s>"]) == 0
    assert capsys.readouterr().out.splitlines()[len(wrote) :] == [load]
    assert main([*command, "--role", "pad=<s>", "--role", "mask=<s>", "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["load"] == load
    assert facts["roles"] == {"bos": "<s>", "pad": "<s>", "mask": "<s>"}
    merganser.train(["the cat"], 256).save("none.merganser")
    assert main(["export", "none.merganser", "--to", "huggingface", "--out", "out"]) == 0
    assert "train with --special '<|pad|>'" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("roles", "code", "message"),
    [
        (["pad"], 2, "--role takes ROLE=TOKEN"),
        (["pad="], 2, "--role takes ROLE=TOKEN"),
        (["pad=<s>", "pad=<s>"], 2, "sets the pad token twice; set it once"),
        (["pad=<e>"], 1, "'<e>' cannot be the pad token"),
        (["end=<s>"], 1, "'end' is not a role"),
    ],
)
def test_a_wrong_role_is_reported(
    roles: list[str], code: int, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    given = [part for role in roles for part in ("--role", role)]
    assert main(["export", "t.merganser", "--to", "huggingface", "--out", "out", *given]) == code
    assert message in capsys.readouterr().err
    assert not Path("out").exists()


def test_unsupported_exports_and_missing_packages_are_one_line(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    merganser.train(["the cat"], 256).save("gpt4.merganser")
    monkeypatch.setitem(sys.modules, "torch", None)
    for source, form, out, message in (
        ("gpt4.merganser", "gguf", "t.gguf", "no equivalent of the pattern 'gpt4'"),
        ("t.merganser", "token-lengths", "t.pt", "pip install torch"),
        ("t.merganser", "tsv", "t.tsv", "pass a .counts file, not t.merganser"),
    ):
        assert main(["export", source, "--to", form, "--out", out]) == 1
        error = capsys.readouterr().err
        assert message in error
        assert error.count("\n") == 1
        assert not Path(out).exists()


def test_a_chat_template_is_declared_in_a_file(capsys: pytest.CaptureFixture[str]) -> None:
    markers = [field.name for field in fields(Template) if field.name != "system_joint"]
    Path("chat.json").write_text(json.dumps(dict.fromkeys(markers, "<s>")))
    assert main(["export", "t.merganser", "--to", "huggingface", "--out", "out", "--chat", "chat.json"]) == 0
    assert "chat_template.jinja" in capsys.readouterr().out
    config = json.loads(Path("out/tokenizer_config.json").read_text())
    assert (config["bos_token"], config["eos_token"]) == ("<s>", "<s>")


@pytest.mark.parametrize(
    ("declared", "message"),
    [
        (None, "cannot read the chat template chat.json: No such file"),
        ("{", "chat.json is not valid JSON"),
        ('{"begin": "<s>"}', "must be a JSON object with keys among bos, user_start"),
        ('["<s>"]', "must be a JSON object"),
        ('{"bos": 1}', "bos of a template must be a non-empty string, the name of a special token, got 1"),
        ('{"bos": "<s>"}', "the tokenizer lacks the special tokens <|user_start|>"),
    ],
)
def test_a_wrong_chat_template_is_one_line(
    declared: str | None, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    if declared is not None:
        Path("chat.json").write_text(declared)
    assert main(["export", "t.merganser", "--to", "huggingface", "--out", "out", "--chat", "chat.json"]) == 1
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1
    assert not Path("out").exists()
