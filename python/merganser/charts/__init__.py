"""Charts: Vega-Lite specifications to SVG, PNG and HTML pages that work offline.

Needs the extra `[plot]`. The first image takes 0.7 s, because it starts a JavaScript engine, and the first
page 1.5 s more; later ones take milliseconds. A page is 0.9 MB, because it contains Vega.
"""

from merganser.charts.drawing import html, png, save, save_all, svg
from merganser.charts.fonts import drawable

__all__ = ["drawable", "html", "png", "save", "save_all", "svg"]
