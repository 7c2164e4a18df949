"""merganser learn: its output and files."""

import json
from pathlib import Path

import pytest
from merganser.cli import main
from merganser.learn.ladder.running import StepRun


def test_trace_shows_every_merge(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["learn", "trace", "low lower lowest"]) == 0
    shown = capsys.readouterr().out
    assert "1. l + o → lo   3 times; the tie goes to the smallest ids" in shown
    assert "Ġ lo w e r  →  Ġ low e r" in shown
    assert "7 merges." in shown


def test_trace_as_json_has_the_merges_of_a_training(capsys: pytest.CaptureFixture[str]) -> None:
    from merganser.learn.ladder import LadderSettings, load_step
    from merganser.learn.ladder.words import as_bytes

    text = "aaa abab\naaa é"
    assert main(["learn", "trace", text, "--json"]) == 0
    merges = json.loads(capsys.readouterr().out)["merges"]
    chosen = [tuple(map(as_bytes, merge["chosen"])) for merge in merges]
    assert chosen == load_step(1)(text, LadderSettings(300))
    assert merges[0]["pairs"][0] == {"pair": ["a", "a"], "count": 4}


def test_ladder_runs_offline_and_draws_charts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out"
    arguments = ["--steps", "1,14,approximate", "--max-mb", "0.005", "--vocab-size", "270", "--debug-logging"]
    assert main(["learn", "ladder", *arguments, "--sweep", "--out", str(out)]) == 0
    shown = capsys.readouterr().out
    assert "python-stdlib: 0.01 MB" in shown
    assert "cuts_visited" in shown
    result = json.loads((out / "ladder.json").read_text())
    assert [run["step"] for run in result["steps"]] == ["core", "1", "14", "approximate"]
    assert all(run["merges"] == 14 and run["peak_bytes"] > 1e6 for run in result["steps"])
    assert all(run["differs_at"] is None for run in result["steps"][:3])
    assert len(result["sweep"]) == 6 * 4
    names = {f"{name}.{kind}" for name in ("ladder", "ladder-sizes") for kind in ("png", "svg", "html")}
    assert {path.name for path in out.iterdir()} == names | {"ladder.json"}


def test_ladder_reads_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "中.txt").write_bytes(b"low lower lowest \xff\n" * 9 + b"no end of line")
    arguments = [str(tmp_path / "中.txt"), "--steps", "2,13", "--vocab-size", "264", "--out", str(tmp_path)]
    assert main(["learn", "ladder", *arguments, "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert [run["differs_at"] for run in result["steps"]] == [None] * 3
    assert "\\u4e2d.txt" in (tmp_path / "ladder.svg").read_text("utf-8"), (
        "escaped, because a font may lack it"
    )


def test_a_step_is_stopped_at_the_time_limit(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["--steps", "1", "--max-mb", "2", "--time-limit", "0.5", "--out", str(tmp_path), "--json"]
    assert main(["learn", "ladder", *arguments]) == 0
    naive = json.loads(capsys.readouterr().out)["steps"][1]
    assert naive["timed_out"]
    assert naive["seconds"] is None


def test_a_step_whose_merges_differ_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from merganser.learn.ladder import running

    wrong = [
        StepRun("core", "the Rust core", 1, 1, 1, 9),
        StepRun("7", "7 memory lean", 1, 1, 1, 9, differs_at=5),
    ]
    monkeypatch.setattr(running, "run_steps", lambda *_: wrong)
    assert main(["learn", "ladder", "--steps", "7", "--max-mb", "0.01", "--out", str(tmp_path)]) == 1
    assert (
        "merges differ from those of the Rust core: 7 memory lean (merge 5); please report this"
        in capsys.readouterr().err
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--steps", "0-3"], "'0-3' is not a step; write steps such as 1-14"),
        (["--steps", "three"], "'three' is not a step"),
        (["--vocab-size", "7"], "--vocab-size must be between 256"),
        (["nowhere.txt"], "there is no file or folder nowhere.txt"),
        (["x.jsonl"], "x.jsonl is not a plain text file; decompress or convert it"),
        (["empty.txt"], "the corpus contains no text; check the path"),
    ],
)
def test_invalid_arguments_are_reported(
    arguments: list[str],
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("x.jsonl").write_text("{}")
    Path("empty.txt").write_text("")
    assert main(["learn", "ladder", *arguments]) == 1
    assert message in capsys.readouterr().err
    assert not Path("merganser-ladder").exists()
