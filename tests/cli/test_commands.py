"""The command line: output, exit codes, and no tracebacks."""

import json
import os
import signal
import sys
from pathlib import Path
from subprocess import PIPE

import merganser
import processes
import pytest
from interrupted import mark_incomplete
from merganser import Counts
from merganser.cli import COMMANDS, main

TEXT = "the cat sat on the mat with the other cat\n" * 20


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.txt").write_text(TEXT)
    (tmp_path / "b.txt").write_text(f"{TEXT}<|endoftext|>{TEXT}")
    return tmp_path


def run(*arguments: str, stdin: str = "") -> processes.Done:
    command = [sys.executable, "-W", "error", "-m", "merganser", *arguments]
    return processes.run(command, input=stdin)


def train(*more: str) -> dict[str, object]:
    done = run("train", "*.txt", "--vocab-size", "270", "--json", *more)
    assert done.returncode == 0, done.stderr
    result: dict[str, object] = json.loads(done.stdout)
    return result


def test_special_tokens_on_top_of_the_vocabulary_size() -> None:
    assert train("--special", "<s>", "--special-extra")["special_tokens"] == {"<s>": 270}
    assert train("--special", "<s>", "--force")["special_tokens"] == {"<s>": 269}


@pytest.mark.parametrize("command", COMMANDS)
def test_the_help_of_every_command_has_an_example(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([command, "--help"]) == 0
    text = capsys.readouterr().out
    assert "Example: merganser" in text
    assert "--json" in text


def test_help_does_not_import_large_packages() -> None:
    script = (
        "import sys\n"
        "from merganser.cli import main\n"
        "main(['--help'])\n"
        "assert not {'rich', 'tiktoken', 'numpy', 'hypothesis'} & set(sys.modules)"
    )
    processes.run([sys.executable, "-W", "error", "-c", script], check=True)


def test_training_encoding_and_decoding_round_trip(folder: Path) -> None:
    result = train("--special", "<|endoftext|>", "--pattern", "gpt2", "--tie-break", "bytes")
    assert result["vocab_size"] == 270
    assert result["special_tokens"] == {"<|endoftext|>": 269}
    assert set(result["seconds"]) == {"count", "merge", "save"}  # type: ignore[call-overload]
    tokenizer = merganser.load("merganser-out")
    files = [folder / "a.txt", folder / "b.txt"]
    settings = {"special_tokens": ["<|endoftext|>"], "pattern": "gpt2", "tie_break": "bytes"}
    assert tokenizer == merganser.train(files, 270, **settings)  # type: ignore[arg-type]

    text = "the cat's mat ünï\n"
    encoded = run("encode", "merganser-out", text)
    assert list(map(int, encoded.stdout.split())) == tokenizer.encode(text)
    assert run("encode", "merganser-out", stdin=text).stdout == encoded.stdout
    (folder / "file").write_text(text)
    assert run("encode", "merganser-out", "file").stdout == encoded.stdout
    assert run("decode", "merganser-out", stdin=encoded.stdout).stdout == text
    assert run("encode", "merganser-out", text * 100).returncode == 0
    assert run("decode", "merganser-out", *encoded.stdout.split()).stdout == text
    as_json = json.loads(run("encode", "merganser-out", text, "--json").stdout)
    assert as_json["ids"] == tokenizer.encode(text)
    assert json.loads(run("decode", "merganser-out", json.dumps(as_json["ids"]), "--json").stdout) == {
        "text": text
    }


def test_show_prints_the_tokens_of_a_text() -> None:
    train("--special", "<|endoftext|>")
    tokenizer = merganser.load("merganser-out")
    done = run("show", "the cat's naïve")
    assert done.stdout == tokenizer.show("the cat's naïve").plain + "\n"
    assert run("show", "-", stdin="the cat's naïve").stdout == done.stdout
    twice = run("show", "the", "--tokenizer", "merganser-out", "--tokenizer", "merganser-out").stdout
    assert twice.count("merganser-out\nthe\n") == 2
    as_json = json.loads(run("show", "the<|endoftext|>", "--allow-special", "all", "--json").stdout)
    (shown,) = as_json["shown"]
    assert shown["tokens"] == 2
    assert [segment["text"] for segment in shown["segments"]] == ["the", "<|endoftext|>"]
    refused = run("show", "text", "--tokenizer", "nowhere")
    assert (refused.returncode, refused.stdout) == (1, "")
    assert "nowhere" in refused.stderr


def test_special_tokens_are_recognized_only_if_allowed() -> None:
    train("--special", "<|endoftext|>")
    refused = run("encode", "merganser-out", "the<|endoftext|>")
    assert (refused.returncode, refused.stdout) == (1, "")
    assert run("encode", "merganser-out", "<|endoftext|>", "--allow-special", "all").stdout == "269\n"
    assert (
        run("encode", "merganser-out", "<|endoftext|>", "--allow-special", "<|endoftext|>").stdout == "269\n"
    )
    assert "269" not in run("encode", "merganser-out", "<|endoftext|>", "--ordinary").stdout


def test_a_corpus_is_encoded_to_files_and_decoded(folder: Path) -> None:
    train("--special", "<|endoftext|>")
    options = ("--append", "<|endoftext|>", "--prepend", "65", "--shard-tokens", "200", "--threads", "2")
    done = run("encode", "merganser-out", "b.txt", "a.txt", "--out", "tokens", "--json", *options)
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert result.pop("seconds") > 0
    tokenizer = merganser.load("merganser-out")
    size = len(tokenizer.encode(TEXT)) + 2
    assert result == {
        "out": "tokens",
        "shards": 3,
        "tokens": 3 * size,
        "documents": 3,
        "bytes": 3 * len(TEXT),
        "invalid_bytes": 0,
        "format": "bin",
        "dtype": "uint16",
        "found": 0,
        "skipped": {"records": 0, "files": 0, "first": []},
    }
    again = run("encode", "merganser-out", "b.txt", "a.txt", "--out", "tokens", *options)
    assert again.stdout == f"nothing to do: {3 * size:,} tokens are already in tokens\n"
    other = run("encode", "merganser-out", "b.txt", "--out", "tokens")
    assert (other.returncode, other.stdout) == (1, "")
    assert "choose another --out, or start over with --overwrite" in other.stderr

    both = f"{TEXT}<|endoftext|>{TEXT}<|endoftext|>{TEXT}"
    assert run("decode", "merganser-out", "tokens").stdout == both
    assert run("decode", "merganser-out", "tokens", "--separator", "none").stdout == TEXT * 3
    assert json.loads(run("decode", "merganser-out", "tokens", "--json").stdout) == {"text": both}
    assert run("decode", "merganser-out", "tokens/shard-00001.bin").stdout == TEXT

    # The state after an interrupted run.
    mark_incomplete(folder / "tokens")
    (folder / "tokens" / "shard-00002.json").unlink()
    partly = run("decode", "merganser-out", "tokens")
    assert partly.stdout == f"{TEXT}<|endoftext|>{TEXT}"
    assert partly.stderr.startswith("warning: tokens is incomplete; run the same encode command again")
    resumed = run("encode", "merganser-out", "b.txt", "a.txt", "--out", "tokens", *options)
    assert "2 of the shards were complete" in resumed.stdout
    assert run("decode", "merganser-out", "tokens").stdout == both

    piped = run("encode", "merganser-out", "-", "--out", "piped", "--separator", "none", stdin=both)
    assert "tokens from 1 document (" in piped.stdout
    assert run("decode", "merganser-out", "piped").stdout == both
    (folder / "odd.txt").write_bytes(b"caf\xe9")
    over = run("encode", "merganser-out", "odd.txt", "--out", "tokens", "--overwrite", "--format", "npy")
    assert "1 byte of invalid UTF-8" in over.stderr
    special = run(
        "encode", "merganser-out", "b.txt", "--out", "s", "--separator", "none", "--allow-special", "all"
    )
    assert special.returncode == 0
    assert 269 in merganser.Tokens.open("s").ids(0)


def test_a_number_is_an_id_even_if_a_file_has_that_name(folder: Path) -> None:
    train()
    (folder / "97").write_text("")
    assert run("decode", "merganser-out", "97").stdout == "a"


def test_a_tokenizer_can_extend_another() -> None:
    train("--special", "<|endoftext|>", "--out", "small")
    train("--base", "small", "--vocab-size", "272", "--out", "large")
    small, large = merganser.load("small"), merganser.load("large")
    assert large.vocab_size == 272
    assert large.vocab.items() >= small.vocab.items()


def test_training_on_counts_equals_training_on_text() -> None:
    for name in ("a", "b"):
        done = run("count", f"{name}.txt", "--out", f"{name}.counts", "--pattern", "gpt2")
        assert done.returncode == 0, done.stderr
    both = run("count", "a.counts", "b.counts", "--out", "all.counts", "--json")
    assert json.loads(both.stdout)["documents"] == 3
    assert Counts.load("all.counts") == merganser.count([Path("a.txt"), Path("b.txt")], pattern="gpt2")
    assert run("train", "all.counts", "--vocab-size", "270", "--out", "x").returncode == 0
    assert (
        run("train", "a.txt", "b.txt", "--pattern", "gpt2", "--vocab-size", "270", "--out", "y").returncode
        == 0
    )
    assert merganser.load("x") == merganser.load("y")


def test_standard_input_is_counted_without_a_separator() -> None:
    text = Path("b.txt").read_text()
    done = run("count", "-", "--out", "stdin.counts", "--separator", "none", stdin=text)
    assert done.returncode == 0, done.stderr
    assert Counts.load("stdin.counts") == merganser.count([text], separator=None)


def test_inspect_shows_tokenizers_and_counts() -> None:
    train("--special", "<|endoftext|>")
    shown = run("inspect", "merganser-out").stdout
    assert "270 tokens: 256 bytes, 13 merges, 1 special" in shown
    assert "last merges" in shown
    facts = json.loads(run("inspect", "merganser-out", "--json", "--top", "3").stdout)
    assert len(facts["last_merges"]) == len(facts["longest_tokens"]) == 3
    assert facts["last_merges"][-1]["seen"] > 0
    run("count", "b.txt", "--out", "b.counts")
    shown = run("inspect", "b.counts").stdout
    assert "from 2 documents" in shown
    assert "·cat" in shown
    assert json.loads(run("inspect", "b.counts", "--json").stdout)["documents"] == 2


def test_the_demo_trains_and_writes_a_report(folder: Path) -> None:
    done = run("demo", "--vocab-size", "1000")
    assert done.returncode == 0, done.stderr
    assert "decode to the same text" in done.stdout
    assert "Try next" in done.stdout
    assert done.stdout.endswith("  merganser-demo/report/index.html\n")
    assert Path("merganser-demo/report/index.html").stat().st_size > 500_000
    again = json.loads(run("demo", "--vocab-size", "300", "--json").stdout)
    assert (again["round_trip"], again["report"]) == (True, "merganser-demo/report/index.html")


def test_the_demo_works_without_the_plot_extra(folder: Path) -> None:
    code = (
        "import sys; sys.modules['vl_convert'] = None; from merganser.cli import main; "
        "sys.exit(main(['demo', '--vocab-size', '300']))"
    )
    done = processes.run([sys.executable, "-c", code])
    assert (done.returncode, done.stderr) == (0, "")
    assert "pip install 'merganser[plot]'" in done.stdout


def test_a_smaller_vocabulary_than_requested_is_a_warning() -> None:
    done = run("train", "a.txt", "--vocab-size", "5000")
    assert done.returncode == 0
    assert done.stderr.startswith("warning: the vocabulary has")
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("pretokens", "options", "expected"),
    [
        (
            {b"ab": 9, b"cd": 5, b"ef": 1},
            [],
            "dropped 1 of 3 unique pre-tokens (6.67% of all occurrences)\n"
            "all 2 merges are proven identical to training on all pre-tokens",
        ),
        (
            {b"xy": 9, b"ab": 5, b"bc": 4, b"bcd": 2},
            ["--min-pretoken-count", "3"],
            "merges 1-1 are proven identical to training on all pre-tokens; merges from 2 on may differ",
        ),
        (
            {b"ab": 5, b"bc": 4, b"bcd": 1, b"bce": 1},
            [],
            "no merge is proven identical to training on all pre-tokens; merges from 1 on may differ",
        ),
        (
            {b"ab": 9, b"bc": 3, b"cd": 1},
            ["--no-certify"],
            "the effect on the merges was not checked (--no-certify)",
        ),
    ],
)
def test_the_effect_of_pruning_is_reported(
    pretokens: dict[bytes, int], options: list[str], expected: str
) -> None:
    Counts(pretokens).save("x.counts")
    done = run("train", "x.counts", "--vocab-size", "258", "--min-pretoken-count", "2", *options)
    assert done.returncode == 0, done.stderr
    assert done.stdout.endswith(f"{expected}\n")


