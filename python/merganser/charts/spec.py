"""The type of Vega-Lite specifications, and their width."""

from typing import Any

Spec = dict[str, Any]

#: The width of charts in files, in pixels.
WIDTH = 640


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
