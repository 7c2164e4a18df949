"""The type of Vega-Lite specifications, and their width."""

from typing import Any

Spec = dict[str, Any]

#: The width of charts in files, in pixels.
WIDTH = 640


def sized(spec: Spec, width: int | str) -> Spec:
    """Set the width of a chart in pixels, or "container" for the width of its element on the page."""
    return {**spec, "width": width, "autosize": {"type": "fit-x", "contains": "padding"}}
