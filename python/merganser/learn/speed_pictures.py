"""Charts of the speed of the character-level tokenizer, as Vega-Lite."""

from typing import Any

from merganser.charts import drawable
from merganser.charts.spec import halo
from merganser.charts.theme import BLUE, GRAY, ORANGE

Spec = dict[str, Any]
Row = dict[str, Any]

#: The colors of the series, the same in all charts.
_COLORS = {"plain": GRAY, "first pass": ORANGE, "second pass": BLUE}

#: The values on log axes.
_POWERS = [10.0**power for power in range(-2, 8)]

_SECONDS = "datum.value >= 1 ? format(datum.value, ',d') + ' s' : format(datum.value * 1000, '~g') + ' ms'"


def optimization_results(corpus: str, merges: int, sizes: list[Row], kinds: list[Row]) -> Spec:
    """Four panels: time, words per second, speedup, and cache hit rate by kind of text."""
    points = []
    for row in sizes:
        for name, key in (("plain", "plain"), ("first pass", "first_pass"), ("second pass", "second_pass")):
            part = row[key]
            points.append(
                {
                    "words": row["words"],
                    "name": name,
                    "seconds": part["seconds"],
                    "rate": part["words_per_second"],
                    "speed_up": part.get("speed_up"),
                    "extrapolated": part.get("extrapolated", False),
                }
            )
    extrapolated = any(point["extrapolated"] for point in points)
    passes = [{**point, "label": f"{point['speed_up']:,.0f}×"} for point in points if point["speed_up"]]
    hits = [
        {
            "kind": drawable(row["kind"]),
            "name": name,
            "rate": row[key],
            "label": f"{row[key]:.1%}".replace(".0%", "%"),
        }
        for row in kinds
        for name, key in (("first pass", "first_hit_rate"), ("second pass", "second_hit_rate"))
    ]
    note = "; hollow points are extrapolated" if extrapolated else ""
    panels = [
        _lines(points, "seconds", "Time", f"for one pass over the text{note}", _SECONDS),
        _lines(
            points, "rate", "Throughput", "words per second; higher is better", "format(datum.value, '~s')"
        ),
        _bars(
            passes,
            "size",
            "speed_up",
            "Speedup over the plain tokenizer",
            "orange: first pass, blue: second pass; log scale",
            {
                "stack": None,
                "scale": {"type": "log", "domain": _log_domain([point["speed_up"] for point in passes])},
                "axis": {"format": ",~g", "values": _POWERS, "grid": False},
            },
            1,
        ),
        _bars(
            hits,
            "kind",
            "rate",
            "Cache hit rate",
            f"by kind of text, {kinds[0]['words']:,} words each",
            {
                "scale": {"domain": [0, 1.15]},
                "axis": {"format": "%", "values": [0, 0.25, 0.5, 0.75, 1], "grid": False},
            },
            0,
        ),
    ]
    for point in passes:
        point["size"] = f"{point['words']:,}"
    return {
        "title": {
            "text": "A character-level tokenizer, plain and optimized",
            "subtitle": f"{drawable(corpus)}, {merges:,} merges; CPU time",
            "fontSize": 17,
            "offset": 18,
        },
        "concat": panels,
        "columns": 2,
        "spacing": {"row": 110, "column": 75},
        "bounds": "flush",  # align the plots, whatever the size of their labels
        "resolve": {"scale": {"yOffset": "independent"}},  # or all bars are as wide as those of one panel
    }


def optimization_breakdown(corpus: str, breakdown: Row) -> Spec:
    """The speedup of the techniques added one by one, and the slowdown without each."""
    steps = [
        {**row, "pass": _pass(row["name"]), "label": f"{_time(row['seconds'])} · {_times(row['speed_up'])}"}
        for row in breakdown["cumulative"]
    ]
    shares = [
        {"name": row["name"], "pass": name, "slower": row[key], "label": _times(row[key])}
        for row in breakdown["each_left_out"]
        for name, key in (("first pass", "first_pass_slower"), ("second pass", "second_pass_slower"))
    ]
    cumulative = {
        "title": {"text": "Added one by one", "subtitle": "time, and speedup over plain"},
        "width": 380,
        "height": {"step": 30},
        "data": {"values": steps},
        "encoding": {
            "y": {
                "field": "name",
                "type": "nominal",
                "sort": None,
                "title": None,
                "axis": {"labelLimit": 260},
            },
            "x": {
                "field": "speed_up",
                "type": "quantitative",
                "title": "speedup over plain, log scale",
                "scale": {"type": "log", "domain": _log_domain([row["speed_up"] for row in steps])},
                "axis": {"format": ",~g", "values": _POWERS, "grid": False},
            },
        },
        "layer": [
            {
                "mark": {"type": "bar", "height": 16},
                "encoding": {"x2": {"datum": 1}, "color": _color("pass", list(_COLORS))},
            },
            {"mark": {"type": "text", "align": "left", "dx": 6}, "encoding": {"text": {"field": "label"}}},
        ],
    }
    left_out = {
        "title": {
            "text": "Left out one at a time",
            "subtitle": "slowdown without the technique; orange: first pass, blue: second pass",
        },
        "width": 300,
        "height": {"step": 18},
        "data": {"values": shares},
        "encoding": {
            "y": {"field": "name", "type": "nominal", "sort": None, "title": None},
            "yOffset": {"field": "pass", "sort": ["first pass", "second pass"]},
            "x": {
                "field": "slower",
                "type": "quantitative",
                "title": "slowdown, log scale",
                "scale": {"type": "log", "domain": _log_domain([row["slower"] for row in shares])},
                "axis": {"format": ",~g", "values": _POWERS, "grid": False},
            },
        },
        "layer": [
            {
                "mark": {"type": "bar"},
                "encoding": {"x2": {"datum": 1}, "color": _color("pass", list(_COLORS))},
            },
            {
                "transform": [{"calculate": "max(datum.slower, 1)", "as": "label_x"}],
                "mark": {"type": "text", "align": "left", "dx": 6},
                "encoding": {
                    "x": {"field": "label_x", "type": "quantitative"},
                    "text": {"field": "label"},
                },
            },
        ],
    }
    return {
        "title": {
            "text": "The effect of each technique",
            "subtitle": f"{drawable(corpus)}, {breakdown['words']:,} words; CPU time",
            "fontSize": 17,
            "offset": 18,
        },
        "hconcat": [cumulative, left_out],
        "spacing": 40,
    }


