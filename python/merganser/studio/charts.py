"""Charts: the sections of a tokenizer report, with charts drawn by Vega in the page.

Vega is bundled by the installed `vl-convert-python`, once, in about a second. Its expression interpreter
(`ast`) is used, so that the Content-Security-Policy need not allow `eval`. Reports take a few seconds and are
cached.
"""

import json
from copy import deepcopy
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from merganser.analyse.examples import DOMAINS, PARALLEL
from merganser.analyse.sample import Sample
from merganser.charts.drawing import vega
from merganser.charts.spec import Spec, panels
from merganser.corpus import Source
from merganser.errors import SettingsError
from merganser.reporting import page
from merganser.reporting.tokenizers.experiments import sections
from merganser.reporting.tokenizers.study import study
from merganser.reporting.tokenizers.takeaways import tiles
from merganser.studio.messages import Body
from merganser.studio.security import Folders
from merganser.studio.state import state_of
from merganser.studio.train import files_in
from merganser.tokenizer import Tokenizer

#: More lines in one chart are hard to distinguish.
MOST = 4


def interactive(spec: Spec) -> Spec:
    """Make the legend clickable, and let the axes be panned and zoomed if both are quantitative."""
    spec = deepcopy(spec)
    if len(panels(spec)) > 1:
        return spec
    encoding = spec.get("encoding", {})
    params = []
    color = encoding.get("color", {})
    if "field" in color and color.get("legend"):
        params.append(
            {"name": "chosen", "select": {"type": "point", "fields": [color["field"]]}, "bind": "legend"}
        )
        encoding["opacity"] = {"condition": {"param": "chosen", "value": 1}, "value": 0.15}
    if all(encoding.get(axis, {}).get("type") == "quantitative" for axis in "xy"):
        # Only with a modifier key, so that the wheel still scrolls the page.
        zoom = "wheel![event.shiftKey || event.ctrlKey]"
        params.append({"name": "moved", "select": {"type": "interval", "zoom": zoom}, "bind": "scales"})
    if params and "layer" in spec:
        spec["layer"][0]["params"] = params
    elif params:
        spec["params"] = params
    return spec


#: A file with its modification time and size: a cache key that changes with the file.
FileStamp = tuple[Path, int, int]


@lru_cache(maxsize=8)
def report_json(
    tokenizers: tuple[tuple[str, Tokenizer], ...], files: tuple[FileStamp, ...], text: str = ""
) -> bytes:
    """Return all sections as JSON, measured on a text, on files, or on built-in samples."""
    source: Source = [*DOMAINS.values(), *(each for texts in PARALLEL.values() for each in texts)]
    own = None
    if text:
        source, own = [text], "pasted text"
    elif files:
        source = [path for path, _, _ in files]
        own = files[0][0].name if len(files) == 1 else f"{len(files):,} files"
    sample = Sample.of(source, name="the text to measure on")
    measured = study(dict(tokenizers), sample, own_domain=own)
    parts = [
        replace(section, chart=section.chart and interactive(section.chart)) for section in sections(measured)
    ]
    about = (
        f"Measured on {sample.bytes:,} bytes, {sample.characters:,} characters, {sample.words:,} words. All "
        "figures are diagnostics: they describe how text is tokenized, not how well a model trains on it."
    )
    data = [page.section_data(part) | {"files": None} for part in parts]  # nothing is written here
    return json.dumps({"about": about, "tiles": page.tile_data(tiles(measured)), "sections": data}).encode()


def stamps_of(folders: Folders, name: str) -> tuple[FileStamp, ...]:
    files = [(path, path.stat()) for path in files_in(folders, name)] if name else []
    return tuple((path, stat.st_mtime_ns, stat.st_size) for path, stat in files)


async def report(request: Request) -> Response:
    """Return a report.

    Request: {tokenizers: names, and text, or path: a file or folder; neither for built-in samples}.
    """
    body = await Body.of(request)
    state = state_of(request)
    names = body.get("tokenizers", list)
    if not 1 <= len(names) <= MOST or not all(isinstance(name, str) for name in names):
        raise SettingsError(f"choose 1 to {MOST} tokenizers, got {len(names)}")
    tokenizers = tuple((name, state.find(name).tokenizer) for name in dict.fromkeys(names))
    files = await state.slow.run(stamps_of, state.folders, body.text("path", ""))
    contents = await state.slow.run(report_json, tokenizers, files, body.text("text", ""))
    return Response(contents, media_type="application/json")


async def script(request: Request) -> Response:
    """Return Vega. The URL contains the token, so the browser may cache it while the studio runs."""
    code = await state_of(request).slow.run(vega)
    return Response(code, media_type="text/javascript", headers={"Cache-Control": "private, max-age=86400"})


async def shared_script(request: Request) -> Response:
    """Return the parts that this view shares with reports."""
    return Response(page.resource("sections.js"), media_type="text/javascript")


async def shared_style(request: Request) -> Response:
    return Response(page.resource("sections.css"), media_type="text/css")


routes = [
    Route("/report", report, methods=["POST"]),
    Route("/vega.js", script),
    Route("/sections.js", shared_script),
    Route("/sections.css", shared_style),
]
