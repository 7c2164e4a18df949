"""Rendering of Vega-Lite with `vl-convert-python`, which needs neither a browser nor a network.

A specification must contain its data. One that refers to a URL is rejected, so that a chart never depends on
remote data and never reveals that somebody opens it.
"""

import base64
import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

from merganser.charts.theme import CONFIG
from merganser.corpus.named_datasets import cache_folder
from merganser.errors import SettingsError, WriteError
from merganser.extras import imported
from merganser.files import make_folder, written_whole

Specification = Mapping[str, Any]

#: The version of Vega-Lite, fixed so that every release of the converter draws the same chart.
VERSION = "5.20"

#: For high-density screens.
SCALE = 2.0

#: How pages embed a chart. Vega's interpreter (`ast`) evaluates expressions, so that no page needs `eval`.
EMBED_OPTIONS: Mapping[str, Any] = {"mode": "vega", "ast": True, "actions": False, "renderer": "svg"}

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
<script>{script}</script>
</body>
</html>
"""


def svg(spec: Specification) -> str:
    """Render a chart as SVG, with text as text.

    Parameters
    ----------
    spec
        A Vega-Lite specification that contains its data.

    Returns
    -------
    str
        The SVG.

    Raises
    ------
    SettingsError
        If `spec` is not valid Vega-Lite, or refers to data at a URL.
    ImportError
        If the extra `[plot]` is not installed.

    Examples
    --------
    >>> bars = {"data": {"values": [{"n": 1}]}, "mark": "bar", "encoding": {"x": {"field": "n"}}}
    >>> svg(bars)[:4]
    '<svg'
    """
    return str(_convert("svg", spec, allowed_base_urls=[]))


def png(spec: Specification, scale: float = SCALE) -> bytes:
    """Render a chart as PNG.

    Parameters
    ----------
    spec
        A Vega-Lite specification that contains its data.
    scale
        Dots per unit of the specification, greater than 0 and at most 10.

    Returns
    -------
    bytes
        The PNG.

    Raises
    ------
    SettingsError
        If `spec` is not valid Vega-Lite or refers to data at a URL, or if `scale` is out of range.
    ImportError
        If the extra `[plot]` is not installed.

    Examples
    --------
    >>> png({"data": {"values": [{"n": 1}]}, "mark": "bar"})[1:4]
    b'PNG'
    """
    if not 0 < scale <= 10:
        raise SettingsError(f"scale must be greater than 0 and at most 10, got {scale}")
    return bytes(_convert("png", spec, scale=scale, allowed_base_urls=[]))


def html(spec: Specification) -> str:
    """Render a chart as a self-contained HTML page with tooltips.

    Parameters
    ----------
    spec
        A Vega-Lite specification that contains its data.

    Returns
    -------
    str
        The page, 0.9 MB with Vega included.

    Raises
    ------
    SettingsError
        If `spec` is not valid Vega-Lite, or refers to data at a URL.
    ImportError
        If the extra `[plot]` is not installed.

    Examples
    --------
    >>> html({"data": {"values": [{"n": 1}]}, "mark": "bar"})[:15]
    '<!DOCTYPE html>'
    """
    # Not the converter's own page: that ends wherever the data contain `</script>`.
    script = f'vegaEmbed("#chart", {literal(compiled(spec))}, {literal(EMBED_OPTIONS)})'
    return _PAGE.format(policy=policy(vega(), script), vega=vega(), script=script)


def save(spec: Specification, *paths: str | os.PathLike[str], scale: float = SCALE) -> None:
    """Save a chart to files.

    All files are rendered before the first is written, and each is written completely or not at all.

    Parameters
    ----------
    spec
        A Vega-Lite specification that contains its data.
    *paths
        Files to write. The extension selects the format: `.png`, `.svg` or `.html`.
    scale
        Dots per unit of the specification in PNG files.

    Raises
    ------
    SettingsError
        If `spec` cannot be drawn, or a path has another extension.
    WriteError
        If a file cannot be written.
    ImportError
        If the extra `[plot]` is not installed.

    Examples
    --------
    >>> save({"mark": "bar"}, "chart.pdf")
    Traceback (most recent call last):
    merganser.errors.SettingsError: cannot save a chart as chart.pdf; use .html, .png or .svg
    """
    contents: dict[Path, bytes] = {}
    for path in map(Path, paths):
        kind = path.suffix.lower()
        if kind == ".png":
            contents[path] = png(spec, scale)
        elif kind == ".svg":
            contents[path] = svg(spec).encode()
        elif kind == ".html":
            contents[path] = html(spec).encode()
        else:
            raise SettingsError(f"cannot save a chart as {path}; use .html, .png or .svg")
    for path, data in contents.items():
        with written_whole(path) as file:
            file.write(data)


def save_all(spec: Specification, folder: str | os.PathLike[str], name: str) -> list[Path]:
    """Save a chart as `name.png`, `name.svg` and `name.html`.

    Parameters
    ----------
    spec
        A Vega-Lite specification that contains its data.
    folder
        The folder to write to.
    name
        The file name without extension.

    Returns
    -------
    list of Path
        The three files.

    Raises
    ------
    SettingsError
        If `spec` cannot be drawn.
    WriteError
        If a file cannot be written.
    ImportError
        If the extra `[plot]` is not installed.

    Examples
    --------
    >>> import tempfile
    >>> bars = {"data": {"values": [{"n": 1}]}, "mark": "bar"}
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     [path.name for path in save_all(bars, folder, "chart")]
    ['chart.png', 'chart.svg', 'chart.html']
    """
    paths = [Path(folder) / f"{name}{kind}" for kind in (".png", ".svg", ".html")]
    save(spec, *paths)
    return paths


def compiled(spec: Specification, config: Mapping[str, Any] = CONFIG) -> dict[str, Any]:
    """Compile a chart to Vega, for a page that contains Vega."""
    compiled_spec: dict[str, Any] = _convert("vega", spec, config)
    # The schema names an older version than the one in the page, which would warn about it.
    return {name: part for name, part in compiled_spec.items() if name != "$schema"}


def _convert(kind: str, spec: Specification, config: Mapping[str, Any] = CONFIG, **options: Any) -> Any:
    for url in _urls(spec):
        raise SettingsError(f"a chart must contain its data, but this one refers to {url!r}; use 'values'")
    converter = imported("vl_convert", "plot", "drawing charts")
    try:
        convert = getattr(converter, f"vegalite_to_{kind}")
        return convert(dict(spec), vl_version=VERSION, config=dict(config), **options)
    except (TypeError, ValueError) as error:
        reason = str(error).strip().partition("\n")[0]
        raise SettingsError(f"cannot draw the Vega-Lite specification: {reason}") from error


@cache
def vega() -> str:
    """Return Vega, Vega-Lite and the code that embeds them in a page: 0.9 MB of JavaScript.

    Bundling takes two seconds, so the bundle is cached on disk for each version of the converter. An
    unreadable or unwritable cache is ignored.
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


def policy(*scripts: str) -> str:
    """Return the Content-Security-Policy of a page: no network, and no code except these inline scripts.

    >>> policy("draw()")
    "default-src 'none'; script-src 'sha256-jm3FkV4tNIdBUr8jRVVl5n9PUixlaxTWD0pdpFiSH5A='; \
style-src 'unsafe-inline'; img-src data:"
    """
    hashes = (base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() for script in scripts)
    allowed = " ".join(f"'sha256-{hash}'" for hash in hashes)
    return f"default-src 'none'; script-src {allowed}; style-src 'unsafe-inline'; img-src data:"


def literal(value: Any) -> str:
    """Return JSON that is safe inside a script element, whatever its strings contain."""
    text = json.dumps(value, ensure_ascii=False, default=dict)
    return text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


def _urls(part: Any) -> Iterator[str]:
    """Yield every `url` outside of inline data."""
    if isinstance(part, Mapping):
        for key, value in part.items():
            if key == "url" and isinstance(value, str):
                yield value
            elif key not in ("values", "datasets"):
                yield from _urls(value)
    elif isinstance(part, list | tuple):
        for value in part:
            yield from _urls(value)
