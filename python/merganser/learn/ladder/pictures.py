"""Charts of the ladder: time and memory of each step, and time by size of text and vocabulary."""

import math
from pathlib import Path
from typing import Any

from merganser import charts
from merganser.charts.theme import BLUE, GRAY, GREEN, ORANGE

Spec = dict[str, Any]

_SECONDS = "datum.value >= 1 ? format(datum.value, ',~g') + ' s' : format(datum.value * 1000, ',~g') + ' ms'"
_BYTES = (
    "datum.value >= 1e9 ? format(datum.value / 1e9, '~g') + ' GB' : format(datum.value / 1e6, '~g') + ' MB'"
)
_COUNT = "format(datum.value, ',')"


def save(result: dict[str, Any], folder: Path) -> list[Path]:
    """Save the charts as PNG, SVG and HTML; return the paths."""
    specs = {"ladder": per_step(result)}
    if result["sweep"]:
        specs["ladder-sizes"] = by_size(result)
    return [path for name, spec in specs.items() for path in charts.save_all(spec, folder, name)]


def title(result: dict[str, Any], text: str) -> Spec:
    corpus = charts.drawable(result["corpus"])
    subtitle = f"{corpus}, {result['bytes'] / 1e6:,.1f} MB, {result['vocab_size']:,} tokens"
    return {
        "text": text,
        "subtitle": f"{subtitle}; each step in a separate process; log scale",
        "fontSize": 16,
        "offset": 14,
    }


def per_step(result: dict[str, Any]) -> Spec:
    """Two columns of labeled points: CPU time and peak memory."""
    finished = [run for run in result["steps"] if not run["timed_out"]]
    order = [run["name"] for run in finished]
    columns = []
    for field, label, expression, color in (
        ("cpu_seconds", "CPU time", _SECONDS, BLUE),
        ("peak_bytes", "peak memory", _BYTES, ORANGE),
    ):
        figures = [
            {
                "name": run["name"],
                "value": run[field],
                "label": _label(field, run[field]),
                "color": GRAY if run["step"] == "core" else color,
            }
            for run in finished
        ]
        values = [figure["value"] for figure in figures]
        y = {
            "field": "name",
            "type": "nominal",
            "sort": order,
            "title": None,
            "axis": {
                "labelLimit": 220,
                "ticks": False,
                "domain": False,
                "labels": field == "cpu_seconds",
                "grid": True,
            },
        }
        x = {
            "field": "value",
            "type": "quantitative",
            "title": label,
            "scale": {"type": "log", "domain": [min(values) / 1.3, max(values) * 3], "nice": False},
            "axis": {
                "labelExpr": expression,
                "values": ticks(min(values) / 1.3, max(values) * 3),
                "grid": False,
            },
        }
        base = {"x": x, "y": y, "color": {"field": "color", "type": "nominal", "scale": None}}
        columns.append(
            {
                "width": 320,
                "height": {"step": 22},
                "data": {"values": figures},
                "layer": [
                    {"mark": {"type": "point", "filled": True, "size": 70, "opacity": 1}, "encoding": base},
                    {
                        "mark": {"type": "text", "align": "left", "baseline": "middle", "dx": 8},
                        "encoding": base | {"text": {"field": "label"}},
                    },
                ],
            }
        )
    return {"title": title(result, "CPU time and memory of each step"), "hconcat": columns, "spacing": 20}


def _label(field: str, value: float) -> str:
    if field == "peak_bytes":
        return f"{value / 1e6:,.0f} MB"
    if value < 1:
        return f"{value * 1000:.2g} ms" if value < 0.1 else f"{value * 1000:.0f} ms"
    return f"{value:,.0f} s" if value >= 100 else f"{value:.3g} s"


def ticks(low: float, high: float) -> list[float]:
    """Return round numbers for a log axis: three per decade, fewer if it spans several.

    >>> ticks(15, 120)
    [20.0, 50.0, 100.0]
    >>> ticks(0.5, 2000)
    [1.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1000.0]
    """
    steps = (1, 2, 5) if high / low < 100 else (1, 3) if high / low < 10_000 else (1,)
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    candidates = [float(f"{step}e{decade}") for decade in decades for step in steps]
    return [value for value in candidates if low <= value <= high]


def by_size(result: dict[str, Any]) -> Spec:
    """One line per step, against the size of the text and of the vocabulary."""
    whole = {"bytes": result["bytes"], "vocab_size": result["vocab_size"]}
    points = [whole | run for run in result["steps"]] + result["sweep"]
    points = [point for point in points if not point["timed_out"]]
    panels = []
    for field, other, label, expression in (
        ("bytes", "vocab_size", "text size", _BYTES),
        ("vocab_size", "bytes", "vocabulary size", _COUNT),
    ):
        selected = [point for point in points if point[other] == whole[other]]
        values = sorted({point[field] for point in selected})
        panels.append(_lines(selected, field, label, expression, values))
    return {
        "title": title(result, "CPU time by text size and vocabulary size"),
        "hconcat": panels,
        "spacing": 30,
    }


def _lines(points: list[Spec], field: str, label: str, expression: str, values: list[int]) -> Spec:
    order = list(dict.fromkeys(point["name"] for point in points))
    figures = [{"x": point[field], "y": point["cpu_seconds"], "name": point["name"]} for point in points]
    times = [figure["y"] for figure in figures]
    low, high = min(times) / 1.3, max(times) * 1.3
    return {
        "width": 330,
        "height": 300,
        "data": {"values": figures},
        "mark": {"type": "line", "point": {"filled": True, "size": 30}},
        "encoding": {
            "x": {
                "field": "x",
                "type": "quantitative",
                "title": label,
                "scale": {"type": "log", "domain": [values[0], values[-1]]},
                "axis": {"values": values, "labelExpr": expression, "grid": False},
            },
            "y": {
                "field": "y",
                "type": "quantitative",
                "title": "CPU time",
                "scale": {"type": "log", "domain": [low, high], "nice": False},
                "axis": {"labelExpr": _SECONDS, "values": ticks(low, high)},
            },
            "color": {
                "field": "name",
                "type": "nominal",
                "sort": order,
                "scale": {"domain": order, "range": _colors(len(order))},
                "legend": {"title": None, "labelLimit": 220, "symbolType": "stroke", "symbolStrokeWidth": 3},
            },
        },
    }


def _colors(count: int) -> list[str]:
    """Interpolate from orange to green to blue; the core, which comes first, is gray."""
    stops = [tuple(int(color[n : n + 2], 16) for n in (1, 3, 5)) for color in (ORANGE, GREEN, BLUE)]
    colors = [GRAY]
    for nth in range(count - 1):
        at = 2 * nth / max(count - 2, 1)
        low = min(int(at), 1)
        mixed = [round(a + (b - a) * (at - low)) for a, b in zip(stops[low], stops[low + 1], strict=True)]
        colors.append("#" + "".join(f"{part:02x}" for part in mixed))
    return colors
