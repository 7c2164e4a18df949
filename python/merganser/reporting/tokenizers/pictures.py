"""The charts of a report on tokenizers, as Vega-Lite. Colors and fonts come from the theme.

None has a width: on a page it is that of the column, in a file `charts.spec.WIDTH`.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from merganser.analyse.family import Member
from merganser.charts import drawable
from merganser.charts.spec import Spec

Values = Sequence[Mapping[str, object]]

#: The maximum number of groups in a chart that remain distinguishable.
GROUPS = 5

_LEGEND = {"orient": "top", "direction": "horizontal", "title": None, "labelLimit": 200, "columns": 1}


def label(token: bytes) -> str:
    """Escape a token for the font of the charts, with visible spaces.

    >>> label(" naïve\\n".encode()), label("é".encode()[:1]), label("中".encode())
    ('·naïve\\\\n', '\\\\xc3', '\\\\u4e2d')
    """
    text = token.decode("utf-8", "surrogateescape")
    escaped = (
        f"\\x{ord(character) - 0xDC00:02x}" if "\udc80" <= character <= "\udcff" else drawable(character)
        for character in text.replace(" ", "·")
    )
    return "".join(escaped)


def curve(values: Values, x: str, y: str, *, log: bool) -> Spec:
    """One line with points."""
    return {
        "data": {"values": list(values)},
        "height": 280,
        "mark": {"type": "line", "point": True, "tooltip": True},
        "encoding": {
            "x": _log(x, values) if log else _linear(x),
            "y": {"field": y, "type": "quantitative", "scale": {"zero": False, "nice": True}},
        },
    }


def labeled_curve(values: Values, x: str, y: str) -> Spec:
    """A curve on linear axes, with the value at each point."""
    plain = curve(values, x, y, log=False)
    text = {
        "mark": {"type": "text", "dy": -12, "dx": 4, "align": "left"},
        "encoding": {"text": {"field": y, "type": "quantitative", "format": ".1f"}},
    }
    line = {"mark": plain["mark"]}
    return {
        "data": plain["data"],
        "height": plain["height"],
        "encoding": plain["encoding"],
        "layer": [line, text],
    }


def _in_order(names: list[str]) -> Spec:
    """Keep the order of names. Not with a list in "sort": Vega would evaluate a name such as `if` as code."""
    return {"type": "nominal", "scale": {"domain": names}, "sort": None}


def bars(values: Values, name: str, number: str, *, group: str | None = None) -> Spec:
    """Horizontal bars in the given order, side by side for each group."""
    order = _unique(str(value[name]) for value in values)
    encoding: dict[str, Any] = {
        "y": {"field": name, **_in_order(order), "title": None, "axis": {"labelLimit": 150}},
        "x": {"field": number, "type": "quantitative", "axis": {"tickCount": 6}},
    }
    step = 20
    if group is not None:
        groups = _unique(str(value[group]) for value in values)
        encoding["color"] = {"field": group, **_in_order(groups), "legend": _LEGEND}
        encoding["yOffset"] = {"field": group, **_in_order(groups)}
        step = 14
        if len(groups) == 1:
            del encoding["color"], encoding["yOffset"]
            step = 20
    return {
        "data": {"values": list(values)},
        "height": {"step": step, "for": "offset"} if "yOffset" in encoding else {"step": step},
        "mark": {"type": "bar", "tooltip": True},
        "encoding": encoding,
    }


def columns(values: Values, name: str, number: str, group: str) -> Spec:
    """Vertical bars, side by side for each group."""
    order = _unique(str(value[name]) for value in values)
    groups = _unique(str(value[group]) for value in values)
    return {
        "data": {"values": list(values)},
        "height": 260,
        "mark": {"type": "bar", "tooltip": True},
        "encoding": {
            "x": {
                "field": name,
                **_in_order(order),
                "axis": {"labelAngle": 0, "labelOverlap": "greedy"},
            },
            "y": {"field": number, "type": "quantitative", "axis": {"format": "%"}},
            "xOffset": {"field": group, **_in_order(groups)},
            "color": {"field": group, **_in_order(groups), "legend": _LEGEND},
        },
    }


def lines(values: Values, x: str, y: str, group: str) -> Spec:
    """One line per group on log axes, dashed differently because they overlap."""
    groups = _unique(str(value[group]) for value in values)
    by_group = {"field": group, **_in_order(groups)}
    return {
        "data": {"values": list(values)},
        "height": 300,
        "mark": {"type": "line", "tooltip": True},
        "encoding": {
            "x": _log(x, values),
            "y": _log(y, values),
            "color": {**by_group, "legend": _LEGEND},
            "strokeDash": {**by_group, "legend": None},
        },
    }


def tree(members: Sequence[Member]) -> Spec:
    """The family tree of a token: each token above the two that it was merged from, down to bytes."""
    values = [
        {
            "token": label(member.token),
            "id": member.id,
            "merge": "byte" if member.merge is None else f"merge {member.merge:,}",
            "short": f"{member.merge:,}" if member.merge is not None else "",
            "left": member.start,
            "right": member.end,
            "middle": (member.start + member.end) / 2,
            "top": member.depth,
            "bottom": member.depth + 1,
            "center": member.depth + 0.36,
            "below": member.depth + 0.74,
        }
        for member in members
    ]
    deepest = max(member.depth for member in members) + 1
    x = {"type": "quantitative", "axis": None, "scale": {"domain": [0, members[0].end], "nice": False}}
    y = {"type": "quantitative", "axis": None, "scale": {"domain": [deepest, 0], "nice": False}}
    tooltip = [{"field": name} for name in ("token", "id", "merge")]
    return {
        "data": {"values": values},
        "height": 40 * deepest,
        "layer": [
            {
                "mark": {"type": "rect", "fillOpacity": 0.18, "strokeWidth": 1.5, "cornerRadius": 4},
                "encoding": {
                    "x": {"field": "left", **x},
                    "x2": {"field": "right"},
                    "y": {"field": "top", **y},
                    "y2": {"field": "bottom"},
                    "tooltip": tooltip,
                    "color": {
                        "condition": {"test": "datum.merge === 'byte'", "value": "#80868b"},
                        **_FIRST_COLOR,
                    },
                    "stroke": {
                        "condition": {"test": "datum.merge === 'byte'", "value": "#80868b"},
                        **_FIRST_COLOR,
                    },
                },
            },
            {
                "mark": {"type": "text", "fontSize": 13},
                "encoding": {
                    "x": {"field": "middle", **x},
                    "y": {"field": "center", **y},
                    "text": {"field": "token"},
                },
            },
            {
                "mark": {"type": "text", "fontSize": 9, "opacity": 0.75},
                "encoding": {
                    "x": {"field": "middle", **x},
                    "y": {"field": "below", **y},
                    "text": {"field": "short"},
                },
            },
        ],
    }


#: The first color of the theme.
_FIRST_COLOR: dict[str, Any] = {"datum": "merge", "scale": {"domain": ["merge"]}, "legend": None}


def _linear(field: str) -> dict[str, Any]:
    axis = {"format": ",d", "tickCount": 6, "labelOverlap": True}
    return {"field": field, "type": "quantitative", "scale": {"zero": False}, "axis": axis}


def _log(field: str, values: Values) -> dict[str, Any]:
    """A log axis with a grid line at every power of ten."""
    largest = max(float(str(value[field])) for value in values)
    powers = [10**power for power in range(20) if 10**power <= largest]
    axis = {"format": ",d", "values": powers, "labelOverlap": True}
    return {"field": field, "type": "quantitative", "scale": {"type": "log", "nice": False}, "axis": axis}


def _unique(names: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(names))
