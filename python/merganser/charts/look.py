"""The look of all charts: quiet axes, no frame, colours that the colour-blind can tell apart."""

from typing import Any

#: Blue, orange, green, red and grey, after Okabe and Ito, dark enough for text.
BLUE, ORANGE, GREEN, RED, GREY = "#0072b2", "#c25700", "#00795a", "#b3304f", "#5f6368"

#: Arial where there is one, or what the system has in its place.
FONT = "Arial, Helvetica, sans-serif"

_INK = "#202124"

#: The lowest layer of the configuration; what a specification says itself goes before it.
CONFIG: dict[str, Any] = {
    "background": "white",
    "font": FONT,
    "padding": 12,
    "view": {"stroke": None},
    "range": {"category": [BLUE, ORANGE, GREEN, RED, GREY]},
    "title": {
        "anchor": "start",
        "color": _INK,
        "fontSize": 14,
        "subtitleColor": GREY,
        "subtitleFontSize": 12,
    },
    "axis": {
        "domainColor": "#9aa0a6",
        "gridColor": "#e8eaed",
        "labelColor": _INK,
        "labelFontSize": 11,
        "tickColor": "#9aa0a6",
        "titleColor": _INK,
        "titleFontSize": 12,
        "titleFontWeight": "normal",
    },
    "line": {"strokeWidth": 2},
    "point": {"size": 45},
    "text": {"font": FONT, "fontSize": 12},
}
