"""Every example in README.md runs."""

import re
from pathlib import Path

import pytest
from examples import ROOT, blocks, furnish, run

BLOCKS = blocks("README.md")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The examples share a folder and run in order, as a reader would type them."""
    folder = tmp_path_factory.mktemp("readme")
    furnish(folder)
    return folder


@pytest.mark.parametrize(
    ("language", "code"), BLOCKS, ids=[f"{n}-{block[0]}" for n, block in enumerate(BLOCKS)]
)
def test_example_runs(folder: Path, language: str, code: str) -> None:
    run(folder, language, code)


def test_tree_names_only_what_is_there() -> None:
    tree = re.search(r"```text\n(.*?)```", (ROOT / "README.md").read_text("utf-8"), re.DOTALL)
    assert tree
    folders: list[str] = []
    for line in tree[1].splitlines():
        depth = (len(line) - len(line.lstrip())) // 2
        name = line.split()[0]
        folders[depth:] = [name.rstrip("/")]
        if "*" not in name:
            assert (ROOT / Path(*folders)).exists(), f"{name} is in the tree of the README, but not there"
