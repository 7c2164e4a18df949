"""The charts of the ladder: time and memory of each step; time by size of text, and by size of vocabulary."""

import math
from pathlib import Path
from typing import Any

from merganser import charts
from merganser.charts.look import BLUE, GREEN, GREY, ORANGE

Spec = dict[str, Any]

_SECONDS = "datum.value >= 1 ? format(datum.value, ',~g') + ' s' : format(datum.value * 1000, ',~g') + ' ms'"
_BYTES = (
    "datum.value >= 1e9 ? format(datum.value / 1e9, '~g') + ' GB' : format(datum.value / 1e6, '~g') + ' MB'"
)
_COUNT = "format(datum.value, ',')"


def save(result: dict[str, Any], folder: Path) -> list[Path]:
    """Draws what there is to draw, each as PNG, SVG and a page."""
    specs = {"ladder": per_step(result)}
    if result["sweep"]:
        specs["ladder-sizes"] = by_size(result)
    paths = []
    for name, spec in specs.items():
        files = [folder / f"{name}.{kind}" for kind in ("png", "svg", "html")]
        charts.save(spec, *files)
        paths += files
    return paths


def drawable(text: str) -> str:
    """Text that every font can draw; the rest is escaped.

    >>> drawable("naïve 中.txt")
    'naïve \\\\u4e2d.txt'
    """
    latin = text.encode("latin-1", "backslashreplace").decode("latin-1")
    return "".join(character if character.isprintable() else repr(character)[1:-1] for character in latin)


def title(result: dict[str, Any], text: str) -> Spec:
    below = f"{drawable(result['corpus'])}, {result['bytes'] / 1e6:,.1f} MB, {result['vocab_size']:,} tokens"
    return {
        "text": text,
        "subtitle": f"{below}; each step in a fresh process; logarithmic scale",
        "fontSize": 16,
        "offset": 14,
    }


def per_step(result: dict[str, Any]) -> Spec:
    """Two columns of points, with the figure beside each."""
    done = [run for run in result["steps"] if not run["timed_out"]]
    order = [run["name"] for run in done]
    columns = []
    for field, label, expression, colour in (
        ("cpu_seconds", "processor time", _SECONDS, BLUE),
        ("peak_bytes", "peak memory of the process", _BYTES, ORANGE),
    ):
        figures = [
            {
                "name": run["name"],
                "value": run[field],
                "shown": _shown(field, run[field]),
                "colour": GREY if run["step"] == "core" else colour,
            }
            for run in done
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
        base = {"x": x, "y": y, "color": {"field": "colour", "type": "nominal", "scale": None}}
        columns.append(
            {
                "width": 320,
                "height": {"step": 22},
                "data": {"values": figures},
                "layer": [
                    {"mark": {"type": "point", "filled": True, "size": 70, "opacity": 1}, "encoding": base},
                    {
                        "mark": {"type": "text", "align": "left", "baseline": "middle", "dx": 8},
                        "encoding": base | {"text": {"field": "shown"}},
                    },
                ],
            }
        )
    return {"title": title(result, "What each step of the ladder takes"), "hconcat": columns, "spacing": 20}


def _shown(field: str, value: float) -> str:
    if field == "peak_bytes":
        return f"{value / 1e6:,.0f} MB"
    if value < 1:
        return f"{value * 1000:.2g} ms" if value < 0.1 else f"{value * 1000:.0f} ms"
    return f"{value:,.0f} s" if value >= 100 else f"{value:.3g} s"


def ticks(low: float, high: float) -> list[float]:
    """Round numbers on a logarithmic axis: three to a decade, two or one where it spans several.

    >>> ticks(15, 120)
    [20.0, 50.0, 100.0]
    >>> ticks(0.5, 2000)
    [1.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1000.0]
    """
    steps = (1, 2, 5) if high / low < 100 else (1, 3) if high / low < 10_000 else (1,)
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    found = [float(f"{step}e{decade}") for decade in decades for step in steps]
    return [value for value in found if low <= value <= high]


def by_size(result: dict[str, Any]) -> Spec:
    """Lines, one for each step, against the size of the text and of the vocabulary."""
    whole = {"bytes": result["bytes"], "vocab_size": result["vocab_size"]}
    points = [whole | run for run in result["steps"]] + result["sweep"]
    points = [point for point in points if not point["timed_out"]]
    panels = []
    for field, other, label, expression in (
        ("bytes", "vocab_size", "size of the text", _BYTES),
        ("vocab_size", "bytes", "size of the vocabulary", _COUNT),
    ):
        shown = [point for point in points if point[other] == whole[other]]
        values = sorted({point[field] for point in shown})
        panels.append(_lines(shown, field, label, expression, values))
    return {
        "title": title(result, "Time against the size of the text, and of the vocabulary"),
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
                "title": "processor time",
                "scale": {"type": "log", "domain": [low, high], "nice": False},
                "axis": {"labelExpr": _SECONDS, "values": ticks(low, high)},
            },
            "color": {
                "field": "name",
                "type": "nominal",
                "sort": order,
                "scale": {"domain": order, "range": _colours(len(order))},
                "legend": {"title": None, "labelLimit": 220, "symbolType": "stroke", "symbolStrokeWidth": 3},
            },
        },
    }


def _colours(count: int) -> list[str]:
    """From orange over green to blue as the steps rise; the core, which comes first, is grey."""
    stops = [tuple(int(colour[n : n + 2], 16) for n in (1, 3, 5)) for colour in (ORANGE, GREEN, BLUE)]
    made = [GREY]
    for nth in range(count - 1):
        at = 2 * nth / max(count - 2, 1)
        low = min(int(at), 1)
        mixed = [round(a + (b - a) * (at - low)) for a, b in zip(stops[low], stops[low + 1], strict=True)]
        made.append("#" + "".join(f"{part:02x}" for part in mixed))
    return made
