"""The pages of docs/learn contain the current code and the recorded figures."""

import json
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


def test_the_table_of_before_and_after_is_the_recorded_one() -> None:
    record = sorted((ROOT / "benchmarks" / "records").glob("*-impact.json"))[-1]
    page = (ROOT / "docs" / "learn" / "embeddings.md").read_text("utf-8")
    rows = record.with_suffix(".md").read_text("utf-8").partition("\n\n")[2]
    assert rows in page
    found = json.loads(record.read_text("utf-8"))["wikitext-2"]
    embedded = found["embedding"]
    facts = [embedded[name] for name in ("tokens", "vectors", "pairs_per_epoch", "pairs")]
    assert f"| {' | '.join(f'{fact:,}' for fact in facts)} |" in page
    for word in ("mother", "king", "three", "river", "war"):
        assert f"| {word} | {', '.join(embedded['neighbors'][word])} |" in page
    tokenized = found["tokenizing"]
    shown = [f"{tokenized[name]:,}" for name in ("words", "misses", "tokens")]
    assert f"| {' | '.join(shown)} |" in (ROOT / "docs" / "learn" / "char-bpe.md").read_text("utf-8")
