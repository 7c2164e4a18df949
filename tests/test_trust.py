"""docs/trust.md and docs/security.md name tests for all they promise: every one of them exists."""

import ast
import re
from pathlib import Path

import pytest
from examples import ROOT

PAGES = ("trust.md", "security.md")


def named(page: str) -> list[tuple[str, str]]:
    """Return the files and functions that a page names as `file::function`."""
    text = (ROOT / "docs" / page).read_text("utf-8")
    return re.findall(r"`([\w./-]+)::(\w+)`", text)


def functions(file: Path) -> set[str]:
    text = file.read_text("utf-8")
    if file.suffix == ".rs":
        return set(re.findall(r"\bfn (\w+)", text))
    nodes = ast.walk(ast.parse(text))
    return {node.name for node in nodes if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}


@pytest.mark.parametrize("page", PAGES)
def test_every_test_that_is_named_exists(page: str) -> None:
    tests = named(page)
    assert len(tests) > 20
    for file, name in tests:
        assert (ROOT / file).is_file(), f"{page} names {file}"
        assert name in functions(ROOT / file), f"{page} names {file}::{name}"


@pytest.mark.parametrize("page", PAGES)
def test_every_row_names_a_test(page: str) -> None:
    text = (ROOT / "docs" / page).read_text("utf-8")
    for table in re.findall(r"(?:^\|.*\|\n)+", text, re.MULTILINE):
        head, _, *rows = table.splitlines()
        if head.rstrip("| ").endswith("test"):
            for row in rows:
                assert "::" in row.split("|")[-2], row
