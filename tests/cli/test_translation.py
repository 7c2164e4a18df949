"""Library errors on the command line name options, never Python arguments."""

import re
from pathlib import Path

import click
import merganser
import pytest
from merganser.cli import main
from merganser.cli.translation import translate

TEXT = "the cat sat on the mat with the other cat\n" * 20

#: Commands that fail or warn, in Python and in the core, and a pattern of the message.
CASES = {
    ("encode", "t.merganser", "the<s>"): "pass --allow-special to encode it as that token, or --ordinary to",
    ("encode", "t.merganser", "a.txt", "--out", "tokens", "--prepend", "<x>"): "--prepend names '<x>'",
    ("encode", "t.merganser", "a.txt", "--out", "tokens", "--append", "9999"): "--append is 9999",
    ("encode", "t.merganser", "a.jsonl", "--out", "tokens"): "with --text-key",
    ("encode", "t.merganser", "a.txt", "--out", "made"): "another --out, or start over with --overwrite",
    (
        "train",
        "a.txt",
        "--vocab-size",
        "300",
        "--min-frequency",
        "-1",
    ): "--min-frequency must not be negative",
    (
        "train",
        "a.txt",
        "--vocab-size",
        "300",
        "--max-token-bytes",
        "0",
    ): "--max-token-bytes must be at least 1, got",
    (
        "train",
        "a.txt",
        "--vocab-size",
        "300",
        "--min-pretoken-count",
        "0",
    ): "--min-pretoken-count must be at least 1",
    ("train", "a.txt", "--vocab-size", "300", "--memory", "1MB"): "--memory must be at least 16MB",
    ("train", "a.txt", "--vocab-size", "300", "--memory", "much"): "--memory must be a number of bytes",
    (
        "train",
        "a.txt",
        "--vocab-size",
        "300",
        "--work-dir",
        "work",
    ): "choose another --work-dir, or start over with --no-resume",
    (
        "train",
        "a.txt",
        "--vocab-size",
        "999",
        "--min-frequency",
        "2",
    ): "no pair is left to merge within --min-frequency 2",
    ("train", "a.jsonl", "--vocab-size", "300"): "with --text-key; .* --on-error skip$",
    ("train", "bad.parquet", "--vocab-size", "300"): "set --text-key to one of its columns",
    ("count", "a.jsonl", "--out", "x.counts"): "with --text-key; .* --on-error skip$",
    ("count", "a.txt", "--out", "x.counts", "--max-size", "much"): "--max-size must be a number of bytes",
    (
        "count",
        "a.txt",
        "--out",
        "x.counts",
        "--max-window",
        "0",
    ): "--max-ratio, --max-size and --max-window must",
    ("count", "a.txt", "--out", "a.txt/x.counts"): "choose another --out$",
    ("compare", "t.merganser", "--on", "a.jsonl"): "with --text-key; .* --on-error skip$",
    ("verify", "t.merganser", "t.merganser", "--on", "a.jsonl"): "with --text-key; .* --on-error skip$",
    ("export", "t.merganser", "--to", "gpt2", "--chat", "chat.json", "--out", "x"): "omit --chat",
    ("report", "a.txt", "--out", "a.txt/x"): "choose another --out$",
    ("embed", "a.txt", "--embedding-dim", "0"): "--embedding-dim must be from 1",
    ("embed", "a.txt", "--epochs", "0"): "--epochs and --batch-size must be at least 1",
    ("embed", "a.txt", "--learning-rate", "99"): "--learning-rate must be above 0",
    ("embed", "a.txt", "--min-count", "99999"): "a smaller --min-count",
    ("learn", "ladder", "a.txt", "--vocab-size", "100"): "--vocab-size must be between 256",
}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    import pyarrow
    import pyarrow.parquet

    monkeypatch.chdir(tmp_path)
    Path("a.txt").write_text(TEXT)
    Path("a.jsonl").write_text('{"body": "x"}\n')
    Path("chat.json").write_text("{}")
    pyarrow.parquet.write_table(pyarrow.table({"body": ["x"]}), "bad.parquet")
    tokenizer = merganser.train([TEXT], 260, special_tokens=["<s>"])
    tokenizer.save("t.merganser")
    tokenizer.encode_corpus(["another"], out="made")
    kept = merganser.Local(work_dir="work", checkpoint_every=1e-6, keep_work=True)
    merganser.train([TEXT * 2], 261, engine=kept)
    return tmp_path


@pytest.mark.parametrize("arguments", CASES, ids=" ".join)
def test_messages_name_options_instead_of_arguments(
    arguments: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    main(arguments)
    message = capsys.readouterr().err.strip()
    assert re.search(CASES[arguments], message), message
    # Names with an underscore are Python arguments; only paths may have them.
    assert not re.search(r"(?<!/)\b[a-z]+_[a-z_]+\b", message), message
    assert not re.search(r"(--[\w-]+(?: \w+)?) \(", message), message


COMMAND = click.Command(
    "x",
    params=[
        click.Option(["--vocab-size"]),
        click.Option(["--pattern"]),
        click.Option(["--memory"]),
        click.Option(["--special"]),
        click.Option(["--on-error"]),
        click.Option(["--overwrite"], is_flag=True),
        click.Option(["--resume/--no-resume"]),
    ],
)


@pytest.mark.parametrize(
    ("library", "command_line"),
    [
        ("vocab_size must be at least 256, got 7", "--vocab-size must be at least 256, got 7"),
        ("`vocab_size` and `memory`", "--vocab-size and --memory"),
        ("special_tokens, vocab_size.", "--special, --vocab-size."),
        ("pass pattern=, or pattern='gpt4'", "pass --pattern, or --pattern gpt4"),
        ('on_error="skip" (--on-error skip)', "--on-error skip"),
        ("--no-resume (resume=False)", "--no-resume"),
        ("resume=True, overwrite=True", "--resume, --overwrite"),
        ("memory must be at least 16MB", "--memory must be at least 16MB"),
        # Plain English, a file, and an argument without an option stay as they are.
        ("less memory for another pattern", "less memory for another pattern"),
        ("cannot read out/vocab_size/x_vocab_size.txt", "cannot read out/vocab_size/x_vocab_size.txt"),
        ("there is no key 'vocab_size'", "there is no key 'vocab_size'"),
        ("cannot read vocab_size.txt", "cannot read vocab_size.txt"),
        ("buffer_size must be at least 1", "buffer_size must be at least 1"),
    ],
)
def test_only_arguments_become_options(library: str, command_line: str) -> None:
    assert translate(library, COMMAND) == command_line
