"""Pictures: the charts of a report, as Vega-Lite. Colours and fonts are the look's, so that they follow it.

None has a width: a page gives them that of its column, a file the usual one.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from merganser.analyse.family import Member
from merganser.charts import drawable
from merganser.charts.spec import Spec

Values = Sequence[Mapping[str, object]]

#: More in one chart cannot be told apart.
GROUPS = 5

_LEGEND = {"orient": "top", "direction": "horizontal", "title": None, "labelLimit": 200, "columns": 1}


def label(token: bytes) -> str:
    """A token in the letters that every font has; spaces are seen, and no other character acts.

    >>> label(" naïve\\n".encode()), label("é".encode()[:1]), label("中".encode())
    ('·naïve\\\\n', '\\\\xc3', '\\\\u4e2d')
    """
    text = token.decode("utf-8", "surrogateescape")
    drawn = (
        f"\\x{ord(character) - 0xDC00:02x}" if "\udc80" <= character <= "\udcff" else drawable(character)
        for character in text.replace(" ", "·")
    )
    return "".join(drawn)


def curve(values: Values, x: str, y: str, *, log: bool) -> Spec:
    """One line through all points."""
    return {
        "data": {"values": list(values)},
        "height": 280,
        "mark": {"type": "line", "point": True, "tooltip": True},
        "encoding": {
            "x": _log(x, values) if log else _even(x),
            "y": {"field": y, "type": "quantitative", "scale": {"zero": False, "nice": True}},
        },
    }


def labelled_curve(values: Values, x: str, y: str) -> Spec:
    """The same on even axes, with the value at each point."""
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
    """Names in the order given. A list as "sort" would do, but Vega takes `if` in it for code."""
    return {"type": "nominal", "scale": {"domain": names}, "sort": None}


def bars(values: Values, name: str, number: str, *, group: str | None = None) -> Spec:
    """Bars from left to right, in the order given; side by side for each group."""
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
    """Bars that stand, side by side for each group: distributions."""
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
    """A line for each group, on logarithmic axes; dashed in their own ways, for they lie on each other."""
    groups = _unique(str(value[group]) for value in values)
    told_apart = {"field": group, **_in_order(groups)}
    return {
        "data": {"values": list(values)},
        "height": 300,
        "mark": {"type": "line", "tooltip": True},
        "encoding": {
            "x": _log(x, values),
            "y": _log(y, values),
            "color": {**told_apart, "legend": _LEGEND},
            "strokeDash": {**told_apart, "legend": None},
        },
    }


def tree(members: Sequence[Member]) -> Spec:
    """A token on top of the two that it was made of, each on top of its own, down to the bytes."""
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
            "centre": member.depth + 0.36,
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
                    "color": {"condition": {"test": "datum.merge === 'byte'", "value": "#80868b"}, **_FIRST},
                    "stroke": {"condition": {"test": "datum.merge === 'byte'", "value": "#80868b"}, **_FIRST},
                },
            },
            {
                "mark": {"type": "text", "fontSize": 13},
                "encoding": {
                    "x": {"field": "middle", **x},
                    "y": {"field": "centre", **y},
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


#: The first colour of the look, whatever it is.
_FIRST: dict[str, Any] = {"datum": "merge", "scale": {"domain": ["merge"]}, "legend": None}


def _even(field: str) -> dict[str, Any]:
    axis = {"format": ",d", "tickCount": 6, "labelOverlap": True}
    return {"field": field, "type": "quantitative", "scale": {"zero": False}, "axis": axis}


def _log(field: str, values: Values) -> dict[str, Any]:
    """A logarithmic axis with a line for every power of ten, and no others."""
    largest = max(float(str(value[field])) for value in values)
    powers = [10**power for power in range(20) if 10**power <= largest]
    axis = {"format": ",d", "values": powers, "labelOverlap": True}
    return {"field": field, "type": "quantitative", "scale": {"type": "log", "nice": False}, "axis": axis}


def _unique(names: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(names))
