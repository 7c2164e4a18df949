"""Every example in the guides runs."""

import sys
from pathlib import Path

import processes
import pytest
from examples import ROOT, blocks, furnish, make_texts, run

EXAMPLES = [
    (page, language, code)
    for page in (
        "docs/analyse.md",
        "docs/learn/char-bpe.md",
        "docs/learn/embeddings.md",
        "docs/nanochat.md",
        "docs/tips.md",
        "docs/which-tokenizer.md",
    )
    for language, code in blocks(page)
]


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Return a folder for each page, where its examples run in order, as a reader would type them."""
    folders = {page: tmp_path_factory.mktemp("docs") for page, _, _ in EXAMPLES}
    for folder in folders.values():
        furnish(folder)
        make_texts(folder)
    return folders


@pytest.mark.parametrize(
    ("page", "language", "code"),
    EXAMPLES,
    ids=[f"{n}-{Path(page).stem}-{language}" for n, (page, language, _) in enumerate(EXAMPLES)],
)
def test_every_example_runs(folders: dict[str, Path], page: str, language: str, code: str) -> None:
    run(folders[page], language, code)


@pytest.mark.parametrize("page", sorted({page for page, _, _ in EXAMPLES}))
def test_a_page_that_reads_texts_says_where_they_come_from(page: str) -> None:
    if any("texts" in code for _, code in blocks(page)):
        assert "README.md#quick-start" in (ROOT / page).read_text("utf-8").partition("texts/")[0]


def test_the_speedups_are_those_of_the_records() -> None:
    command = [sys.executable, "-W", "error", "benchmarks/speedups.py", "--check"]
    done = processes.run(command, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    page = (ROOT / "docs" / "speedups.md").read_text("utf-8")
    assert page.count("\n| ") > 30
    for device in ("MPS", "CUDA"):
        assert "| not measured" in next(line for line in page.splitlines() if line.startswith(f"| {device}"))
    assert "**not measured**" in (ROOT / "docs" / "learn" / "embeddings.md").read_text("utf-8")
