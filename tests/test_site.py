"""The documentation site: the reference is complete, links and the table of contents are right.

`make docs` builds the site and checks it again with tools/check_site.py; nothing here needs mkdocs.
"""

import posixpath
import re
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import click
import pytest
from examples import ROOT
from merganser import errors
from merganser.cli import merganser as commands

DOCS = ROOT / "docs"
REFERENCE = "\n".join(page.read_text("utf-8") for page in sorted((DOCS / "reference").glob("*.md")))


@pytest.fixture(scope="module", autouse=True)
def tools() -> Any:
    sys.path.insert(0, str(ROOT / "tools"))
    yield
    sys.path.remove(str(ROOT / "tools"))


@pytest.fixture(scope="module")
def docs_site(tools: None) -> Any:
    return import_module("docs_site")


@pytest.fixture(scope="module")
def check_site(tools: None) -> Any:
    return import_module("check_site")


def test_every_command_and_option_is_in_the_reference(docs_site: Any, check_site: Any) -> None:
    page = docs_site.command_reference()
    for name in check_site.command_names():
        assert re.search(rf"^##+ {name}$", page, re.MULTILINE), f"{name} is not in the reference"
        command: click.Command = commands
        for part in name.split()[1:]:
            assert isinstance(command, click.Group)
            found = command.get_command(click.Context(command), part)
            assert found is not None
            command = found
        for parameter in command.params:
            if isinstance(parameter, click.Option) and not parameter.hidden:
                assert parameter.opts[0] in page, f"{name} {parameter.opts[0]} is not in the reference"


def test_every_public_name_is_in_the_reference(check_site: Any) -> None:
    described = set(re.findall(r"^::: (\S+)$", REFERENCE, re.MULTILINE))
    names = [*check_site.public_names()]
    assert len(names) > 80
    whole_modules = {name for name in described if name.islower() and name.count(".") > 1}
    for name in names:
        assert name in described or name.rpartition(".")[0] in whole_modules, (
            f"{name} is not in the reference"
        )
    listed = (DOCS / "reference" / "api.md").read_text("utf-8")
    for name in import_module("merganser").__all__:
        assert f"`{name}`" in listed or f".{name}`" in listed or name in errors.__all__


def test_every_error_is_in_the_reference() -> None:
    page = (DOCS / "reference" / "errors.md").read_text("utf-8")
    for name in errors.__all__:
        assert f"\n::: merganser.{name}\n" in page
    tree = re.search(
        r"^MerganserError\n.*^MerganserWarning.*?$", errors.__doc__ or "", re.MULTILINE | re.DOTALL
    )
    assert tree and tree[0] in page


def nav() -> list[str]:
    config = (ROOT / "mkdocs.yml").read_text("utf-8")
    return re.findall(r"^ +- (?:.*: )?(\S+\.md)$", config.partition("\nnav:")[2], re.MULTILINE)


def test_every_page_is_in_the_table_of_contents_once(docs_site: Any) -> None:
    listed = nav()
    assert len(listed) == len(set(listed))
    pages = {page.relative_to(DOCS).as_posix() for page in DOCS.rglob("*.md")}
    generated = set(docs_site.generated())
    assert pages <= set(listed), f"add {pages - set(listed)} to mkdocs.yml"
    assert set(listed) <= pages | generated
    assert not pages & generated


def anchors(markdown: str, docs_site: Any) -> set[str]:
    """Return the anchors of the headings of a page, as the site forms them."""
    found = set()

    def collect(text: str) -> str:
        for heading in re.findall(r"^#+ (.+)$", text, re.MULTILINE):
            plain = re.sub(r"[^\w\s-]", "", heading.replace("`", "")).strip().lower()
            found.add(re.sub(r"[-\s]+", "-", plain))
        return text

    docs_site.outside_code(markdown, collect)
    return found


def test_every_link_leads_somewhere(docs_site: Any) -> None:
    """Checked as in the repository; for the site `relinked` changes them."""
    pages = [ROOT / "README.md", *DOCS.rglob("*.md"), *(ROOT / name for name in docs_site.OUTSIDE)]
    links = re.compile(r"\]\(([^)\s#]*)(?:#([^)\s]*))?\)|(?:src|srcset)=\"([^\"#]+)")
    checked = 0
    for page in pages:
        if not page.is_file():
            continue
        found: list[tuple[str, str]] = []

        def collect(text: str, found: list[tuple[str, str]] = found) -> str:
            found += [(target or source, anchor) for target, anchor, source in links.findall(text)]
            return text

        docs_site.outside_code(page.read_text("utf-8"), collect)
        for target, anchor in found:
            if re.match(r"[a-z]+:", target):
                continue
            path = page.parent / target if target else page
            assert path.exists(), f"{page.relative_to(ROOT)} links to {target}"
            checked += 1
            if anchor and path.suffix == ".md" and anchor not in ("only-light", "only-dark"):
                text = path.read_text("utf-8")
                assert anchor in anchors(text, docs_site), f"{page.relative_to(ROOT)}: {target}#{anchor}"
    assert checked > 200


def test_links_of_generated_pages_lead_to_pages_of_the_site(docs_site: Any) -> None:
    generated = docs_site.generated()
    known = {path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*") if path.is_file()} | set(generated)
    for place, text in generated.items():
        if not place.endswith(".md") or place.startswith("source/"):
            continue
        found: list[str] = []
        docs_site.outside_code(
            text, lambda part, found=found: found.extend(docs_site._LINK.findall(part)) or part
        )
        for _, target, _ in found:
            if not re.match(r"[a-z]+:", target):
                path = posixpath.normpath(posixpath.join(posixpath.dirname(place), target))
                assert path in known, f"{place} links to {target}"


def test_a_page_that_loads_from_another_host_is_found(tmp_path: Path, check_site: Any) -> None:
    for name, text in {
        "index.html": '<a href="https://a.org">a</a> <img src="a.svg"> <link rel="canonical" href="//x">',
        "script.html": '<script src="https://cdn.example.org/a.js"></script>',
        "font.html": '<link rel="stylesheet" href="//fonts.example.org/css">',
        "picture.html": '<img srcset="a.png 1x, https://example.org/b.png 2x">',
        "style.html": "<style>@import 'https://example.org/a.css';</style>",
        "style.css": ".a { background: url(https://example.org/a.png) }",
    }.items():
        (tmp_path / name).write_text(text)
    assert [line.split()[0] for line in check_site.requests(tmp_path)] == [
        "font.html",
        "picture.html",
        "script.html",
        "style.html",
        "style.css",
    ]
    assert any("merganser.train is not in the reference" in line for line in check_site.problems(tmp_path))


def test_a_notebook_becomes_a_page(docs_site: Any) -> None:
    cells = [
        {"cell_type": "markdown", "source": ["# Title\n", "\n", "Text."]},
        {
            "cell_type": "code",
            "source": ["1 + 1"],
            "outputs": [
                {"output_type": "execute_result", "data": {"text/plain": ["2"]}},
                {"output_type": "display_data", "data": {"text/html": ["<b>x</b>\n\n<i>y</i>"]}},
                {"output_type": "stream", "text": ["said\n"]},
            ],
        },
    ]
    page = docs_site.notebook_page({"cells": cells}, "a.ipynb")
    assert page.startswith("# Title\n\nText.\n\n*This page is a notebook")
    assert "```python\n1 + 1\n```\n\n```text\n2\n```" in page
    assert '<div class="output">\n<b>x</b>\n<i>y</i>\n</div>' in page
    assert page.endswith("```text\nsaid\n```\n")
