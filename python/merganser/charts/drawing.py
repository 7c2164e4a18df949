"""Drawing: Vega-Lite by `vl-convert-python`, which needs neither a browser nor a network.

The data stand in the specification. One that names an address for them is refused, so that a chart never
depends on what is elsewhere, and never tells anybody that it is being looked at.
"""

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

from merganser.charts.look import CONFIG
from merganser.corpus.named_datasets import cache_folder
from merganser.errors import SettingsError, WriteError
from merganser.extras import imported
from merganser.files import make_folder, written_whole

Specification = Mapping[str, Any]

#: The version of Vega-Lite: the same chart from every release of the converter that has it.
VERSION = "5.20"

#: For screens with two dots for every pixel.
SCALE = 2.0

#: A browser refuses what the policy does not name: all of the network. Vega makes functions of expressions.
POLICY = (
    "default-src 'none'; script-src 'unsafe-inline' 'unsafe-eval'; style-src 'unsafe-inline'; img-src data:"
)

_PAGE = """<!DOCTYPE html>
<html>
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<title>chart</title>
<script>{vega}</script>
</head>
<body>
<div id="chart"></div>
<script>vegaEmbed("#chart", {spec}, {options})</script>
</body>
</html>
"""


def svg(spec: Specification) -> str:
    """The chart as SVG, its text as text.

    >>> bars = {"data": {"values": [{"n": 1}]}, "mark": "bar", "encoding": {"x": {"field": "n"}}}
    >>> svg(bars)[:4]
    '<svg'
    """
    return str(_drawn("svg", spec, allowed_base_urls=[]))


def png(spec: Specification, scale: float = SCALE) -> bytes:
    """The chart as PNG, every unit of the specification `scale` dots wide."""
    if not 0 < scale <= 10:
        raise SettingsError(f"scale is a number above 0 and up to 10, not {scale}")
    return bytes(_drawn("png", spec, scale=scale, allowed_base_urls=[]))


def html(spec: Specification) -> str:
    """The chart as one page with everything in it, which shows tooltips and can be opened from a disk.

    Written here and not by the converter, because its page ends wherever the data say `</script>`.
    """
    options = {"mode": "vega", "actions": False, "renderer": "svg"}
    return _PAGE.format(policy=POLICY, vega=vega(), spec=literal(compiled(spec)), options=literal(options))


def save(spec: Specification, *paths: str | os.PathLike[str], scale: float = SCALE) -> None:
    """Draws the chart into each of `paths`, as `.png`, `.svg` or `.html` by its name.

    All are drawn before the first is written, and each is there whole or not at all.

    >>> save({"mark": "bar"}, "chart.pdf")
    Traceback (most recent call last):
    merganser.errors.SettingsError: chart.pdf: a chart is saved as .html, .png or .svg
    """
    made: dict[Path, bytes] = {}
    for path in map(Path, paths):
        kind = path.suffix.lower()
        if kind == ".png":
            made[path] = png(spec, scale)
        elif kind == ".svg":
            made[path] = svg(spec).encode()
        elif kind == ".html":
            made[path] = html(spec).encode()
        else:
            raise SettingsError(f"{path}: a chart is saved as .html, .png or .svg")
    for path, data in made.items():
        with written_whole(path) as file:
            file.write(data)


def save_all(spec: Specification, folder: str | os.PathLike[str], name: str) -> list[Path]:
    """Draws the chart as picture, drawing and page: `name.png`, `name.svg` and `name.html` in the folder."""
    paths = [Path(folder) / f"{name}{kind}" for kind in (".png", ".svg", ".html")]
    save(spec, *paths)
    return paths


def compiled(spec: Specification, config: Mapping[str, Any] = CONFIG) -> dict[str, Any]:
    """The chart as Vega, for a page that has Vega in it; `config` is its look."""
    made: dict[str, Any] = _drawn("vega", spec, config)
    # It names a version of Vega, and that on the page is newer and complains.
    return {name: part for name, part in made.items() if name != "$schema"}


def _drawn(kind: str, spec: Specification, config: Mapping[str, Any] = CONFIG, **how: Any) -> Any:
    for address in _addresses(spec):
        raise SettingsError(
            f"a chart holds its data, but this one would fetch {address!r}; put them in 'values'"
        )
    converter = imported("vl_convert", "plot", "drawing charts")
    try:
        draw = getattr(converter, f"vegalite_to_{kind}")
        return draw(dict(spec), vl_version=VERSION, config=dict(config), **how)
    except (TypeError, ValueError) as error:
        reason = str(error).strip().partition("\n")[0]
        raise SettingsError(f"not a Vega-Lite specification that can be drawn: {reason}") from error


@cache
def vega() -> str:
    """Vega, Vega-Lite and the code that embeds them in a page: 0.9 MB of JavaScript.

    Bundling them takes two seconds, so the bundle is kept in the cache folder, one for each version of the
    converter. A cache that cannot be read or written only costs these seconds.
    """
    from importlib.metadata import version

    converter = imported("vl_convert", "plot", "drawing charts")
    file = cache_folder() / f"vega-lite-{VERSION}-vl-convert-{version('vl-convert-python')}.js"
    with suppress(OSError, UnicodeDecodeError):
        return file.read_bytes().decode()
    bundle = str(converter.javascript_bundle(vl_version=VERSION))
    with suppress(WriteError):
        make_folder(file.parent)
        with written_whole(file) as out:
            out.write(bundle.encode())
    return bundle


def literal(value: Any) -> str:
    """JSON that stays JSON inside of a page, whatever is in its strings."""
    text = json.dumps(value, ensure_ascii=False, default=dict)
    return text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


def _addresses(part: Any) -> Iterator[str]:
    """What would be fetched: every `url` that does not stand in the data themselves."""
    if isinstance(part, Mapping):
        for key, value in part.items():
            if key == "url" and isinstance(value, str):
                yield value
            elif key not in ("values", "datasets"):
                yield from _addresses(value)
    elif isinstance(part, list | tuple):
        for value in part:
            yield from _addresses(value)
