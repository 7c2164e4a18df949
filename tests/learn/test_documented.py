"""benchmarks/ladder/documented.py: it measures every step, resumes, and judges the claims."""

import json
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import processes
import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture
def documented(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(ROOT))
    return import_module("benchmarks.ladder.documented")


def test_a_run_that_is_done_is_skipped_and_a_lost_one_repeated(tmp_path: Path) -> None:
    record = tmp_path / "record.json"
    command = [sys.executable, "-W", "error", "benchmarks/ladder/documented.py", "--record", str(record)]

    def run(*options: str) -> dict[str, Any]:
        done = processes.run([*command, *options], cwd=ROOT)
        assert done.returncode == 0, done.stderr
        runs: dict[str, Any] = json.loads(record.read_text())["sections"]["50-500"]["runs"]
        return runs

    first = run("--sections", "50-500", "--scale", "0.002")
    assert {step: len(runs) for step, runs in first.items()} == {"8": 3, "9": 3}
    assert all(run["cpu_seconds"] > 0 and run["peak_bytes"] > 1e6 for runs in first.values() for run in runs)
    assert run("--sections", "50-500", "--scale", "0.002") == first, "nothing is measured twice"

    changed = json.loads(record.read_text())
    changed["sections"]["50-500"]["runs"]["8"].pop()
    changed["sections"]["50-500"]["runs"]["9"][1]["code"] = "of an older version"
    record.write_text(json.dumps(changed))
    again = run("--sections", "50-500", "--scale", "0.002")
    assert again["8"][:2] == first["8"][:2]
    assert again["9"][:2] == [first["9"][0], first["9"][2]]
    assert {step: len(runs) for step, runs in again.items()} == {"8": 3, "9": 3}
    page = record.with_suffix(".md").read_text("utf-8")
    assert "| 0.1 MB, 276 tokens: time of 9 against 8 | lower | – |" in page
    assert "100 MB, 2,000 tokens: time of 10 against 9 | lower | −4.3% (123 → 118 s) | not measured" in page

    other = processes.run([*command, "--sections", "50-500", "--scale", "0.003"], cwd=ROOT)
    assert other.returncode == 1
    assert "with other sizes; choose another --record" in other.stderr


def test_small_figures_do_not_enter_the_real_record() -> None:
    command = [sys.executable, "benchmarks/ladder/documented.py", "--scale", "0.1"]
    done = processes.run(command, cwd=ROOT)
    assert done.returncode == 2
    assert "--scale needs --record FILE" in done.stderr


@pytest.mark.parametrize(
    ("before", "after", "expected", "outcome"),
    [
        ([100.0, 101.0, 103.0], [90.0, 91.0, 92.0], "lower", "holds"),
        ([100.0, 101.0, 103.0], [90.0, 91.0, 92.0], "higher", "does not hold"),
        ([100.0, 101.0, 103.0], [98.0, 99.0, 99.0], "lower", "no difference"),
        ([100.0, 101.0, 103.0], [98.0, 99.0, 99.0], "same", "holds"),
        ([100.0, 100.0, 100.0], [110.0, 110.0, 110.0], "same", "does not hold"),
        ([100.0], [97.0], "lower", "no difference"),
        ([100.0], [90.0], "lower", "holds"),
    ],
)
def test_a_difference_within_the_spread_is_none(
    documented: Any, before: list[float], after: list[float], expected: str, outcome: str
) -> None:
    """A step that ran once has the spread of the repeated steps, here 4%."""
    sections = {
        "a": {"runs": {"1": as_runs(before), "2": as_runs(after)}},
        "b": {"runs": {"3": as_runs([50.0, 52.0])}},
    }
    claim = documented.Claim("a", 1, 2, "cpu_seconds", expected)
    assert documented.judge(claim, {"sections": sections}).outcome == outcome
    assert (
        documented.judge(documented.Claim("b", 3, 4, "cpu_seconds", expected), {"sections": sections}) is None
    )


def test_long_steps_run_once_and_short_ones_three_times_in_turn(documented: Any) -> None:
    section = documented.Section("x", (11, 13, 14), 1, 300)
    done: dict[str, list[dict[str, float]]] = {}
    order = []
    for step in documented.todo(section, done):
        order.append(step)
        done.setdefault(str(step), []).append({"cpu_seconds": 700.0 if step == 13 else 60.0})
    assert order == [11, 13, 14, 11, 14, 11, 14]


def as_runs(values: list[float]) -> list[dict[str, float]]:
    return [{"cpu_seconds": value} for value in values]