def test_invalid_utf8_is_noted(folder: Path) -> None:
    (folder / "odd.txt").write_bytes(b"caf\xe9 caf\xe9")
    done = run("count", "odd.txt", "--out", "odd.counts")
    assert "2 bytes of invalid UTF-8" in done.stderr


ERRORS = {
    "missing file": ["train", "missing.txt", "--vocab-size", "300"],
    "glob without a match": ["train", "*.nothing", "--vocab-size", "300"],
    "empty corpus": ["train", "empty", "--vocab-size", "300"],
    "vocabulary too small": ["train", "a.txt", "--vocab-size", "255"],
    "no room for special tokens": ["train", "a.txt", "--vocab-size", "256", "--special", "<s>"],
    "unknown preset": ["train", "a.txt", "--vocab-size", "300", "--pattern", "gpt5"],
    "bad pattern": ["train", "a.txt", "--vocab-size", "300", "--pattern", "(a"],
    "duplicate special tokens": [
        "train",
        "a.txt",
        "--vocab-size",
        "300",
        "--special",
        "<s>",
        "--special",
        "<s>",
    ],
    "missing base": ["train", "a.txt", "--vocab-size", "300", "--base", "missing"],
    "work of another training": ["train", "a.txt", "--vocab-size", "300", "--work-dir", "work"],
    "bad pre-token count": ["train", "a.txt", "--vocab-size", "300", "--min-pretoken-count", "0"],
    "truncated tokenizer": ["encode", "truncated", "text"],
    "truncated counts": ["train", "truncated.counts", "--vocab-size", "300"],
    "missing tokenizer": ["decode", "missing", "1"],
    "unknown id": ["decode", "good", "99999"],
    "half a character": ["encode", "good", "latin1"],
    "no corpus to encode": ["encode", "good", "missing.txt", "--out", "tokens"],
    "no text to encode": ["encode", "good", "empty", "--out", "tokens"],
    "unknown token to append": ["encode", "good", "a.txt", "--out", "tokens", "--append", "<|no|>"],
    "tokens of another tokenizer": ["decode", "good", "tokens-of-another"],
    "not a folder of tokens": ["decode", "good", "."],
    "folder that cannot be written": ["count", "a.txt", "--out", "no/where.counts"],
}


