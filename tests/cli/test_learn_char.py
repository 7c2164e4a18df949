"""merganser learn char and merganser learn speed: figures and charts, without a network."""

import json
import signal
import sys
from pathlib import Path
from typing import Any

import processes
import pytest
from corpora import corpus_file
from merganser.cli import main
from merganser.corpus import named_datasets
from merganser.learn import char_bpe, char_bpe_fast, text

SENTENCE = "The creature walked, walking on; the walker's talk was of walks and talks and 中文. "
KINDS = (".png", ".svg", ".html")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MERGANSER_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(named_datasets, "FRANKENSTEIN_URL", "http://127.0.0.1:9/pg84.txt")
    Path("a.txt").write_text(SENTENCE * 30, "utf-8")
    return tmp_path


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    assert main(["learn", *arguments, "--json"]) == 0
    result: dict[str, Any] = json.loads(capsys.readouterr().out)
    return result


def test_char_reports_the_figures_of_the_plain_trainer(capsys: pytest.CaptureFixture[str]) -> None:
    result = run(capsys, "char", "a.txt", "--merges", "20")
    words = char_bpe.split(SENTENCE * 30)
    tokenizer = char_bpe.train(SENTENCE * 30, 20)
    assert result["words"] == len(words)
    assert result["vocabulary"] == len(tokenizer.vocabulary)
    at_20 = next(row for row in result["tried"] if row["merges"] == 20)
    assert at_20["tokens_per_word"] == len(tokenizer.encode(SENTENCE)) / len(char_bpe.split(SENTENCE))
    assert sum(row["text_share"] for row in result["token_lengths"]) == pytest.approx(1)
    tokens = tokenizer.tokens(SENTENCE * 30)
    for row in result["frequent_subwords"]:
        assert row["count"] == tokens.count(row["token"])
        assert len(row["token"].removesuffix("</w>")) > 1


def test_char_saves_its_vocabulary_and_merges(capsys: pytest.CaptureFixture[str]) -> None:
    result = run(capsys, "char", "a.txt", "--merges", "20", "--out", "saved")
    tokenizer = char_bpe.train(SENTENCE * 30, 20)
    file = Path("saved", "char_tokenizer.json")
    assert str(file) in result["files"]
    saved = char_bpe_fast.FastCharBPE.from_json(file.read_text("utf-8"))
    assert (saved.vocabulary, saved.merges) == (tokenizer.vocabulary, tokenizer.merges)
    assert saved.encode(SENTENCE) == tokenizer.encode(SENTENCE)


def test_char_draws_three_charts_in_three_formats(capsys: pytest.CaptureFixture[str]) -> None:
    result = run(capsys, "char", "a.txt", "--merges", "60", "--out", "drawn")
    names = ("char_tokens_per_word", "char_token_lengths", "char_subwords")
    expected = {str(Path("drawn", name + kind)) for name in names for kind in KINDS}
    saved = {str(Path("drawn", name)) for name in ("char.json", "char_tokenizer.json")}
    assert set(result["files"]) == expected | saved
    assert all(Path(file).stat().st_size > 500 for file in result["files"])
    subwords = Path("drawn", "char_subwords.svg").read_text("utf-8")
    assert "\\u4e2d\\u6587&lt;/w&gt;" in subwords
    assert "中" not in subwords, "the font lacks that character"


def test_char_prints_a_summary(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["learn", "char", "a.txt"]) == 0
    out = capsys.readouterr().out
    assert "tokens per word" in out
    assert "Most frequent subwords: " in out
    assert str(Path("merganser-out", "learn", "char_subwords.png")) in out


def test_more_merges_than_possible_is_not_an_error(capsys: pytest.CaptureFixture[str]) -> None:
    result = run(capsys, "char", "a.txt", "--merges", "5000")
    assert result["merges"] < 5000
    assert result["tried"][-1] == {
        "merges": result["merges"],
        "tokens_per_word": 1,
        "seconds": result["tried"][-1]["seconds"],
    }


