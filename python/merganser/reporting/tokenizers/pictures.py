"""The charts of a report on tokenizers, as Vega-Lite. Colors and fonts come from the theme.

None has a width: on a page it is that of the column, in a file `charts.spec.WIDTH`.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from merganser.analyse.family import Member
from merganser.charts import drawable
from merganser.charts.spec import Spec, halo
from merganser.charts.theme import GRAY

Values = Sequence[Mapping[str, object]]

#: The maximum number of groups in a chart that remain distinguishable.
GROUPS = 5

#: The number of characters in the entries of a legend that fit on one line of a phone.
_LEGEND_LINE = 30


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


def progression(values: Values, x: str, y: str) -> Spec:
    """A curve from 0 to the last value of `x`, which is spaced as on a log axis, with a few of its values."""
    last = max(int(str(value[x])) for value in values)
    ticks = [0, *(10**power for power in range(1, 20) if 10**power < last / 1.5), last]
    named = [min(values, key=lambda value: abs(int(str(value[x])) - tick)) for tick in ticks]
    axis = {"format": ",d", "values": ticks, "labelOverlap": True, "labelFlush": True}
    scale = {"type": "symlog", "constant": 10, "domain": [0, max(last, 1)], "nice": False}
    return {
        "data": {"values": [{**value, "label": value in named} for value in values]},
        "height": 280,
        "encoding": {
            "x": {
                "field": x,
                "type": "quantitative",
                "title": f"{x}, log scale from 10",
                "scale": scale,
                "axis": axis,
            },
            "y": _from_zero(y, values),
        },
        "layer": [
            {"mark": {"type": "line", "point": True, "tooltip": True}},
            *_values(y, ".2f", x, last),
        ],
    }


def labeled_curve(values: Values, x: str, y: str) -> Spec:
    """A curve on linear axes from 0, with the value at each point."""
    last = max(int(str(value[x])) for value in values)
    named: list[int] = []
    for at in sorted((int(str(value[x])) for value in values), reverse=True):
        if not named or named[-1] - at > last / 12:  # or the labels would overlap
            named.append(at)
    return {
        "data": {"values": [{**value, "label": value[x] in named} for value in values]},
        "height": 280,
        "encoding": {
            "x": {
                "field": x,
                "type": "quantitative",
                "scale": {"zero": True, "domain": [0, max(last, 1)]},
                "axis": {"format": ",d", "tickCount": 6, "labelOverlap": True, "labelFlush": True},
            },
            "y": _from_zero(y, values),
        },
        "layer": [
            {"mark": {"type": "line", "point": True, "tooltip": True}},
            *_values(y, ".1f", x, last),
        ],
    }


def _values(field: str, format: str, x: str, last: int) -> list[Spec]:
    """Layers with the values of a curve, above it; those of the last fifth are left of their points."""
    layers = []
    for right, position in ((False, {"align": "left", "dx": 5}), (True, {"align": "right", "dx": 0})):
        side = ">" if right else "<="
        text = {
            "transform": [{"filter": f"datum.label && datum[{x!r}] {side} {0.8 * last}"}],
            "mark": {"type": "text", "dy": -12, **position},
            "encoding": {"text": {"field": field, "type": "quantitative", "format": format}},
        }
        layers += halo(text)
    return layers


def _in_order(names: list[str]) -> Spec:
    """Keep the order of names. Not with a list in "sort": Vega would evaluate a name such as `if` as code."""
    return {"type": "nominal", "scale": {"domain": names}, "sort": None}


def bars(
    values: Values,
    name: str,
    number: str,
    *,
    group: str | None = None,
    colors: Sequence[str] | None = None,
    percent: bool = False,
) -> Spec:
    """Horizontal bars with their values, in the given order, side by side for each group.

    Bars that are themselves groups (`group == name`) have the colors that the groups have in other charts.
    `colors` replaces those of the theme, for groups that are not tokenizers. There are no grid lines: they
    would strike through the values.
    """
    order = _unique(str(value[name]) for value in values)
    numbers = [float(str(value[number])) for value in values]
    # Leave room for the value of the longest bar.
    scale = {"domain": [0, 1.22 * max(numbers, default=0) or 1], "nice": False}
    axis = {"tickCount": 6, "grid": False} | ({"format": "%"} if percent else {})
    encoding: dict[str, Any] = {
        "y": {"field": name, **_in_order(order), "title": None, "axis": {"labelLimit": 150}},
        "x": {"field": number, "type": "quantitative", "scale": scale, "axis": axis},
    }
    step = 20
    if group is not None:
        groups = _unique(str(value[group]) for value in values)
        if len(groups) > 1:
            encoding["color"] = {"field": group, **_in_order(groups), "legend": _legend(groups)}
            if colors is not None:
                encoding["color"]["scale"] = {"domain": groups, "range": list(colors)}
        if len(groups) > 1 and group != name:
            encoding["yOffset"] = {"field": group, **_in_order(groups)}
            step = 14
        elif len(groups) > 1:
            encoding["color"]["legend"] = None
    whole = all(value.is_integer() for value in numbers)
    format = ".1%" if percent else ",d" if whole else ",.2f" if max(numbers, default=0) < 20 else ",.1f"
    text: Spec = {
        "transform": [{"filter": {"field": number, "gt": 0}}],
        "mark": {"type": "text", "align": "left", "baseline": "middle", "dx": 4, "fontSize": 11},
        "encoding": {"text": {"field": number, "type": "quantitative", "format": format}},
    }
    if "color" in encoding:
        text["encoding"]["color"] = {"value": GRAY}
    return {
        "data": {"values": list(values)},
        "height": {"step": step, "for": "offset"} if "yOffset" in encoding else {"step": step},
        "encoding": encoding,
        "layer": [{"mark": {"type": "bar", "tooltip": True}}, text],
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
            "color": {**by_group, "legend": _legend(groups)},
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


def _legend(groups: Sequence[str]) -> dict[str, Any]:
    """A legend above the chart: on one line if it is short enough, else with one line for each group."""
    columns = len(groups) if sum(len(group) + 3 for group in groups) <= _LEGEND_LINE else 1
    return {"orient": "top", "direction": "horizontal", "title": None, "labelLimit": 140, "columns": columns}


def _from_zero(field: str, values: Values) -> dict[str, Any]:
    # Not left to Vega, which would warn about a layer of labels without any.
    domain = [0, 1.15 * max(float(str(value[field])) for value in values) or 1]
    scale = {"domain": domain, "nice": False}
    return {"field": field, "type": "quantitative", "scale": scale, "axis": {"tickCount": 6}}


def _log(field: str, values: Values) -> dict[str, Any]:
    """A log axis with a grid line at every power of ten."""
    largest = max(float(str(value[field])) for value in values)
    powers = [10**power for power in range(20) if 10**power <= largest]
    axis = {"format": ",d", "values": powers, "labelOverlap": True}
    return {"field": field, "type": "quantitative", "scale": {"type": "log", "nice": False}, "axis": axis}


def _unique(names: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(names))
