"""Charts: a Vega-Lite specification becomes a picture, or a page that works without a network.

With the extra `[plot]`. The first picture takes 0.7 s, for it starts a JavaScript engine, the first page 1.5
s more; those after it take some milliseconds. A page has 0.9 MB, because it carries Vega with it.
"""

from merganser.charts.drawing import html, png, save, save_all, svg
from merganser.charts.lettering import drawable

__all__ = ["drawable", "html", "png", "save", "save_all", "svg"]
