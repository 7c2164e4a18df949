"""Standard input and output that are closed, full, or not text."""

import shlex
import sys
from pathlib import Path

import merganser
import processes
import pytest


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("streams") / "t.merganser"
    merganser.train(["the cat sat"] * 9, 260).save(path)
    return path


def shell(command: str, tokenizer: Path, cwd: Path) -> processes.Done:
    run = f"{shlex.quote(sys.executable)} -W error -m merganser"
    return processes.run(["sh", "-c", command.format(run=run, tokenizer=tokenizer)], cwd=cwd)


@pytest.mark.parametrize(
    "command",
    [
        "{run} encode {tokenizer} <&-",
        "{run} encode {tokenizer} - <&-",
        "{run} decode {tokenizer} - <&-",
        "{run} count - --out a.counts <&-",
        "{run} encode {tokenizer} - --out tokens <&-",
    ],
)
def test_closed_standard_input_is_an_error(command: str, tokenizer: Path, tmp_path: Path) -> None:
    done = shell(command, tokenizer, tmp_path)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("error: standard input is closed; pass ")
    assert done.stderr.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("command", ["{run} encode {tokenizer} text >&-", "{run} --version >&-"])
def test_closed_standard_output_is_an_error(command: str, tokenizer: Path, tmp_path: Path) -> None:
    done = shell(command, tokenizer, tmp_path)
    assert done.returncode == 1
    assert done.stderr == "error: standard output is closed; redirect it to a file or /dev/null\n"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_full_standard_output_is_an_error(tokenizer: Path, tmp_path: Path) -> None:
    done = shell("{run} encode {tokenizer} text >/dev/full", tokenizer, tmp_path)
    assert done.returncode == 1
    assert done.stderr == "error: cannot write to standard output: No space left on device\n"


def test_closed_standard_error_is_no_file(tokenizer: Path, tmp_path: Path) -> None:
    """Without care, the first file that is opened gets its descriptor, and messages end up in it."""
    (tmp_path / "a.txt").write_text("the cat")
    done = shell("{run} count a.txt --out a.counts 2>&-", tokenizer, tmp_path)
    assert done.returncode == 0
    assert merganser.Counts.load(tmp_path / "a.counts").total == 2