@pytest.mark.parametrize("case", ERRORS)
def test_every_error_is_one_line_and_leaves_no_files(case: str, folder: Path) -> None:
    (folder / "empty").write_text("")
    (folder / "latin1").write_bytes(b"caf\xe9")
    tokenizer = merganser.train([TEXT], 260)
    tokenizer.save("good")
    merganser.train([TEXT], 261).encode_corpus([TEXT], out="tokens-of-another")
    kept = merganser.Local(work_dir=folder / "work", checkpoint_every=1e-6, keep_work=True)
    merganser.train([TEXT * 2], 261, engine=kept)
    (folder / "truncated").write_bytes(Path("good").read_bytes()[:-100])
    Counts({b"ab": 3}).save("truncated.counts")
    (folder / "truncated.counts").write_bytes(Path("truncated.counts").read_bytes()[:-1])
    before = sorted(folder.rglob("*"))
    done = run(*ERRORS[case])
    assert done.returncode == 1
    assert done.stdout == ""
    assert done.stderr.startswith("error: ")
    assert done.stderr.count("\n") == 1
    assert "Traceback" not in done.stderr
    assert sorted(folder.rglob("*")) == before


@pytest.mark.parametrize(
    "arguments",
    [
        ["train"],
        ["train", "a.txt"],
        ["train", "a.txt", "--vocab-size", "many"],
        ["train", "a.txt", "--vocab-size", "300", "--tie-break", "random"],
        ["train", "a.txt", "--vocab-size", "300", "--threads", "0"],
        ["train", "a.txt", "--vocab-size", "300", "--work-dir", "work", "--checkpoint-every", "0"],
        ["count", "a.txt"],
        ["count", "a.txt", "--out", "counts.txt"],
        ["decode", "merganser-out", "one"],
        ["decode", "merganser-out", "97", "--separator", "none"],
        ["encode", "merganser-out", "one", "two"],
        ["encode", "merganser-out", "one", "--format", "npy"],
        ["encode", "merganser-out", "one", "--shard-tokens", "5"],
        ["encode", "merganser-out", "--out", "tokens"],
        ["encode", "merganser-out", "a.txt", "--out", "tokens", "--format", "gguf"],
        ["encode", "merganser-out", "a.txt", "--out", "tokens", "--ordinary", "--allow-special", "all"],
        ["unknown"],
        ["--unknown"],
    ],
)
def test_wrong_usage_exits_with_2(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    merganser.train([TEXT], 260).save(Path("tokenizer.merganser"))
    Path("merganser-out").mkdir()
    Path("tokenizer.merganser").rename("merganser-out/tokenizer.merganser")
    assert main(arguments) == 2
    assert "Error" in capsys.readouterr().err


@pytest.mark.parametrize(
    "command",
    [
        ["train", "a.txt", "--vocab-size", "258"],
        ["demo", "--vocab-size", "258"],
        ["learn", "ladder", "a.txt"],
    ],
)
def test_an_unwritable_folder_is_reported(
    command: list[str], folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*command, "--out", "a.txt/below"]) == 1
    message = "error: cannot write to a.txt/below: a.txt is a file, not a folder; choose another --out"
    assert capsys.readouterr().err.splitlines()[-1] == message


