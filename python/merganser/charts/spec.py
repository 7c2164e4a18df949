"""Parts of Vega-Lite specifications: width, panels, titles, and text that stays legible."""

from textwrap import wrap
from typing import Any

from merganser.charts.fonts import drawable
from merganser.charts.theme import PAPER

Spec = dict[str, Any]

#: The width of charts in files, in pixels.
WIDTH = 640

#: The number of characters of a subtitle that fit into that width.
_LINE = 96

#: The width of the axes of a panel in a file: Vega-Lite cannot fit panels into a total width.
_AXES = 110


def stacked(*panels: Spec) -> Spec:
    """Return a chart of several panels, one above the other. Each contains its data and has a title."""
    independent = {"scale": {"color": "independent"}, "legend": {"color": "independent"}}
    return {"vconcat": list(panels), "spacing": 28, "resolve": independent}


def panels(spec: Spec) -> list[Spec]:
    """Return the panels of a chart, each of which can be drawn alone.

    >>> panels(stacked({"mark": "bar"}, {"mark": "line"})), panels({"mark": "bar"})
    ([{'mark': 'bar'}, {'mark': 'line'}], [{'mark': 'bar'}])
    """
    return list(spec.get("vconcat", [spec]))


def sized(spec: Spec, width: int | str) -> Spec:
    """Set the width of a chart in pixels, or "container" for the width of its element on the page."""
    if "vconcat" in spec and isinstance(width, int):
        return {**spec, "vconcat": [{**panel, "width": width - _AXES} for panel in panels(spec)]}
    return {**spec, "width": width, "autosize": {"type": "fit-x", "contains": "padding"}}


def titled(spec: Spec, title: str, subtitle: str = "") -> Spec:
    """Add a title and a subtitle, which says what was measured on which text.

    >>> titled({"mark": "bar"}, "Lengths", "mine on novel.txt")["title"]
    {'text': 'Lengths', 'subtitle': ['mine on novel.txt']}
    """
    lines = wrap(drawable(subtitle), _LINE)
    return {**spec, "title": {"text": drawable(title)} | ({"subtitle": lines} if lines else {})}


def halo(text: Spec) -> list[Spec]:
    """Return a layer of text with a layer below it that clears what the text would be drawn on.

    >>> [layer["mark"].get("stroke") for layer in halo({"mark": {"type": "text"}})]
    ['#ffffff', None]
    """
    mark = {**text["mark"], "stroke": PAPER, "strokeWidth": 4, "strokeJoin": "round", "tooltip": None}
    encoding = {name: part for name, part in text.get("encoding", {}).items() if name != "color"}
    return [{**text, "mark": mark, "encoding": encoding}, text]
