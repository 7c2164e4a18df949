"""merganser verify: its output as text and JSON, and its exit code."""

import json
import signal
import sys
from pathlib import Path

import merganser
import processes
import pytest
from merganser.cli import main

TEXT = "the cat sat on the mat with the other cat\n" * 20


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("a.txt").write_text(f"{TEXT}<|endoftext|>{TEXT}")
    Path("b.txt").write_text("other mats")
    tokenizer = merganser.train([TEXT], 270, special_tokens=["<s>"])
    tokenizer.save("a.merganser")
    tokenizer.truncated(262).save("b.merganser")
    return tmp_path


def test_the_same_ids_exit_with_0(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["verify", "a.merganser", "a.merganser", "--on", "a.txt", "b.txt"]) == 0
    tokens = 2 * len(merganser.load("a.merganser").encode(TEXT))
    tokens += len(merganser.load("a.merganser").encode("other mats"))
    assert (
        capsys.readouterr().out == f"same ids: 3 documents, {tokens:,} tokens, {2 * len(TEXT) + 10:,} bytes\n"
    )


def test_a_difference_exits_with_3_and_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["verify", "a.merganser", "b.merganser", "--on", "b.txt", "a.txt"]) == 3
    out = capsys.readouterr().out
    assert out.startswith(
        "different ids: the same pre-token is merged differently\n"
        "first difference: document 0 (counted from 0), byte "
    )
    difference = merganser.verify("a.merganser", "b.merganser", on=Path("b.txt")).difference
    assert difference is not None
    assert " | ".join(token.decode() for token in difference.b.tokens) in out
    assert (difference.step, difference.a.merge, difference.b.merge) == (2, (b"the", b"r"), None)
    assert "after 2 merges: done" in out


def test_json_has_the_difference(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["verify", "a.merganser", "b.merganser", "--on", "b.txt", "--json"]) == 3
    result = json.loads(capsys.readouterr().out)
    difference = merganser.verify("a.merganser", "b.merganser", on=Path("b.txt")).difference
    assert difference is not None
    assert result["same"] is False
    assert result["documents"] == result["tokens"] == result["bytes"] == 0
    printed = result["difference"]
    assert (printed["document"], printed["offset"]) == (0, difference.offset)
    assert (printed["reason"], printed["pretoken"], printed["step"]) == (
        difference.reason,
        difference.pretoken,
        difference.step,
    )
    assert printed["a"]["ids"] == list(difference.a.ids)
    assert printed["b"]["ids"] == list(difference.b.ids)
    assert printed["a"]["merge"] == [part.decode().replace(" ", "·") for part in difference.a.merge or ()]
    assert main(["verify", "a.merganser", "a.merganser", "--on", "b.txt", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["difference"] is None


def test_a_different_split_is_printed_as_pretokens(capsys: pytest.CaptureFixture[str]) -> None:
    Path("digits.txt").write_text("x 12345")
    ranks = merganser.load("a.merganser").mergeable_ranks | {b"12": 400, b"34": 401}
    for name in ("gpt2", "gpt4"):
        merganser.Tokenizer(ranks, pattern=name).save(f"{name}.merganser")
    assert main(["verify", "gpt2.merganser", "gpt4.merganser", "--on", "digits.txt"]) == 3
    out = capsys.readouterr().out
    assert "the text is split into different pre-tokens" in out
    assert "\n·12345\n" in out
    assert "\n· | 123 | 45\n" in out


@pytest.mark.parametrize("name", ["tokenizers:hf/tokenizer.json", "transformers:hf", "ranks.tiktoken@gpt4"])
def test_tokenizers_of_other_libraries_are_verified(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    tokenizer = merganser.load("a.merganser")
    tokenizer.export("hf", format="huggingface")
    tokenizer.export("ranks.tiktoken", format="tiktoken")
    Path("c.txt").write_text("the <s> cat")
    assert main(["verify", "a.merganser", name, "--on", "a.txt", "c.txt", "--json"]) == 0
    special = sum(len(tokenizer.encode(text, allowed_special="all")) for text in (TEXT, TEXT, "the <s> cat"))
    plain = sum(map(len, map(tokenizer.encode_ordinary, (TEXT, TEXT, "the <s> cat"))))
    assert json.loads(capsys.readouterr().out)["tokens"] == (plain if "@" in name else special)


def test_unreadable_tokenizers_and_corpora_are_errors(capsys: pytest.CaptureFixture[str]) -> None:
    for name, message in (
        ("gone.merganser", "gone.merganser"),
        ("tokenizers:gone.json", "tokenizers cannot open gone.json"),
        ("tiktoken:gone", "tiktoken cannot open gone"),
    ):
        assert main(["verify", "a.merganser", name, "--on", "a.txt"]) == 1
        assert message in capsys.readouterr().err
    assert main(["verify", "a.merganser", "a.merganser", "--on", "gone.txt"]) == 1
    assert main(["verify", "a.merganser", "--on", "a.txt"]) == 2
    assert main(["verify", "a.merganser", "a.merganser"]) == 2


def test_the_separator_option_is_used(capsys: pytest.CaptureFixture[str]) -> None:
    for more, documents in (((), 2), (("--separator", "none"), 1), (("--separator", "\n"), 40)):
        assert main(["verify", "a.merganser", "a.merganser", "--on", "a.txt", "--json", *more]) == 0
        assert json.loads(capsys.readouterr().out)["documents"] == documents


def test_ctrl_c_stops_verification_at_once() -> None:
    Path("long.txt").write_text("the cat sat on the mat <|endoftext|>" * 3_000_000)
    merganser.load("a.merganser").export("hf", format="huggingface")
    command = [sys.executable, "-m", "merganser", "verify", "a.merganser", "tokenizers:hf/tokenizer.json"]
    with processes.started([*command, "--on", "long.txt"]) as process:
        processes.wait_until(lambda: Path("long.txt").absolute() in processes.opened(process), process)
        process.send_signal(signal.SIGINT)
        _, error = process.communicate()
    assert (process.returncode, error.strip()) == (130, "stopped")


def test_an_export_is_verified_on_the_training_counts_next_to_it(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    corpora = []
    from merganser import exporting

    export = exporting.export
    monkeypatch.setattr(exporting, "export", lambda *rest: corpora.append(rest[3]) or export(*rest))
    assert main(["export", "a.merganser", "--to", "gpt2", "--out", "one"]) == 0
    merganser.count([TEXT, "other"]).save("another.counts")
    Path("damaged.counts").write_text("nothing")
    merganser.count([TEXT], special_tokens=["<s>"]).save("training.counts")
    assert main(["export", "a.merganser", "--to", "gpt2", "--out", "two"]) == 0
    assert main(["export", "a.merganser", "--to", "gpt2", "--out", "three", "--on", "a.txt"]) == 0
    assert corpora[0] is None
    assert corpora[1].path == Path("training.counts")
    assert [str(one) for one in corpora[2]] == ["a.txt"]
    capsys.readouterr()
    command = ["export", "training.counts", "--to", "tsv", "--out", "x.tsv", "--on", "a.txt"]
    assert main(command) == 2
    assert "--on, --chat and --role apply to tokenizers" in capsys.readouterr().err