def test_a_full_disk_leaves_no_tokenizer(folder: Path) -> None:
    script = (
        "import resource, signal, sys\n"
        "from merganser.cli import main\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))\n"
        "sys.exit(main(['train', 'a.txt', '--vocab-size', '260']))"
    )
    done = processes.run([sys.executable, "-W", "error", "-c", script])
    assert done.returncode == 1
    assert "nothing was left half-written" in done.stderr
    assert list((folder / "merganser-out").iterdir()) == []


def test_ctrl_c_exits_with_130() -> None:
    command = [sys.executable, "-W", "error", "-m", "merganser", "count", "-", "--out", "x.counts"]
    with processes.started(command, stdin=PIPE) as process:
        process.stdin.write("some text")
        process.stdin.flush()
        processes.wait_until(lambda: processes.has_read_all(process), process)
        process.send_signal(signal.SIGINT)
        process.wait()  # its standard input is still open
        assert process.returncode == 130
        assert process.stderr.read().strip() == "stopped"
    assert not Path("x.counts").exists()


def test_a_closed_pipe_is_not_an_error() -> None:
    train()
    shell = f"{sys.executable} -W error -m merganser inspect merganser-out --top 1000 | head -1"
    done = processes.run(shell, shell=True, env={**os.environ})
    assert done.stderr == ""
    assert done.stdout.count("\n") == 1


def test_progress_is_drawn_only_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    from merganser.cli import progress

    with progress.bars() as draw:
        assert draw is None
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    with progress.bars() as draw:
        assert draw
        draw("count", 10, 100)
        draw("merge", 5, 0)
        draw("encode", 10, 100)
