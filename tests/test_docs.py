"""Every example in the documentation runs; those of the cookbook run in test_cookbook.py."""

import os
import re
import shlex
import sys
from pathlib import Path

import processes
import pytest
from examples import ROOT, blocks, each_example, furnish, make_texts, run

PAGES = [
    page.relative_to(ROOT).as_posix()
    for page in sorted((ROOT / "docs").rglob("*.md"))
    # Pages of the ladder contain whole modules, which have tests of their own.
    if "<!-- code: " not in page.read_text("utf-8")
    and page.parent.name != "cookbook"
    and page.stem != "get-started"
]


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Return a folder for each page, where its examples run in order, as a reader would type them."""
    folders = {page: tmp_path_factory.mktemp("docs") for page in PAGES if blocks(page)}
    for folder in folders.values():
        furnish(folder)
        make_texts(folder)
    return folders


@each_example(PAGES)
def test_every_example_runs(folders: dict[str, Path], page: str, language: str, code: str) -> None:
    run(folders[page], language, code)


@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page)])
def test_a_page_that_reads_texts_says_where_they_come_from(page: str) -> None:
    if any(re.search(r"\btexts\b(?! =)", code) for _, code in blocks(page)):
        assert "get-started.md#2-get-some-text" in (ROOT / page).read_text("utf-8").partition("texts/")[0]


def test_the_speedups_are_those_of_the_records() -> None:
    command = [sys.executable, "-W", "error", "benchmarks/speedups.py", "--check"]
    done = processes.run(command, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    page = (ROOT / "docs" / "speedups.md").read_text("utf-8")
    assert page.count("\n| ") > 30
    for device in ("MPS", "CUDA"):
        assert "| not measured" in next(line for line in page.splitlines() if line.startswith(f"| {device}"))
    assert "**not measured**" in (ROOT / "docs" / "learn" / "embeddings.md").read_text("utf-8")


def test_the_objectives_of_embeddings_are_those_of_the_record() -> None:
    command = [sys.executable, "-W", "error", "-m", "benchmarks.embed.objectives", "--check"]
    done = processes.run(command, cwd=ROOT)
    assert done.returncode == 0, done.stderr


def test_what_profile_md_profiles_runs_in_a_clone(tmp_path: Path) -> None:
    """Its texts are generated, and the programs run, here without the profilers and on less text."""
    page = (ROOT / "docs" / "profile.md").read_text("utf-8")
    assert "shared/" not in page
    texts = re.search(r"^```\n(python -c .*?)```", page, re.MULTILINE | re.DOTALL)
    assert texts
    profiled = re.findall(r"^(?:py-spy|perf) record .*?(python -m .*)", page, re.MULTILINE)
    assert len(profiled) == 3
    lines = [*texts[1].splitlines(), *profiled]
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    for line in lines:
        shorter = line.replace("benchmarks/", f"{shlex.quote(str(ROOT))}/benchmarks/")
        shorter = shorter.replace("--megabytes 56", "--megabytes 2").replace("32000", "2000")
        done = processes.run(
            ["bash", "-euc", shorter],
            cwd=tmp_path,
            env={**os.environ, "PATH": path, "PYTHONWARNINGS": "error"},
        )
        assert done.returncode == 0, f"{line}: {done.stderr}"
