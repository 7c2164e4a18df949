"""A Vega-Lite specification, and its width."""

from typing import Any

Spec = dict[str, Any]

#: The width of charts in files, in pixels.
WIDTH = 640


def sized(spec: Spec, width: int | str) -> Spec:
    """The chart, so wide; "container" is as wide as its place on the page."""
    return {**spec, "width": width, "autosize": {"type": "fit-x", "contains": "padding"}}