def _lines(points: list[Row], figure: str, title: str, subtitle: str, labels: str) -> Spec:
    """One line per tokenizer by size of the text, both axes logarithmic."""
    sizes = sorted({point["words"] for point in points})
    figures = [point[figure] for point in points]
    margin = max((sizes[-1] / sizes[0]) ** 0.04, 1.1)  # a single size has room around it as well
    # A label is below its line to the right; if lines rise, above it to the left, except for the lowest line.
    above = "datum.name != 'second pass'" if figure == "seconds" else "false"
    positions: list[tuple[str, Row]] = [
        (above, {"align": "right", "dx": -4, "dy": -11}),
        (f"!({above})", {"align": "left", "dx": 6, "dy": 14}),
    ]
    names: list[Row] = [
        layer
        for condition, position in positions
        for layer in halo(
            {
                "transform": [{"filter": f"datum.words == {sizes[len(sizes) // 3]} && {condition}"}],
                "mark": {"type": "text", "fontWeight": "bold", **position},
                "encoding": {"text": {"field": "name"}, "color": _color("name", list(_COLORS))},
            }
        )
    ]
    encoding = {
        "x": {
            "field": "words",
            "type": "quantitative",
            "title": "words",
            "scale": {"type": "log", "nice": False, "domain": [sizes[0] / margin, sizes[-1] * margin]},
            "axis": {"values": sizes, "format": "~s", "grid": False, "labelOverlap": "greedy"},
        },
        "y": {
            "field": figure,
            "type": "quantitative",
            "title": None,
            "scale": {"type": "log", "domain": [min(figures) / 5, max(figures) * 2]},
            "axis": {"labelExpr": labels, "values": [10.0**power for power in range(-5, 10)]},
        },
        "color": _color("name", list(_COLORS)),
    }
    return {
        "title": {"text": title, "subtitle": subtitle, "frame": "group"},
        "width": 380,
        "height": 220,
        "data": {"values": points},
        "encoding": encoding,
        "layer": [
            {"mark": "line"},
            *names,
            {
                "mark": {"type": "point", "opacity": 1},
                "encoding": {
                    "fill": {
                        "condition": {"test": "datum.extrapolated", "value": "white"},
                        "field": "name",
                        "type": "nominal",
                        "scale": {"domain": list(_COLORS), "range": list(_COLORS.values())},
                        "legend": None,
                    }
                },
            },
        ],
    }


def _bars(rows: list[Row], by: str, figure: str, title: str, subtitle: str, x: Row, base: float) -> Spec:
    """Pairs of horizontal bars for the first and the second pass, with their values."""
    order = ["first pass", "second pass"]
    return {
        "title": {"text": title, "subtitle": subtitle, "frame": "group"},
        "width": 380,
        "height": {"step": 16, "for": "offset"},
        "data": {"values": rows},
        "encoding": {
            "y": {
                "field": by,
                "type": "nominal",
                "sort": None,
                "title": "words" if by == "size" else None,
                "axis": {"labelLimit": 120},
            },
            "yOffset": {"field": "name", "sort": order},
            "x": {"field": figure, "type": "quantitative", "title": None, **x},
        },
        "layer": [
            {"mark": "bar", "encoding": {"x2": {"datum": base}, "color": _color("name", order)}},
            {
                "mark": {"type": "text", "align": "left", "baseline": "middle", "dx": 4, "fontSize": 11},
                "encoding": {"text": {"field": "label"}},
            },
        ],
    }


def _log_domain(factors: list[float]) -> list[float]:
    """Return a domain that contains 1 and all factors, and has room for the labels right of the bars.

    >>> _log_domain([0.5, 10.0])
    [0.45, 44.1]
    """
    low, high = min(1.0, *factors) / (1 if min(factors) >= 1 else 1.1), max(2.0, *factors)
    return [round(low, 2), round(high * (high / low) ** 0.48, 1)]


def _color(field: str, names: list[str]) -> Row:
    return {
        "field": field,
        "type": "nominal",
        "title": None,
        "scale": {"domain": names, "range": [_COLORS[name] for name in names]},
        "legend": None,
    }


def _pass(name: str) -> str:
    return next((known for known in _COLORS if name.endswith(known)), "plain")


def _times(ratio: float) -> str:
    return f"{ratio:,.0f}×" if ratio >= 100 else f"{ratio:.1f}×" if ratio >= 10 else f"{ratio:.2f}×"


def _time(seconds: float) -> str:
    return f"{seconds:.1f} s" if seconds >= 1 else f"{seconds * 1000:.0f} ms"
