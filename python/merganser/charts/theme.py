"""The theme of all charts: light axes, no frame, and colors that are safe for color-blind readers."""

from typing import Any

#: After Okabe and Ito, dark enough for text.
BLUE, ORANGE, GREEN, RED, GRAY = "#0072b2", "#c25700", "#00795a", "#b3304f", "#5f6368"
PURPLE, OCHRE = "#7a4fb5", "#8a6d00"

#: The background of pictures and of light pages, and what stays in the background.
PAPER, PALE = "#ffffff", "#b9bec5"

#: From the lowest to the highest value.
RAMP = ("#f7fbff", "#9ecae1", "#3182bd", "#08306b")

#: Arial, or the system's substitute. The style sheets of the pages name the same fonts.
FONT = "Arial, Helvetica, sans-serif"

_INK = "#202124"

#: The same colors for a dark page.
_COLORS = (BLUE, ORANGE, GREEN, RED, PURPLE, OCHRE, GRAY)
_DARK_PAGE_COLORS = ("#56b4e9", "#f0a04b", "#3ccf9f", "#f28cab", "#b79bf0", "#d4b63f", "#a8adb4")
_DARK_PAGE_INK = "#e8eaed"
_DARK_PAGE_RAMP = ("#1d2a36", "#1f5f8f", "#56a3d9", "#e3f2ff")

_TO_DARK_PAGE = dict(zip((*_COLORS, *RAMP), (*_DARK_PAGE_COLORS, *_DARK_PAGE_RAMP), strict=True)) | {
    PAPER: "#17191c",
    PALE: "#5f6368",
}

#: The default configuration; a specification overrides it.
CONFIG: dict[str, Any] = {
    "background": "white",
    "font": FONT,
    "padding": 12,
    "tooltipFormat": {"numberFormat": ",.4~f"},
    "view": {"stroke": None},
    "range": {"category": list(_COLORS)},
    "title": {
        "anchor": "start",
        "color": _INK,
        "fontSize": 14,
        "subtitleColor": GRAY,
        "subtitleFontSize": 12,
        "subtitlePadding": 4,
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

#: The changes to CONFIG for a dark page, with a transparent background.
DARK: dict[str, Any] = {
    "background": "transparent",
    "range": {"category": list(_DARK_PAGE_COLORS)},
    "title": {"color": _DARK_PAGE_INK, "subtitleColor": _DARK_PAGE_COLORS[-1]},
    "axis": {
        "domainColor": "#80868b",
        "gridColor": "#3c4043",
        "labelColor": _DARK_PAGE_INK,
        "tickColor": "#80868b",
        "titleColor": _DARK_PAGE_INK,
    },
    "legend": {"labelColor": _DARK_PAGE_INK, "titleColor": _DARK_PAGE_INK},
    "mark": {"color": _DARK_PAGE_COLORS[0]},
    "text": {"color": _DARK_PAGE_INK},
}


def schemes() -> dict[str, dict[str, Any]]:
    """Return the configurations for a light and a dark page, both with a transparent background."""
    light = CONFIG | {"background": "transparent"}
    dark = {
        name: {**value, **DARK.get(name, {})} if isinstance(value, dict) else DARK.get(name, value)
        for name, value in CONFIG.items()
    }
    return {"light": light, "dark": dark}


def for_dark_page(part: Any) -> Any:
    """Replace the colors of a specification by those for a dark page, except in data.

    >>> for_dark_page({"mark": {"type": "line", "color": BLUE}, "data": {"values": [{"text": BLUE}]}})
    {'mark': {'type': 'line', 'color': '#56b4e9'}, 'data': {'values': [{'text': '#0072b2'}]}}
    """
    if isinstance(part, dict):
        return {
            key: value if key in ("data", "datasets") else for_dark_page(value) for key, value in part.items()
        }
    if isinstance(part, list | tuple):
        return [for_dark_page(value) for value in part]
    return _TO_DARK_PAGE.get(part, part) if isinstance(part, str) else part
