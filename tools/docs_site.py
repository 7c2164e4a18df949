"""Hooks of mkdocs: the pages of the site that are generated, and links that leave docs/.

`mkdocs.yml` names this file. When the site is built, it

- fills docs/reference/cli.md with every command, from the definitions of click;
- adds the notebooks of docs/notebooks as pages, with their stored output;
- adds pages from outside docs/ (`OUTSIDE`), the records of the benchmarks, and sources that a page links to;
- changes links between all of these, so that they work on the site as they do in the repository;
- links the pages that docstrings name, such as docs/format.md.

Without mkdocs the functions work too, for the tests.
"""

from __future__ import annotations

import json
import posixpath
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files
    from mkdocs.structure.pages import Page

ROOT = Path(__file__).resolve().parent.parent
RECORDS = "benchmarks/records"
#: Pages outside docs/, and their place on the site. One that does not exist is left out.
OUTSIDE = {
    "ARCHITECTURE.md": "architecture.md",
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "RELEASING.md": "releasing.md",
    "SECURITY.md": "security-policy.md",
    "benchmarks/README.md": "benchmarks/how-we-measure.md",
    RECORDS: "benchmarks/records/index.md",
}
#: The head of a page that the search leaves out.
NOT_SEARCHED = "---\nsearch:\n  exclude: true\n---\n\n"
COMMANDS = "<!-- commands -->"
_LINK = re.compile(r"(!?\[[^\]]*\]\()([^)\s#]+)((?:#[^)\s]*)?\))")
_FENCE = re.compile(r"^(```|~~~).*?^\1[`~]*$", re.MULTILINE | re.DOTALL)
_CODE = re.compile(r"(`+)(.+?)\1")


# --- The command line ---------------------------------------------------------------------------------------


def command_reference() -> str:
    """Return every command with its arguments and options, as Markdown."""
    from merganser.cli import GROUPS, merganser

    context = click.Context(merganser, info_name="merganser")
    table = ["| | command | |", "|---|---|---|"]
    for title, names in GROUPS.items():
        titles = [f"**{title}**", *[""] * len(names)]
        table += [
            f"| {title} | [`{name}`](#merganser-{name}) | {line} |"
            for title, (name, line) in zip(titles, names.items(), strict=False)
        ]
    parts = ["## Commands", "\n".join(table)]
    for names in GROUPS.values():
        for name in names:
            command = merganser.get_command(context, name)
            assert command is not None
            parts += _command(command, context, name, "##")
    return "\n\n".join(parts)


def _command(command: click.Command, parent: click.Context, name: str, level: str) -> Iterator[str]:
    context = click.Context(command, info_name=name, parent=parent)
    yield f"{level} merganser {context.command_path.removeprefix('merganser ')}"
    yield from _prose(command.help or "")
    usage = " ".join([context.command_path, *command.collect_usage_pieces(context)])
    yield f"```text\n{usage}\n```"
    rows = [row for parameter in command.get_params(context) if (row := _option(parameter, context))]
    if rows:
        yield "\n".join(["| option | |", "|---|---|", *rows])
    if command.epilog:
        yield from _prose(command.epilog)
    if isinstance(command, click.Group):
        for inner in command.list_commands(context):
            found = command.get_command(context, inner)
            assert found is not None
            yield from _command(found, context, inner, f"{level}#")


def _option(parameter: click.Parameter, context: click.Context) -> str | None:
    """Return a row of the table of options; None for an argument, which the usage shows."""
    record = parameter.get_help_record(context)
    if record is None or not isinstance(parameter, click.Option) or "--help" in parameter.opts:
        return None
    names, text = record
    text = _escaped(text.replace("\n", " ")).replace("|", "\\|")
    return f"| `{names.replace('|', chr(92) + '|')}` | {text} |"


def _prose(text: str) -> Iterator[str]:
    """Turn the help of a command into paragraphs: examples and tables become code."""
    import inspect

    for part in re.split(r"\n\s*\n", inspect.cleandoc(text)):
        if part.startswith("\b"):
            yield "```text\n" + inspect.cleandoc(part.removeprefix("\b").strip("\n")) + "\n```"
        elif part.startswith("Example: "):
            yield f"```sh\n{' '.join(part.removeprefix('Example: ').split())}\n```"
        else:
            yield _escaped(" ".join(part.split()))


