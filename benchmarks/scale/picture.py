"""Draw the picture of docs/scale.md from a record: `python3 benchmarks/scale/picture.py RECORD.json`.

Four charts, each with one message, all with logarithmic axes and the same colors: counting is blue, merging
is orange; dashed lines are within the budget.
"""

from __future__ import annotations

import json
import math
import sys
from pathlib import Path
from typing import Any

if __name__ == "__main__":  # as a script, Python looks for modules in this folder
    sys.path[0] = str(Path(__file__).resolve().parent.parent.parent)

from benchmarks.environment import REPOSITORY, enter

TARGET = REPOSITORY / "docs" / "scale.svg"
WIDTH, HEIGHT = 330, 240
# The share of the height that a label of 12 units needs, so that labels do not overlap.
LABEL = 15 / HEIGHT

Point = dict[str, Any]


def draw(record: Path, *targets: Path) -> Path:
    """Draw the charts of a record, by default to the SVG file of the docs."""
    from merganser import charts

    targets = targets or (TARGET,)
    charts.save(specification(json.loads(record.read_text(encoding="utf-8"))), *targets)
    return targets[0]


def specification(record: dict[str, Any]) -> dict[str, Any]:
    """Return the specification of all four charts."""
    size = record["sections"]["size"]["records"]
    unique = record["sections"]["unique"]["records"]
    megabytes = round(unique[0]["bytes"] / 1e6, -1)
    cpu = record["machine"]["cpu"].split(" (")[0]
    rows = [
        [
            panel(size, "bytes", "seconds", "Time follows the text", "size of the text"),
            panel(size, "bytes", "memory", "Memory follows the pre-tokens, or keeps to its budget",
                  "size of the text"),
        ],
        [
            panel(unique, "unique", "seconds", f"{megabytes:g} MB of text: merging follows its pre-tokens",
                  "unique pre-tokens"),
            panel(unique, "unique", "memory", "… and so does memory, or it keeps to its budget",
                  "unique pre-tokens"),
        ],
    ]  # fmt: skip
    threads = record["settings"]["threads"]
    return {
        "title": {
            "text": "What training costs: counting the pre-tokens, and learning 32,000 tokens from them",
            "subtitle": f"Generated text, {threads} threads, {cpu}; both axes logarithmic",
            "fontSize": 17,
            "offset": 18,
        },
        "vconcat": [{"hconcat": row, "spacing": 30} for row in rows],
        "spacing": 28,
    }


def panel(records: list[dict[str, Any]], axis: str, figure: str, title: str, below: str) -> dict[str, Any]:
    """Return one chart: lines with points, labeled at their ends."""
    points = [point for one in records if (point := placed(one, axis, figure))]
    ends = labels(points, figure)
    xs = sorted({one[axis] for one in records})
    if axis == "bytes":
        x_axis: dict[str, Any] = {"values": [8e6, 32e6, 128e6, 512e6, 2e9, 4e9], "labelExpr": WITH_BYTES}
    else:
        x_axis = {"values": [1e5, 1e6, 3e6, 1e7, 3e7], "labelExpr": WITH_WORDS}
    y_axis = {"values": [0.01, 0.1, 1, 10, 100, 1000], "labelExpr": "datum.value + ' s'"}
    if figure == "memory":
        y_axis = {"values": [3e7, 1e8, 3e8, 1e9, 3e9, 1e10], "labelExpr": WITH_BYTES}
    low, high = bounds(points)
    x = {
        "field": "x",
        "type": "quantitative",
        "title": below,
        "scale": {"type": "log", "domain": [xs[0] * 0.9, xs[-1] * 1.1]},
        "axis": x_axis | {"grid": False},
    }
    y = {
        "field": "y",
        "type": "quantitative",
        "title": None,
        "scale": {"type": "log", "domain": [low, high]},
        "axis": y_axis,
    }
    colour = {"field": "colour", "type": "nominal", "scale": None}
    lines = {
        "data": {"values": points},
        "mark": {"type": "line", "point": {"filled": True, "size": 40}},
        "encoding": {
            "x": x,
            "y": y,
            "color": colour,
            "strokeDash": {"field": "dash", "type": "nominal", "scale": None},
            "detail": {"field": "name"},
            "tooltip": [{"field": "name"}, {"field": "x"}, {"field": "y"}],
        },
    }
    names = {
        "data": {"values": ends},
        "mark": {"type": "text", "align": "left", "baseline": "middle", "dx": 8, "fontWeight": "bold"},
        "encoding": {"x": x, "y": y, "color": colour, "text": {"field": "name"}},
    }
    subtitle = "peak memory of the process" if figure == "memory" else "wall clock"
    return {
        "title": {"text": title, "subtitle": subtitle},
        "width": WIDTH,
        "height": HEIGHT,
        "layer": [lines, names],
    }


WITH_BYTES = (
    "datum.value >= 1e9 ? format(datum.value / 1e9, '~g') + ' GB' : format(datum.value / 1e6, '~g') + ' MB'"
)
WITH_WORDS = "datum.value >= 1e6 ? format(datum.value / 1e6, '~g') + ' M' : format(datum.value, ',')"


def placed(one: dict[str, Any], axis: str, figure: str) -> Point | None:
    """Convert a record to a point, or return None if the figure is not in this chart."""
    from merganser.charts.theme import BLUE, ORANGE

    stage = {"count": "counting", "merge": "merging"}[one["stage"]]
    within = one["memory"] is not None
    return {
        "x": one[axis],
        "y": one["seconds"] if figure == "seconds" else one["peak_mb"] * 1e6,
        "name": f"{stage} in {one['memory'].replace('MB', ' MB')}" if within else stage,
        "colour": BLUE if stage == "counting" else ORANGE,
        # Without a scale, Vega-Lite takes the dash pattern itself.
        "dash": [5, 4] if within else [1, 0],
    }


def bounds(points: list[Point]) -> tuple[float, float]:
    """Return the limits of the axis: slightly below the lowest point and slightly above the highest."""
    ys = [point["y"] for point in points]
    return min(ys) / 1.4, max(ys) * 1.4


def labels(points: list[Point], figure: str) -> list[Point]:
    """Return the last point of every line, moved apart where labels would overlap."""
    last = {point["name"]: point for point in sorted(points, key=lambda point: point["x"])}
    low, high = bounds(points)
    span = math.log(high / low)
    ends = sorted(last.values(), key=lambda point: point["y"])
    heights = spread([math.log(point["y"] / low) / span for point in ends], LABEL)
    return [point | {"y": low * math.exp(height * span)} for point, height in zip(ends, heights, strict=True)]


def spread(heights: list[float], gap: float) -> list[float]:
    """Move ascending numbers as little as possible, so that they are at least `gap` apart.

    >>> spread([0.1, 0.5, 0.5], 0.2)
    [0.1, 0.4, 0.6]
    """
    groups: list[list[float]] = []  # touching labels: sum of positions wanted for the first, count
    for n, height in enumerate(heights):
        groups.append([height - n * gap, 1])
        while len(groups) > 1 and groups[-2][0] / groups[-2][1] > groups[-1][0] / groups[-1][1]:
            wishes, count = groups.pop()
            groups[-1][0] += wishes
            groups[-1][1] += count
    first = [wishes / count for wishes, count in groups for _ in range(int(count))]
    return [round(start + n * gap, 9) for n, start in enumerate(first)]


if __name__ == "__main__":
    enter()
    if len(sys.argv) < 2:
        raise SystemExit(f"usage: {sys.argv[0]} RECORD.json [TARGET…]")
    print(draw(*map(Path, sys.argv[1:])))
