"""Every example in README.md runs."""

import re
from pathlib import Path

import pytest
from examples import ROOT, blocks, furnish, run

BLOCKS = blocks("README.md")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder where the examples run in order, as a reader would type them."""
    folder = tmp_path_factory.mktemp("readme")
    furnish(folder)
    return folder


@pytest.mark.parametrize(
    ("language", "code"), BLOCKS, ids=[f"{n}-{block[0]}" for n, block in enumerate(BLOCKS)]
)
def test_every_example_runs(folder: Path, language: str, code: str) -> None:
    run(folder, language, code)


def test_texts_are_created_before_they_are_read() -> None:
    assert next(code for _, code in BLOCKS if "texts" in code).startswith("mkdir -p texts\n")


def test_the_required_versions_are_named() -> None:
    readme = (ROOT / "README.md").read_text("utf-8")
    rust = re.search(r'^rust-version = "(.*)"', (ROOT / "Cargo.toml").read_text("utf-8"), re.MULTILINE)
    python = re.search(
        r'^requires-python = ">=(.*)"', (ROOT / "pyproject.toml").read_text("utf-8"), re.MULTILINE
    )
    assert rust and f"Rust {rust[1]} or newer" in readme
    assert python and f"Python {python[1]} or newer" in readme


def test_every_path_in_the_tree_exists() -> None:
    tree = re.search(r"```text\n(.*?)```", (ROOT / "README.md").read_text("utf-8"), re.DOTALL)
    assert tree
    folders: list[str] = []
    for line in tree[1].splitlines():
        depth = (len(line) - len(line.lstrip())) // 2
        name = line.split()[0]
        folders[depth:] = [name.rstrip("/")]
        if "*" not in name:
            assert (ROOT / Path(*folders)).exists(), f"{name} is in the tree of the README but does not exist"
