"""Check the built site: no page requests anything from another host, and the reference is complete.

    .venv/bin/python tools/check_site.py [FOLDER]

`make docs` runs it after mkdocs. Prints every problem and exits with 1 if there is one. FOLDER is site/ by
default.
"""

from __future__ import annotations

import importlib
import json
import re
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
#: Attributes by which a page loads something at once. `href` of other elements only links.
LOADING = {
    "audio": ("src",),
    "embed": ("src",),
    "iframe": ("src",),
    "image": ("href", "xlink:href"),
    "img": ("src", "srcset"),
    "input": ("src",),
    "link": ("href",),
    "object": ("data",),
    "script": ("src",),
    "source": ("src", "srcset"),
    "track": ("src",),
    "use": ("href", "xlink:href"),
    "video": ("src", "poster"),
}
#: Kinds of `<link>` that load nothing.
ONLY_LINKS = {"canonical", "next", "prev", "edit", "alternate"}
#: The modules with a page in the reference, whose `__all__` it must contain.
MODULES = (
    "merganser",
    "merganser.analyse",
    "merganser.chat",
    "merganser.compat.tiktoken",
    "merganser.compat.tokenizers",
    "merganser.compat.transformers",
    "merganser.embed",
)
_ELSEWHERE = re.compile(r"\s*(?:[a-z][a-z0-9+.-]*:)?//", re.IGNORECASE)
_IN_STYLE = re.compile(r"(?:url\(|@import)\s*[\"']?\s*((?:https?:)?//[^\"')\s]+)", re.IGNORECASE)


class Page(HTMLParser):
    """The addresses that a page loads, and the ids of its elements."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.loaded: list[str] = []
        self.ids: set[str] = set()
        self._in_style = False
        self.feed(text)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attributes}
        self._in_style = tag == "style"
        if "id" in given:
            self.ids.add(given["id"])
        self.loaded += _IN_STYLE.findall(given.get("style", ""))
        if tag == "link" and set(given.get("rel", "").split()) <= ONLY_LINKS:
            return
        for name in LOADING.get(tag, ()):
            if name in given:
                self.loaded += [part.split()[0] for part in given[name].split(",") if part.strip()]

    def handle_data(self, data: str) -> None:
        if self._in_style:
            self.loaded += _IN_STYLE.findall(data)


def requests(site: Path) -> Iterator[str]:
    """Yield every address on another host that a page or a style sheet loads."""
    for path in sorted(site.rglob("*.html")):
        for address in Page(path.read_text("utf-8")).loaded:
            if _ELSEWHERE.match(address):
                yield f"{path.relative_to(site)} loads {address}"
    for path in sorted(site.rglob("*.css")):
        for address in _IN_STYLE.findall(path.read_text("utf-8")):
            yield f"{path.relative_to(site)} loads {address}"


def public_names() -> Iterator[str]:
    for module in MODULES:
        for name in importlib.import_module(module).__all__:
            if name != "__version__":
                yield f"{module}.{name}"


def command_names() -> Iterator[str]:
    """Yield every command and subcommand, as in `merganser learn trace`."""
    import click
    from merganser.cli import merganser

    def below(group: click.Group, path: str) -> Iterator[str]:
        context = click.Context(group)
        for name in group.list_commands(context):
            command = group.get_command(context, name)
            yield f"{path} {name}"
            if isinstance(command, click.Group):
                yield from below(command, f"{path} {name}")

    return below(merganser, "merganser")


def missing(site: Path) -> Iterator[str]:
    """Yield every public name and command that has no place in the reference."""
    ids: set[str] = set()
    for path in sorted((site / "reference").glob("*.html")):
        ids |= Page(path.read_text("utf-8")).ids
    for name in public_names():
        if name not in ids:
            yield f"{name} is not in the reference"
    for name in command_names():
        if name.replace(" ", "-") not in ids:
            yield f"{name} is not in the reference"


def unsearchable(site: Path) -> Iterator[str]:
    """Yield a problem if the search has no index, or one without the most important pages."""
    index = site / "search" / "search_index.json"
    if not index.exists():
        yield "the site has no search index"
        return
    found = {entry["location"].partition("#")[0] for entry in json.loads(index.read_text("utf-8"))["docs"]}
    for page in ("get-started.html", "reference/cli.html", "reference/tokenizer.html"):
        if page not in found:
            yield f"{page} is not in the search index"


def problems(site: Path) -> list[str]:
    if not (site / "index.html").exists():
        return [f"{site} has no index.html; run make docs"]
    return [*requests(site), *missing(site), *unsearchable(site)]


def main(arguments: list[str]) -> int:
    found = problems(Path(arguments[0]) if arguments else ROOT / "site")
    for problem in found:
        print(problem)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
