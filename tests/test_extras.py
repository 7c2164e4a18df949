"""Extras: an example that imports an optional dependency names the extra that installs it."""

import ast
import re
import sys
from pathlib import Path

import pytest
from examples import ROOT, blocks

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
PAGES = ["README.md", *(str(page.relative_to(ROOT)) for page in sorted((ROOT / "docs").rglob("*.md")))]
#: Methods that return an object of another library.
METHODS = {"to_tiktoken": "tiktoken", "to_huggingface": "tokenizers"}


def packages(requirements: list[str]) -> set[str]:
    return {re.split(r"[^\w-]", requirement)[0].lower() for requirement in requirements}


BASE = packages(PROJECT["dependencies"]) | {"merganser"}
EXTRAS = {name: packages(needs) for name, needs in PROJECT["optional-dependencies"].items()}


def needed(code: str) -> list[tuple[str, int]]:
    """Return the packages beyond the base install that an example uses, each with its line number."""
    found: list[tuple[str, int]] = []
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Import):
            found += [(alias.name.partition(".")[0], node.lineno) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            found.append(((node.module or "").partition(".")[0], node.lineno))
        elif isinstance(node, ast.Attribute) and node.attr in METHODS:
            found.append((METHODS[node.attr], node.lineno))
    known = BASE | set(sys.stdlib_module_names)
    return [(package, line) for package, line in found if package not in known]


def examples() -> list[tuple[str, str]]:
    return [(page, code) for page in PAGES for language, code in blocks(page) if language == "python"]


@pytest.mark.parametrize(("page", "code"), examples())
def test_an_example_names_the_extra_that_it_needs(page: str, code: str) -> None:
    for package, line in needed(code):
        text = code.splitlines()[line - 1]
        named = re.search(r"# pip install 'merganser\[(\w+)\]'$", text)
        assert named, f"{page}: no extra is named for {package}: {text}"
        assert package in EXTRAS[named[1]], f"{page}: [{named[1]}] does not install {package}"


def test_some_examples_need_an_extra() -> None:
    assert {package for _, code in examples() for package, _ in needed(code)} >= {"transformers", "datasets"}


def test_every_extra_named_in_the_package_exists() -> None:
    asked = re.compile(r"merganser\[(\w+)\]|imported\(\"[\w.]+\", \"(\w+)\"")
    for file in Path(ROOT / "python").rglob("*.py"):
        for first, second in asked.findall(file.read_text("utf-8")):
            assert (first or second) in EXTRAS, file
