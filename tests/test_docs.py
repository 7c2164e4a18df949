"""Every example in the guides runs."""

from pathlib import Path

import pytest
from examples import ROOT, blocks, furnish, make_texts, run

EXAMPLES = [
    (page, language, code)
    for page in ("docs/analyse.md", "docs/learn/embeddings.md", "docs/which-tokenizer.md", "docs/tips.md")
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
