"""The pages of docs/learn contain the current code and the recorded figures."""

import sys
from pathlib import Path

import processes
import pytest
from corpora import CORPORA
from merganser.learn.ladder import STEPS

ROOT = Path(__file__).parents[2]
PAGES = ROOT / "docs" / "learn"


def test_pages_are_up_to_date() -> None:
    command = [sys.executable, "-W", "error", "benchmarks/ladder/pages.py", "--check"]
    done = processes.run(command, cwd=ROOT)
    assert done.returncode == 0, done.stderr


def test_every_step_has_a_page_with_all_its_parts() -> None:
    index = (PAGES / "README.md").read_text("utf-8")
    for name in (*STEPS.values(), "approximate"):
        page = (PAGES / f"{name}.md").read_text("utf-8")
        assert f"<!-- code: {name}.py -->" in page
        for part in ("## What changed", "## Measured", "## Exercise"):
            assert part in page, f"{name}.md has no {part}"
        assert f"({name}.md)" in index, f"{name} is not in the index"


@pytest.mark.skipif(not (CORPORA / "english.txt").exists(), reason="needs ../shared/corpora/english.txt")
def test_the_effect_of_the_approximate_re_sort_is_the_recorded_one() -> None:
    command = [sys.executable, "-W", "error", "benchmarks/ladder/approximation.py", "--check"]
    done = processes.run(command, cwd=ROOT)
    assert done.returncode == 0, done.stderr
