"""merganser bench: equality first, then speeds; libraries that are missing, differ, refuse, crash or hang."""

import json
import os
import re
import sys
from pathlib import Path
from typing import Any

import merganser
import processes
import pytest
from merganser import benchmark
from merganser.benchmark.texts import LONGEST, read_texts
from merganser.cli import bench, main

TEXT = "".join(f"the {nth} cats sat on the {nth * nth:x} mats\n" for nth in range(6000))
INSTALLED = ("tiktoken", "tokenizers")
SHORT = ("--max-mb", "0.2", "--rounds", "1", "--threads", "1")

#: A library that stands in for gigatoken and may refuse a tokenizer, or have a fault.
LIBRARY = """
import os, time
from types import SimpleNamespace
import merganser
import numpy as np

class Tokenizer:
    @classmethod
    def from_tiktoken(cls, path, pretokenizer):
        {refusal}
        self = cls()
        self.live = merganser.load(path, pattern=pretokenizer)
        return self

    def encode_batch_list(self, texts, parallel):
        print("a library may print")
        {fault}
        return self.live.encode_batch(texts)

    def encode_batch(self, texts, parallel):
        rows = self.encode_batch_list(texts, parallel)
        layout = SimpleNamespace(content=SimpleNamespace(), offsets=SimpleNamespace())
        layout.content.data = np.array([id for row in rows for id in row], np.uint32)
        layout.offsets.data = np.cumsum([0, *map(len, rows)])
        return SimpleNamespace(layout=layout)
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("a.txt").write_text(TEXT)
    merganser.train([TEXT], 400, special_tokens=["<|endoftext|>", " cats sat"]).save("t.merganser")
    return tmp_path


def test_the_libraries_are_those_of_the_package() -> None:
    assert bench.PEERS == benchmark.PEERS


def test_speeds_are_measured_for_libraries_with_the_same_ids(capsys: pytest.CaptureFixture[str]) -> None:
    """ " cats sat" is special to some libraries wherever it occurs; here it is ordinary text to all."""
    peers = [word for name in INSTALLED for word in ("--peer", name)]
    assert main(["bench", "t.merganser", "--on", "a.txt", "--json", *SHORT, *peers]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert (shown["tokenizer"], shown["vocab_size"], shown["threads"]) == ("t.merganser", 400, 1)
    assert 0 < shown["bytes"] <= 100_000
    assert set(shown["machine"]) == {"processor", "cores", "system", "python"}
    assert [row["library"] for row in shown["libraries"]] == ["merganser", *INSTALLED]
    for row in shown["libraries"]:
        assert (row["outcome"], row["detail"]) == ("same", "")
        modes = {"lists"} if row["library"] == "tokenizers" else {"lists", "arrays"}
        assert set(row["speeds"]) == modes
        assert all(speed > 0 for mode in row["speeds"].values() for speed in mode.values())


def test_the_table_fits_80_columns_and_names_what_to_install(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "t.merganser", "--on", "a.txt", *SHORT]) == 0
    out = capsys.readouterr().out
    lines = out.splitlines()
    assert lines[0] == "t.merganser: 400 tokens, gpt4 pattern"
    assert re.fullmatch(r"\d\.\d MB in \d texts? of a\.txt", lines[1])
    assert lines[2].startswith("1 thread on ")
    assert max(len(line) for line in lines[3:] if not line.startswith("not installed")) <= 80
    [ours] = [line for line in lines if line.startswith(f"merganser {merganser.__version__} ")]
    assert len(ours.split()) == 2 + 4
    for name in INSTALLED:
        [row] = [line for line in lines if line.startswith(f"{name} ")]
        assert row.endswith("   the same")
    assert any(line.startswith("merganser : best of others") and line.count("×") == 4 for line in lines)
    missing = [name for name in benchmark.PEERS if benchmark.installed(name) is None]
    if missing:
        assert f"to compare, pip install {' '.join(missing)}" in lines[-1]


def test_without_a_tokenizer_one_is_trained(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["bench", "--on", "a.txt", "--peer", "tiktoken", "--json", *SHORT]
    assert main(arguments) == 0
    shown = capsys.readouterr()
    assert json.loads(shown.out)["tokenizer"] == "a tokenizer trained for this"
    assert shown.err == "", "that it is small is no reason to warn"
    merganser.train([TEXT], 300).save("merganser-out")
    assert main(arguments) == 0
    assert json.loads(capsys.readouterr().out)["vocab_size"] == 300


def test_a_named_library_must_be_installed(capsys: pytest.CaptureFixture[str]) -> None:
    missing = [name for name in benchmark.PEERS if benchmark.installed(name) is None]
    if not missing:
        pytest.skip("all libraries are installed")
    assert main(["bench", "--peer", missing[0]]) == 1
    assert capsys.readouterr().err == f"error: {missing[0]} is not installed: pip install {missing[0]}\n"
    assert main(["bench", "--peer", "tiktokens"]) == 2
    assert "Did you mean 'tiktoken'?" in capsys.readouterr().err


def run_with(
    folder: Path, refusal: str = "pass", fault: str = "pass", *more: str
) -> tuple[int, dict[str, Any]]:
    """Run the command where gigatoken is the library above; return the exit code and its row."""
    site = folder / "site"
    (site / "gigatoken-9.9.dist-info").mkdir(parents=True)
    (site / "gigatoken-9.9.dist-info" / "METADATA").write_text("Name: gigatoken\nVersion: 9.9\n")
    (site / "gigatoken.py").write_text(LIBRARY.format(refusal=refusal, fault=fault))
    package = str(Path(merganser.__file__).parents[1])
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join((str(site), package))}
    options = ("--on", "a.txt", "--peer", "gigatoken", "--json", *SHORT, *more)
    done = processes.run(
        [sys.executable, "-m", "merganser", "bench", "t.merganser", *options], env=environment
    )
    assert done.stderr == ""
    [ours, row] = json.loads(done.stdout)["libraries"]
    assert ours["outcome"] == "same" and ours["speeds"], "a failure of others does not matter"
    assert row["version"] == "9.9"
    return done.returncode, row


def test_different_ids_are_not_timed_and_exit_with_3(folder: Path) -> None:
    code, row = run_with(folder, fault="texts = [texts[0], texts[1][1:], *texts[2:]]")
    assert (code, row["outcome"], row["speeds"]) == (3, "different", {})
    assert row["detail"].startswith("1 of ")
    assert "; the first begins " in row["detail"]


def test_the_same_ids_are_timed(folder: Path) -> None:
    code, row = run_with(folder)
    assert (code, row["outcome"], list(row["speeds"])) == (0, "same", ["lists", "arrays"])


def test_a_library_that_cannot_hold_the_tokenizer_says_why(folder: Path) -> None:
    code, row = run_with(folder, refusal="raise ValueError('no such\\npattern')")
    assert (code, row["outcome"], row["detail"], row["speeds"]) == (
        0,
        "unsupported",
        "ValueError: no such pattern",
        {},
    )


def test_a_library_that_fails_costs_only_its_row(folder: Path) -> None:
    code, row = run_with(folder, fault="raise MemoryError('too much')")
    assert (code, row["outcome"], row["detail"]) == (0, "failed", "MemoryError: too much")


def test_a_library_that_crashes_costs_only_its_row(folder: Path) -> None:
    code, row = run_with(folder, fault="os._exit(7)")
    assert (code, row["outcome"], row["detail"]) == (0, "failed", "exit code 7")


def test_a_library_that_hangs_is_stopped(folder: Path) -> None:
    code, row = run_with(folder, "pass", "time.sleep(600)", "--time-limit", "15")
    assert (code, row["outcome"], row["detail"]) == (0, "timed out", "more than 15 s")


def test_the_texts_are_two_different_halves() -> None:
    texts = read_texts(["one", "", "two", "three"], 1e6)
    assert (texts.warm_up, texts.measured, texts.bytes) == (["one", "three"], ["two"], 3)
    assert read_texts(["naïve"], 1e6) == benchmark.Texts(["na"], ["ïve"])
    several = read_texts([f"{nth:9} " * 20 for nth in range(99)], 2000)
    assert len(several.warm_up) + len(several.measured) == 10
    for text in ("", "x"):
        with pytest.raises(merganser.CorpusError, match="too little text to measure on; pass more"):
            read_texts([text], 1e6)


@pytest.mark.parametrize("text", ["line\n" * 40_000, "x" * 3 * LONGEST, "\n" * 2 * LONGEST])
def test_long_documents_are_cut_at_line_ends(text: str) -> None:
    texts = read_texts([text], 1e9)
    parts = [part for pair in zip(texts.warm_up, texts.measured, strict=False) for part in pair]
    parts += texts.warm_up[len(texts.measured) :]
    assert "".join(parts) == text
    assert max(map(len, parts)) <= LONGEST
    if "e\n" in text:
        assert all(part.endswith("e\n") for part in parts)


def test_the_processor_has_a_name_on_every_system(tmp_path: Path) -> None:
    (tmp_path / "cpuinfo").write_text("processor : 0\nmodel name\t: A 64-bit Machine\n")
    assert bench._processor(tmp_path / "cpuinfo") == "A 64-bit Machine"
    assert bench._processor(tmp_path / "missing"), "as on macOS and Windows"
