"""Charts: the sections of a report about the tokenizers here, their charts drawn by Vega in the page.

Vega comes out of `vl-convert-python` as it is installed, and is made once, in a second. Its expressions go
through its interpreter (`ast`), so that the page need not allow code made of strings. A report takes some
seconds, and is kept until others push it out.
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
from merganser.charts.spec import Spec
from merganser.corpus import Source
from merganser.errors import SettingsError
from merganser.reporting import page
from merganser.reporting.tokenizers.experiments import sections
from merganser.reporting.tokenizers.study import study
from merganser.studio.desk import desk
from merganser.studio.messages import Body
from merganser.studio.security import Folders
from merganser.studio.train import inside
from merganser.tokenizer import Tokenizer

#: More cannot be told apart.
MOST = 4


def interactive(spec: Spec) -> Spec:
    """The chart, with a legend to click on and axes to move, where it has them."""
    spec = deepcopy(spec)
    encoding = spec.get("encoding", {})
    params = []
    colour = encoding.get("color", {})
    if "field" in colour and colour.get("legend"):
        params.append(
            {"name": "chosen", "select": {"type": "point", "fields": [colour["field"]]}, "bind": "legend"}
        )
        encoding["opacity"] = {"condition": {"param": "chosen", "value": 1}, "value": 0.15}
    if all(encoding.get(axis, {}).get("type") == "quantitative" for axis in "xy"):
        # With a key, so that a page can be scrolled over it.
        zoom = "wheel![event.shiftKey || event.ctrlKey]"
        params.append({"name": "moved", "select": {"type": "interval", "zoom": zoom}, "bind": "scales"})
    if params and "layer" in spec:
        spec["layer"][0]["params"] = params
    elif params:
        spec["params"] = params
    return spec


#: A file, and what changes when it does.
Stamp = tuple[Path, int, int]


@lru_cache(maxsize=8)
def drawn(tokenizers: tuple[tuple[str, Tokenizer], ...], files: tuple[Stamp, ...]) -> bytes:
    """All sections as JSON, measured on these files; on a few paragraphs if there are none."""
    source: Source = [path for path, _, _ in files] or [
        *DOMAINS.values(),
        *(text for texts in PARALLEL.values() for text in texts),
    ]
    sample = Sample.of(source, name="the text to measure on")
    found = study(dict(tokenizers), sample)
    parts = [
        replace(section, chart=section.chart and interactive(section.chart)) for section in sections(found)
    ]
    about = (
        f"Measured on {sample.bytes:,} bytes, {sample.characters:,} characters, {sample.words:,} words. All "
        "figures are diagnostics: they say how text is cut, not how well a model will learn from it."
    )
    return json.dumps({"about": about, "sections": [page.section_data(part) for part in parts]}).encode()


def stamped(folders: Folders, name: str) -> tuple[Stamp, ...]:
    files = [(path, path.stat()) for path in inside(folders, name)] if name else []
    return tuple((path, known.st_mtime_ns, known.st_size) for path, known in files)


async def report(request: Request) -> Response:
    """{tokenizers: names, path: what to measure on, or nothing for a few paragraphs}."""
    body = await Body.of(request)
    shared = desk(request)
    names = body.get("tokenizers", list)
    if not 1 <= len(names) <= MOST or not all(isinstance(name, str) for name in names):
        raise SettingsError(f"choose one to {MOST} tokenizers")
    tokenizers = tuple((name, shared.find(name).tokenizer) for name in dict.fromkeys(names))
    files = await shared.work.run(stamped, shared.folders, body.text("path", ""))
    return Response(await shared.work.run(drawn, tokenizers, files), media_type="application/json")


async def script(request: Request) -> Response:
    """Vega. The address has the token in it, so the browser may keep it as long as the studio runs."""
    code = await desk(request).work.run(vega)
    return Response(code, media_type="text/javascript", headers={"Cache-Control": "private, max-age=86400"})


routes = [Route("/report", report, methods=["POST"]), Route("/vega.js", script)]
