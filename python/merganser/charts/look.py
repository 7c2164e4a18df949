"""The look of all charts: quiet axes, no frame, colours that the colour-blind can tell apart."""

from typing import Any

#: Blue, orange, green, red and grey, after Okabe and Ito, dark enough for text.
BLUE, ORANGE, GREEN, RED, GREY = "#0072b2", "#c25700", "#00795a", "#b3304f", "#5f6368"

#: Arial where there is one, or what the system has in its place.
FONT = "Arial, Helvetica, sans-serif"

_INK = "#202124"

#: The same five colours and the ink, light enough for a dark page.
_LIT = ("#56b4e9", "#f0a04b", "#3ccf9f", "#f28cab", "#a8adb4")
_LIT_INK = "#e8eaed"

_TO_LIT = dict(zip((BLUE, ORANGE, GREEN, RED, GREY), _LIT, strict=True))

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
    "legend": {"labelColor": _INK, "labelFontSize": 11, "titleColor": _INK, "titleFontWeight": "normal"},
    "mark": {"color": BLUE},
    "line": {"strokeWidth": 2},
    "point": {"size": 45},
    "text": {"font": FONT, "fontSize": 12, "color": _INK},
}

#: What changes in the dark, over CONFIG; the page shows through.
DARK: dict[str, Any] = {
    "background": "transparent",
    "range": {"category": list(_LIT)},
    "title": {"color": _LIT_INK, "subtitleColor": _LIT[4]},
    "axis": {
        "domainColor": "#80868b",
        "gridColor": "#3c4043",
        "labelColor": _LIT_INK,
        "tickColor": "#80868b",
        "titleColor": _LIT_INK,
    },
    "legend": {"labelColor": _LIT_INK, "titleColor": _LIT_INK},
    "mark": {"color": _LIT[0]},
    "text": {"color": _LIT_INK},
}


def schemes() -> dict[str, dict[str, Any]]:
    """The whole configuration for a light and for a dark page, both without a background of their own."""
    light = CONFIG | {"background": "transparent"}
    dark = {
        name: {**value, **DARK.get(name, {})} if isinstance(value, dict) else DARK.get(name, value)
        for name, value in CONFIG.items()
    }
    return {"light": light, "dark": dark}


def lit(part: Any) -> Any:
    """A specification, or a part of one, in colours that are light enough for a dark page; data stay.

    >>> lit({"mark": {"type": "line", "color": BLUE}, "data": {"values": [{"text": BLUE}]}})
    {'mark': {'type': 'line', 'color': '#56b4e9'}, 'data': {'values': [{'text': '#0072b2'}]}}
    """
    if isinstance(part, dict):
        return {key: value if key in ("data", "datasets") else lit(value) for key, value in part.items()}
    if isinstance(part, list | tuple):
        return [lit(value) for value in part]
    return _TO_LIT.get(part, part) if isinstance(part, str) else part
