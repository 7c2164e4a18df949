"""Output paths: unwritable ones are reported before any work, and results are not overwritten by default."""

import json
import re
import signal
import sys
from pathlib import Path

import merganser
import processes
import pytest
from killing import training, write_counts
from merganser import Counts, embed
from merganser.cli import main

TEXT = "the cat sat on the mat with the other cat\n" * 40
TRAIN = ("train", "a.txt", "--vocab-size", "265")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("a.txt").write_text(TEXT)
    merganser.train([TEXT], 260).save("t.merganser")
    Counts({b"ab": 3}).save("c.counts")
    return tmp_path


@pytest.mark.parametrize(
    "arguments",
    [
        ["train", "gone.txt", "--vocab-size", "300", "--out", "a.txt/x"],
        ["train", "gone.txt", "--vocab-size", "300", "--base", "gone", "--out", "a.txt"],
        ["count", "gone.txt", "--out", "a.txt/x.counts"],
        ["encode", "t.merganser", "gone.txt", "--out", "a.txt/x"],
        ["export", "t.merganser", "--to", "huggingface", "--on", "gone.txt", "--out", "a.txt/x"],
        ["export", "c.counts", "--to", "tsv", "--out", "a.txt/x.tsv"],
        ["report", "gone.txt", "--out", "a.txt/x"],
        ["embed", "gone.txt", "--out", "a.txt/x"],
        ["learn", "char", "gone.txt", "--out", "a.txt/x"],
        ["learn", "speed", "gone.txt", "--out", "a.txt/x"],
        ["learn", "ladder", "gone.txt", "--out", "a.txt/x"],
        ["demo", "--out", "a.txt/x"],
    ],
    ids=lambda arguments: " ".join(arguments[:2]),
)
def test_an_unwritable_path_is_reported_before_the_corpus_is_read(
    arguments: list[str], folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = sorted(folder.rglob("*"))
    code = main(arguments)
    error = capsys.readouterr().err
    if code == 2:  # rejected by click
        assert "'a.txt' is a file" in error
    else:
        assert code == 1
        instead = "path" if arguments[:2] == ["export", "t.merganser"] else "--out"
        expected = (
            f"error: cannot write to a.txt(/x)?: a.txt is a file, not a folder; choose another {instead}"
        )
        assert re.fullmatch(expected, error.strip()), error
    assert sorted(folder.rglob("*")) == before


def test_an_unwritable_work_folder_is_reported(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*TRAIN, "--work-dir", "a.txt/work"]) == 1
    error = capsys.readouterr().err
    assert (
        error
        == "error: cannot write to a.txt/work: a.txt is a file, not a folder; choose another --work-dir\n"
    )


def test_a_tokenizer_is_not_overwritten_unless_forced(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(TRAIN) == 0
    first = Path("merganser-out/tokenizer.merganser").read_bytes()
    capsys.readouterr()
    # Neither the same command, nor one with a missing corpus, which is not read first.
    for corpus in ("a.txt", "gone.txt"):
        assert main(["train", corpus, "--vocab-size", "265"]) == 1
        assert capsys.readouterr().err == (
            "error: merganser-out/tokenizer.merganser already exists; "
            "pass --force to replace it, or choose another --out\n"
        )
    assert Path("merganser-out/tokenizer.merganser").read_bytes() == first
    assert main(["train", "a.txt", "--vocab-size", "262", "--out", "other"]) == 0
    assert main(["train", "a.txt", "--vocab-size", "262", "--force"]) == 0
    assert merganser.load("merganser-out").vocab_size == 262


@pytest.mark.parametrize("force", [(), ("--force",)])
def test_an_unfinished_training_resumes_with_the_same_command(folder: Path, force: tuple[str, ...]) -> None:
    write_counts(folder)
    if force:
        assert main([*TRAIN, "--out", "out"]) == 0
    command = training("out", "--checkpoint-every", "0.001", *force)
    with processes.started(command) as process:
        log = folder / "out" / "work" / "merges.log"
        processes.wait_until(log.exists, process)
        process.send_signal(signal.SIGINT)
        _, stderr = process.communicate()
    assert process.returncode == 130, stderr
    assert "stopped; run the same command again to resume" in stderr
    processes.run(command, check=True)
    assert not log.exists()


def test_counts_are_not_overwritten_unless_forced(capsys: pytest.CaptureFixture[str]) -> None:
    before = Path("c.counts").read_bytes()
    assert main(["count", "gone.txt", "--out", "c.counts"]) == 1
    error = capsys.readouterr().err
    assert error == "error: c.counts already exists; pass --force to replace it, or choose another --out\n"
    assert Path("c.counts").read_bytes() == before
    assert main(["count", "a.txt", "--out", "c.counts", "--force"]) == 0
    assert Counts.load("c.counts") == merganser.count([TEXT])


def test_embeddings_are_not_overwritten_unless_forced(capsys: pytest.CaptureFixture[str]) -> None:
    command = ["embed", "a.txt", "--epochs", "1", "--out", "vectors"]
    assert main(command) == 0
    vectors = embed.load("vectors").vectors
    capsys.readouterr()
    assert main([*command, "--embedding-dim", "7"]) == 1
    assert capsys.readouterr().err.startswith("error: vectors/embeddings.json already exists; pass --force")
    assert (embed.load("vectors").vectors == vectors).all()
    assert main([*command, "--embedding-dim", "7", "--force"]) == 0
    assert embed.load("vectors").dimension == 7


def test_embeddings_do_not_overwrite_a_tokenizer(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*TRAIN, "--out", "mine"]) == 0
    trained = Path("mine/tokenizer.merganser").read_bytes()
    capsys.readouterr()
    assert main(["embed", "a.txt", "--epochs", "1", "--out", "mine"]) == 1
    assert capsys.readouterr().err.startswith("error: mine/tokenizer.merganser already exists; pass --force")
    assert main(["embed", "a.txt", "--tokenizer", "mine", "--epochs", "1", "--out", "mine"]) == 0
    assert Path("mine/tokenizer.merganser").read_bytes() == trained


def test_the_demo_overwrites_only_its_default_folder(capsys: pytest.CaptureFixture[str]) -> None:
    script = (
        "import sys; sys.modules['vl_convert'] = None; from merganser.cli import main; sys.exit(main({}))"
    )

    def demo(*more: str) -> processes.Done:
        code = script.format(["demo", "--vocab-size", "300", "--json", *more])
        return processes.run([sys.executable, "-c", code])

    for _ in range(2):
        done = demo()
        assert done.returncode == 0, done.stderr
        assert json.loads(done.stdout)["tokenizer"] == "merganser-demo/tokenizer.merganser"
    assert main(TRAIN) == 0, "the demo does not use the default folder"
    refused = demo("--out", "merganser-out")
    assert (refused.returncode, refused.stdout) == (1, "")
    assert "already exists; pass --force" in refused.stderr
    assert merganser.load("merganser-out").vocab_size == 265
    assert demo("--out", "merganser-out", "--force").returncode == 0
