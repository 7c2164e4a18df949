"""Every example in Get started and in the cookbook runs."""

from pathlib import Path

import pytest
from examples import ROOT, blocks, each_example, furnish, make_texts, run

PAGES = (
    "docs/get-started.md",
    *sorted(f"docs/cookbook/{path.name}" for path in (ROOT / "docs/cookbook").iterdir()),
)


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Return a folder for each page, where its examples run in order, as a reader would type them."""
    folders = {page: tmp_path_factory.mktemp("cookbook") for page in PAGES}
    for page, folder in folders.items():
        furnish(folder)
        if page != "docs/get-started.md":
            make_texts(folder)
    return folders


@each_example(PAGES)
def test_every_example_runs(folders: dict[str, Path], page: str, language: str, code: str) -> None:
    run(folders[page], language, code)


def test_there_are_ten_tasks_and_the_index_lists_them() -> None:
    index = (ROOT / "docs/cookbook/index.md").read_text("utf-8")
    tasks = [page for page in PAGES if page.startswith("docs/cookbook/") and not page.endswith("/index.md")]
    assert len(tasks) == 10
    for page in tasks:
        assert f"]({Path(page).name})" in index
        assert blocks(page), f"{page} has no example"


def test_texts_are_created_before_they_are_read() -> None:
    first = next(code for _, code in blocks("docs/get-started.md") if "texts" in code)
    assert first.startswith("mkdir -p texts\n")