def _escaped(text: str) -> str:
    """Keep Markdown from interpreting a help text, except for its code; options become code."""
    text = re.sub(r"(?<![\w`-])--[a-z][a-z-]+", r"`\g<0>`", text)
    spans = re.split(r"(`[^`]+`)", text)
    return "".join(
        span if n % 2 else re.sub(r"([*_\[])", r"\\\1", span).replace("<", "&lt;")
        for n, span in enumerate(spans)
    )


# --- Notebooks ----------------------------------------------------------------------------------------------


def notebook_page(notebook: dict[str, Any], name: str) -> str:
    """Return a notebook as Markdown, with its stored output."""
    parts = []
    for cell in notebook["cells"]:
        source = "".join(cell["source"]).strip()
        if cell["cell_type"] == "markdown":
            parts.append(source)
        elif source:
            parts.append(f"```python\n{source}\n```")
            parts += [shown for output in cell["outputs"] if (shown := _output(output))]
    first, *rest = parts
    note = f"*This page is a notebook: `docs/notebooks/{name}`. Open it in Jupyter to change and run it.*"
    return "\n\n".join([first, note, *rest]) + "\n"


def _output(output: dict[str, Any]) -> str:
    """Return one output of a cell: the richest form that a page can show."""
    if output["output_type"] == "stream":
        return _text_output("".join(output["text"]))
    data = output.get("data", {})
    for kind in ("text/html", "image/svg+xml"):
        if kind in data:
            # Markdown would end the block at an empty line.
            drawn = "\n".join(line for line in "".join(data[kind]).splitlines() if line.strip())
            return f'<div class="output">\n{drawn}\n</div>'
    return _text_output("".join(data.get("text/plain", "")))


def _text_output(text: str) -> str:
    return f"```text\n{text.rstrip()}\n```" if text.strip() else ""


# --- Pages from outside docs/ -------------------------------------------------------------------------------


def record_index() -> str:
    """Return a list of all records."""
    lines = [
        "# Records",
        "",
        "Every record names the machine, the commit and the command that produced it.",
        "",
    ]
    for path in sorted((ROOT / RECORDS).glob("*.json"), reverse=True):
        page = path.with_suffix(".md")
        links = f"[JSON]({path.name})"
        if page.exists():
            links = f"[tables]({page.name}) · {links}"
        lines.append(f"- {path.stem}: {links}")
    return "\n".join(lines) + "\n"


def placed(path: str) -> str | None:
    """Return the place on the site of a file of the repository, or None if it has none."""
    if path.startswith("docs/"):
        inside = path.removeprefix("docs/")
        return f"{inside.removesuffix('.ipynb')}.md" if inside.endswith(".ipynb") else inside
    if path == "README.md":
        return "index.md"
    if path.rstrip("/") in OUTSIDE:
        return OUTSIDE[path.rstrip("/")]
    if path.startswith(f"{RECORDS}/"):
        return path
    if path.endswith((".py", ".rs")):
        return f"source/{path}.md"
    return None


def relinked(markdown: str, path: str) -> str:
    """Change the links of a page of the repository so that they work at its place on the site.

    A link to a file or folder that is not on the site becomes text.

    >>> relinked("[records](../benchmarks/records) and [log](log.md#a)", "docs/scale.md")
    '[records](benchmarks/records/index.md) and [log](log.md#a)'
    >>> relinked("[log](docs/log.md), [web](https://example.org)", "ARCHITECTURE.md")
    '[log](log.md), [web](https://example.org)'
    >>> relinked("the [Makefile](Makefile)", "ARCHITECTURE.md")
    'the Makefile'
    """
    here = placed(path)
    assert here is not None

    def change(match: re.Match[str]) -> str:
        before, target, after = match.groups()
        if re.match(r"[a-z]+:", target):
            return match[0]
        target = posixpath.normpath(posixpath.join(posixpath.dirname(path), target))
        found = placed(target)
        if found is None or (found not in OUTSIDE.values() and (ROOT / target).is_dir()):
            return before.removesuffix("](").lstrip("![")
        return f"{before}{posixpath.relpath(found, posixpath.dirname(here) or '.')}{after}"

    return outside_code(markdown, lambda text: _LINK.sub(change, text))