def test_without_a_network_char_uses_the_standard_library(
    capsys: pytest.CaptureFixture[str], folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert main(["learn", "char", "--max-mb", "0.05", "--json"]) == 0
    out, err = capsys.readouterr()
    assert json.loads(out)["corpus"] == "python-stdlib"
    assert "warning: using python-stdlib, because frankenstein is not available" in err


def test_the_novel_is_read_from_a_copy(capsys: pytest.CaptureFixture[str]) -> None:
    result = run(capsys, "char", f"frankenstein={corpus_file('frankenstein_raw.txt')}")
    assert [row["merges"] for row in result["tried"]] == [1000, 2000, 5000, 10000]
    assert result["frequent_subwords"][0]["token"] == "the</w>"
    assert "frankenstein, 2,000 merges" in Path("merganser-out/learn/char_subwords.svg").read_text("utf-8")


def test_speed_prints_and_draws_everything(capsys: pytest.CaptureFixture[str]) -> None:
    few = ("--sizes", "100,1000", "--plain-words", "100", "--compared-words", "1000", "--merges", "50")
    arguments = ("a.txt", *few, "--out", "drawn")
    result = run(capsys, "speed", *arguments)
    assert [row["plain"]["extrapolated"] for row in result["sizes"]] == [False, True]
    assert [row["kind"] for row in result["kinds"]] == ["a.txt", "code", "random", "repetitive"]
    names = ("tokenizer_optimization_results", "optimization_breakdown")
    expected = {str(Path("drawn", name + kind)) for name in names for kind in KINDS}
    assert set(result["files"]) == {*expected, str(Path("drawn", "speed.json"))}

    assert main(["learn", "speed", *arguments]) == 0
    out = capsys.readouterr().out
    assert "~ extrapolated: the plain tokenizer was timed on 100 words" in out
    assert "+ best-pair merging" in out
    assert "Cache: " in out


def test_without_a_network_speed_uses_the_reference_manual(capsys: pytest.CaptureFixture[str]) -> None:
    few = ("--sizes", "500", "--plain-words", "100", "--compared-words", "500", "--merges", "10")
    result = run(capsys, "speed", *few)
    assert result["corpus"] == "the Python reference"
    assert result["kinds"][0]["kind"] == "books"


@pytest.mark.parametrize("sizes", ["", "0,10", "ten"])
def test_invalid_sizes_are_reported(sizes: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["learn", "speed", "a.txt", "--sizes", sizes]) == 2
    assert "--sizes" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("gone.txt", None, "there is no file or folder gone.txt"),
        ("x.jsonl", b'{"text": "a"}', "is not a plain text file; decompress or convert it first"),
        ("x.counts", b"", "is not plain text on this machine; download or convert it first"),
        ("empty.txt", b" \n", "empty.txt contains no text; check the path"),
    ],
)
@pytest.mark.parametrize("command", ["char", "speed"])
def test_unreadable_texts_are_reported(
    command: str, name: str, content: bytes | None, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    if content is not None:
        Path(name).write_bytes(content)
    assert main(["learn", command, name]) == 1
    assert message in capsys.readouterr().err
    assert not Path("merganser-out").exists()


def test_a_text_is_cut_at_a_whole_character() -> None:
    Path("wide.txt").write_text("中" * 10, "utf-8")
    assert text.read("wide.txt", max_mb=7e-6) == "中中"


def test_an_unwritable_folder_is_reported(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["learn", "char", "a.txt", "--out", "a.txt/below"]) == 1
    assert (
        "cannot write to a.txt/below: a.txt is a file, not a folder; choose another --out"
        in capsys.readouterr().err
    )


def test_without_the_extra_there_are_figures_but_no_charts(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "vl_convert", None)
    assert main(["learn", "char", "a.txt", "--json"]) == 0
    out, err = capsys.readouterr()
    assert json.loads(out)["files"] == [
        str(Path("merganser-out", "learn", name)) for name in ("char.json", "char_tokenizer.json")
    ]
    assert "no charts were written: drawing charts needs vl_convert: pip install 'merganser[plot]'" in err


@pytest.mark.parametrize("command", ["char", "speed"])
def test_ctrl_c_stops_the_command_at_once(command: str) -> None:
    arguments = [sys.executable, "-m", "merganser", "learn", command, "python-stdlib"]
    if command == "char":
        arguments += ["--max-mb", "100"]
    with processes.started(arguments) as process:
        # It runs for minutes, and starts in seconds.
        processes.wait_until(lambda: processes.processor_time(process) > 3, process)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate()
    assert (process.returncode, err.strip()) == (130, "stopped")
    assert not Path("merganser-out").exists()


@pytest.mark.parametrize("command", ["char", "speed"])
def test_help_has_an_example(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["learn", command, "--help"]) == 0
    out = capsys.readouterr().out
    assert f"Example: merganser learn {command}" in out
    assert "--json" in out
