"""Page: a report as files. One page that holds everything and fetches nothing; beside it every chart as PNG
and SVG, and every table as JSON and Markdown.

Drawing takes about a second to begin with and some tens of milliseconds a chart; Vega in the page has 0.9 MB.
"""

from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

from merganser import charts
from merganser.charts.drawing import POLICY, compiled, literal, vega
from merganser.charts.look import lit, schemes
from merganser.charts.spec import WIDTH, Spec, sized
from merganser.engines.local import ProgressCallback
from merganser.files import make_folder, written_whole
from merganser.reporting.section import Cuts, Section
from merganser.tokenizer.glyphs import inert

PAGE = "index.html"


def write(
    folder: Path,
    title: str,
    about: Sequence[str],
    sections: Sequence[Section],
    progress: ProgressCallback | None = None,
) -> Path:
    """Writes all files, the page last, and gives its path. All is drawn before the first is written."""
    made: dict[Path, bytes] = {}
    for nth, section in enumerate(sections):
        if progress:
            progress("draw", nth, len(sections))
        base = folder / "tables" / section.name
        made[base.with_suffix(".json")] = section.table.json().encode()
        made[base.with_suffix(".md")] = (
            f"# {inert(section.title)}\n\n{section.text}\n\n{section.table.markdown()}".encode()
        )
        if section.chart is not None:
            spec = sized(section.chart, WIDTH) | {"title": charts.drawable(section.title)}
            base = folder / "charts" / section.name
            made[base.with_suffix(".svg")] = charts.svg(spec).encode()
            made[base.with_suffix(".png")] = charts.png(spec)
    made[folder / PAGE] = page(title, about, sections).encode()
    for path, data in made.items():
        make_folder(path.parent, "choose another place")
        with written_whole(path) as file:
            file.write(data)
    return folder / PAGE


def page(title: str, about: Sequence[str], sections: Sequence[Section]) -> str:
    """The page alone. What it shows stands in it as JSON, and becomes text, never markup."""
    data = {
        "title": title,
        "about": list(map(inert, about)),
        "sections": [section_data(section) for section in sections],
    }
    parts = {
        "policy": POLICY,
        "title": "merganser report",
        "style": _resource("page.css"),
        "data": literal(data),
        "vega": vega(),
        "script": _resource("page.js"),
    }
    text = _resource("page.html")
    pretokens = text.split("{{")
    filled = [pretokens[0]]
    for pretoken in pretokens[1:]:  # in one go, so that nothing that is filled in is taken for a place
        name, _, rest = pretoken.partition("}}")
        filled += [parts[name], rest]
    return "".join(filled)


def section_data(section: Section) -> dict[str, Any]:
    """What a page needs to show of a section, as JSON can hold it; charts for light and for dark."""
    names = [f"tables/{section.name}.{kind}" for kind in ("json", "md")]
    if section.chart is not None:
        names = [f"charts/{section.name}.{kind}" for kind in ("png", "svg")] + names
    return {
        "name": section.name,
        "title": inert(section.title),
        "text": section.text,
        "chart": section.chart and _chart(section.chart),
        "table": {
            "columns": list(map(inert, section.table.columns)),
            "numeric": section.table.numeric,
            "rows": section.table.shown,
        },
        "cuts": [{"title": inert(cuts.title), "by": _cuts(cuts)} for cuts in section.cuts],
        "open": section.figures_first,
        "files": names,
    }


def _chart(spec: Spec) -> dict[str, Any]:
    """The chart for light and for dark pages, as wide as there is room."""
    wide = sized(spec, "container")
    light, dark = schemes().values()
    return {"light": compiled(wide, light), "dark": compiled(lit(wide), dark)}


def _cuts(cuts: Cuts) -> list[dict[str, Any]]:
    return [
        {
            "name": inert(name),
            "direction": cut.direction,
            "runs": [
                (
                    way,
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
                for way, segments in cut.runs()
            ],
            "summary": cut.summary,
        }
        for name, cut in cuts.by.items()
    ]


def _resource(name: str) -> str:
    return files("merganser.analyse").joinpath(name).read_text("utf-8")