def link_named_pages(html: str, place: str) -> str:
    """Link the pages of docs/ that the text of a page names. Docstrings do: `help` shows no links.

    >>> link_named_pages("<p>See docs/format.md.</p>", "reference/tokenizer.md")
    '<p>See <a href="../format.html">docs/format.md</a>.</p>'
    """

    def link(match: re.Match[str]) -> str:
        if not (ROOT / match[0]).is_file():
            return match[0]
        page = f"{match[1]}.html"
        return f'<a href="{posixpath.relpath(page, posixpath.dirname(place) or ".")}">{match[0]}</a>'

    # Not inside of tags, code or links.
    return re.sub(r"(?<![\w/\">])docs/([\w/-]+)\.md(?![\w<])", link, html)


def outside_code(markdown: str, change: Any) -> str:
    """Apply a function to the text of a page, but not to its code blocks."""
    parts, end = [], 0
    for fence in _FENCE.finditer(markdown):
        parts += [change(markdown[end : fence.start()]), fence[0]]
        end = fence.end()
    return "".join([*parts, change(markdown[end:])])


def without_escaped_pipes(markdown: str) -> str:
    r"""Write `\|` in the code of tables as GitHub shows it: the Markdown of the site keeps the backslash.

    >>> without_escaped_pipes("| `a\\|b` | c |")
    '| `a|b` | c |'
    """

    def change(text: str) -> str:
        return "\n".join(
            _CODE.sub(lambda code: code[0].replace("\\|", "|"), line) if line.startswith("|") else line
            for line in text.split("\n")
        )

    return outside_code(markdown, change)


def linked_sources() -> set[str]:
    """Return the sources that pages link to."""
    found = set()
    for page in [*(ROOT / "docs").rglob("*.md"), *(ROOT / path for path in OUTSIDE if path.endswith(".md"))]:
        if not page.is_file():
            continue
        for _, target, _ in _LINK.findall(page.read_text("utf-8")):
            path = posixpath.normpath(posixpath.join(page.parent.relative_to(ROOT).as_posix(), target))
            if path.endswith((".py", ".rs")) and (ROOT / path).is_file():
                found.add(path)
    return found


def source_page(path: str) -> str:
    text = (ROOT / path).read_text("utf-8").rstrip("\n")
    language = "python" if path.endswith(".py") else "rust"
    return f"{NOT_SEARCHED}# {Path(path).name}\n\n`{path}`\n\n~~~~~~{language}\n{text}\n~~~~~~\n"


def generated() -> dict[str, str]:
    """Return every generated page and file of the site by its place."""
    found = {}
    for path, place in OUTSIDE.items():
        if (ROOT / path).is_file():
            found[place] = relinked((ROOT / path).read_text("utf-8"), path)
    found[OUTSIDE[RECORDS]] = record_index()
    for file in sorted((ROOT / RECORDS).iterdir()):
        text = file.read_text("utf-8")
        if file.suffix == ".md":
            text = NOT_SEARCHED + relinked(text, f"{RECORDS}/{file.name}")
        found[f"{RECORDS}/{file.name}"] = text
    for path in sorted((ROOT / "docs" / "notebooks").glob("*.ipynb")):
        page = notebook_page(json.loads(path.read_text("utf-8")), path.name)
        found[f"notebooks/{path.stem}.md"] = relinked(page, f"docs/notebooks/{path.name}")
    for path in linked_sources():
        found[f"source/{path}.md"] = source_page(path)
    return found


# --- Events of mkdocs ---------------------------------------------------------------------------------------


def on_files(files: Files, config: MkDocsConfig) -> Files:
    from mkdocs.structure.files import File

    for place, content in generated().items():
        files.append(File.generated(config, place, content=content))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    if page.parent is None:  # a tab of its own: the sidebar would list only the page itself
        page.meta.setdefault("hide", ["navigation"])
    if page.file.generated_by is None:
        markdown = relinked(markdown, f"docs/{page.file.src_uri}")
    if COMMANDS in markdown:
        markdown = markdown.replace(COMMANDS, command_reference())
    return without_escaped_pipes(markdown)


def on_page_content(html: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    return link_named_pages(html, page.file.src_uri) if page.file.src_uri.startswith("reference/") else html
