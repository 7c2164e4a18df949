"""The files of a report: a self-contained page, every chart as PNG and SVG, every table as JSON and Markdown.

The first chart takes about a second, later ones tens of milliseconds; Vega adds 0.9 MB to the page.
"""

import re
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

from merganser import charts
from merganser.charts.drawing import compiled, literal, policy, vega
from merganser.charts.spec import WIDTH, Spec, panels, sized, titled
from merganser.charts.theme import for_dark_page, schemes
from merganser.engines.local import ProgressCallback
from merganser.files import make_folder, written_whole
from merganser.reporting.section import Section, Tile, TokenizedText
from merganser.tokenizer.glyphs import inert

PAGE = "index.html"


def write(
    folder: Path,
    title: str,
    about: Sequence[str],
    sections: Sequence[Section],
    progress: ProgressCallback | None = None,
    tiles: Sequence[Tile] = (),
) -> Path:
    """Write all files, the page last, and return its path. All are rendered before the first is written."""
    contents: dict[Path, bytes] = {}
    for nth, section in enumerate(sections):
        if progress:
            progress("draw", nth, len(sections))
        base = folder / "tables" / section.name
        contents[base.with_suffix(".json")] = section.table.json().encode()
        contents[base.with_suffix(".md")] = (
            f"# {inert(section.title)}\n\n{section.text}\n\n{section.table.markdown()}".encode()
        )
        if section.chart is not None:
            spec = _picture(section.chart, section)
            base = folder / "charts" / section.name
            contents[base.with_suffix(".svg")] = charts.svg(spec).encode()
            contents[base.with_suffix(".png")] = charts.png(spec)
    contents[folder / PAGE] = page(title, about, sections, tiles).encode()
    for path, data in contents.items():
        make_folder(path.parent, "choose another out=")
        with written_whole(path) as file:
            file.write(data)
    return folder / PAGE


def page(title: str, about: Sequence[str], sections: Sequence[Section], tiles: Sequence[Tile] = ()) -> str:
    """Return the page. Its content is embedded as JSON, and becomes text, never markup."""
    data = {
        "title": title,
        "about": list(map(inert, about)),
        "tiles": tile_data(tiles),
        "sections": [section_data(section) for section in sections],
    }
    # One inline module: a page that is opened from disk cannot import a file.
    parts_of_sections = resource("sections.js").replace("\nexport ", "\n")
    script = parts_of_sections + re.sub(r"^import .*\n", "", resource("page.js"), flags=re.MULTILINE)
    parts = {
        "policy": policy(vega(), script),
        "title": "merganser report",
        "style": resource("page.css") + resource("sections.css"),
        "data": literal(data),
        "vega": vega(),
        "script": script,
    }
    # One pass, so that inserted text is never mistaken for a placeholder.
    return re.sub(r"{{(\w+)}}", lambda match: parts[match[1]], resource("page.html"))


def tile_data(tiles: Sequence[Tile]) -> list[dict[str, Any]]:
    """Return tiles as JSON-compatible data."""
    return [
        {"title": tile.title, "values": [[inert(name), value] for name, value in tile.values.items()]}
        for tile in tiles
    ]


def section_data(section: Section) -> dict[str, Any]:
    """Return a section as JSON-compatible data, with its charts for light and dark pages."""
    names = [f"tables/{section.name}.{kind}" for kind in ("json", "md")]
    if section.chart is not None:
        names = [f"charts/{section.name}.{kind}" for kind in ("png", "svg")] + names
    return {
        "name": section.name,
        "title": inert(section.title),
        "text": section.text,
        "subtitle": inert(section.subtitle),
        "takeaway": inert(section.takeaway),
        "charts": [] if section.chart is None else [_chart(panel) for panel in panels(section.chart)],
        "picture": None if section.chart is None else compiled(_picture(section.chart, section)),
        "csv": section.table.csv(),
        "table": {
            "columns": list(map(inert, section.table.columns)),
            "numeric": section.table.numeric,
            "rows": section.table.formatted,
        },
        "cuts": [{"title": inert(text.title), "by": _tokenized(text)} for text in section.texts],
        "open": section.figures_first,
        "files": names,
    }


def _picture(chart: Spec, section: Section) -> Spec:
    """Return a chart as it is saved: of a fixed width, with its title and subtitle."""
    return titled(sized(chart, WIDTH), section.title, section.subtitle)


def _chart(spec: Spec) -> dict[str, Any]:
    """Compile a chart for light and dark pages, as wide as its element."""
    wide = sized(spec, "container")
    light, dark = schemes().values()
    return {"light": compiled(wide, light), "dark": compiled(for_dark_page(wide), dark)}


def _tokenized(text: TokenizedText) -> list[dict[str, Any]]:
    return [
        {
            "name": inert(name),
            "direction": shown.direction,
            "runs": [
                (
                    direction,
                    [
                        {
                            "text": segment.visible,
                            "ids": segment.numbers,
                            "cut": segment.split,
                            "ends": segment.text.endswith("\n"),
                        }
                        for segment in segments
                    ],
                )
                for direction, segments in shown.runs()
            ],
            "summary": shown.summary,
        }
        for name, shown in text.by_tokenizer.items()
    ]


def resource(name: str) -> str:
    """Return a file of the page. `sections.js` and `sections.css` are shared with the studio."""
    return files("merganser.reporting").joinpath(name).read_text("utf-8")
