"""Charts of the ladder: time and memory of each step, and time by size of text and vocabulary."""

import math
from itertools import pairwise
from pathlib import Path
from typing import Any

from merganser import charts
from merganser.charts.spec import halo
from merganser.charts.theme import BLUE, GRAY, GREEN, ORANGE, PALE, PURPLE, RED

Spec = dict[str, Any]

#: The colors of the steps that gain most; all others are gray.
_HIGHLIGHTS = (ORANGE, RED, PURPLE, GREEN, BLUE)
_OTHER = "other steps"
#: Smaller speedups are not highlighted: they are within the spread of repeated runs.
_GAIN = 1.05

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


def title(result: dict[str, Any], text: str, note: str) -> Spec:
    corpus = charts.drawable(result["corpus"])
    lines = [
        f"{corpus}, {result['bytes'] / 1e6:,.1f} MB, {result['vocab_size']:,} tokens; "
        "each step in a separate process",
        note,
    ]
    return {"text": text, "subtitle": lines, "fontSize": 16, "offset": 14}


def highlighted(runs: list[dict[str, Any]]) -> list[str]:
    """Return the names of the steps with the largest speedups over the step before, in their order.

    >>> [time_of] = [lambda step, seconds: {"step": step, "name": f"step {step}", "cpu_seconds": seconds}]
    >>> highlighted([time_of("core", 0.1), time_of("1", 90.0), time_of("2", 30.0), time_of("3", 20.0)])
    ['step 2', 'step 3']
    """
    numbered = sorted((run for run in runs if run["step"].isdecimal()), key=lambda run: int(run["step"]))
    gains = {
        run["name"]: before["cpu_seconds"] / max(run["cpu_seconds"], 1e-9)
        for before, run in pairwise(numbered)
    }
    gained = (name for name, gain in gains.items() if gain >= _GAIN)
    largest = sorted(gained, key=lambda name: -gains[name])[: len(_HIGHLIGHTS)]
    return [run["name"] for run in numbered if run["name"] in largest]


def per_step(result: dict[str, Any]) -> Spec:
    """Two columns: CPU time on a log scale, with the speedup over the first step, and peak memory from zero.

    The steps that gain most have a color, all others are gray.
    """
    finished = [run for run in result["steps"] if not run["timed_out"]]
    order = [run["name"] for run in finished]
    numbered = [run for run in finished if run["step"].isdecimal()]
    first = min(numbered, key=lambda run: int(run["step"]), default=None)
    colors = dict(zip(highlighted(finished), _HIGHLIGHTS, strict=False))
    columns = []
    for field, label in (("cpu_seconds", "CPU time, log scale"), ("peak_bytes", "peak memory")):
        is_time = field == "cpu_seconds"
        figures = [
            {
                "name": run["name"],
                "value": run[field],
                "label": _label(field, run[field])
                + (
                    _factor(first["cpu_seconds"] / run[field]) if is_time and first not in (None, run) else ""
                ),
                "color": colors.get(run["name"], PALE),
                "text_color": colors.get(run["name"], GRAY),
            }
            for run in finished
        ]
        values = [figure["value"] for figure in figures]
        y = {
            "field": "name",
            "type": "nominal",
            "sort": None,
            "scale": {"domain": order},
            "title": None,
            "axis": {
                "labelLimit": 220,
                "ticks": False,
                "domain": not is_time,
                "labels": is_time,
                "grid": is_time,
            },
        }
        low = min(values) / 1.3
        high = max(values) * (max(values) / low) ** 0.5  # a third of the width, for the longest label
        x: Spec = {"field": "value", "type": "quantitative", "title": label}
        if is_time:
            x["scale"] = {"type": "log", "domain": [low, high], "nice": False}
            x["axis"] = {"labelExpr": _SECONDS, "values": ticks(low, max(values) * 1.3), "grid": False}
        else:
            x["scale"] = {"domain": [0, 1.25 * max(values)], "nice": False}
            x["axis"] = {"labelExpr": _BYTES, "tickCount": 3, "grid": False}
        base = {"x": x, "y": y, "color": {"field": "color", "type": "nominal", "scale": None}}
        # A bar needs a zero, which a log scale does not have.
        mark = {"type": "point", "filled": True, "size": 70, "opacity": 1} if is_time else {"type": "bar"}
        text: Spec = {
            "mark": {"type": "text", "align": "left", "baseline": "middle", "dx": 8 if is_time else 4},
            "encoding": base
            | {
                "text": {"field": "label"},
                "color": {"field": "text_color", "type": "nominal", "scale": None},
            },
        }
        columns.append(
            {
                "width": 340 if is_time else 260,
                "height": {"step": 22},
                "data": {"values": figures},
                "layer": [{"mark": mark, "encoding": base}, *(halo(text) if is_time else [text])],
            }
        )
    over = f"×: speedup over {first['name']}; " if first is not None and len(numbered) > 1 else ""
    note = f"{over}colors: the largest speedups over the step before" if colors else over.rstrip("; ")
    return {
        "title": title(result, "CPU time and memory of each step", note),
        "hconcat": columns,
        "spacing": 20,
    }


def _factor(factor: float) -> str:
    """Format a speedup for a label.

    >>> _factor(416.3), _factor(4.82), _factor(0.957)
    (' · 416×', ' · 4.8×', ' · 0.96×')
    """
    digits = 0 if factor >= 100 else 1 if factor >= 1.05 else 2
    return f" · {factor:,.{digits}f}×"


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
    chosen = highlighted([run for run in result["steps"] if not run["timed_out"]])
    panels = []
    for field, other, label, expression in (
        ("bytes", "vocab_size", "text size", _BYTES),
        ("vocab_size", "bytes", "vocabulary size", _COUNT),
    ):
        selected = [point for point in points if point[other] == whole[other]]
        values = sorted({point[field] for point in selected})
        panels.append(_lines(selected, field, label, expression, values, chosen))
    return {
        "title": title(
            result,
            "CPU time by text size and vocabulary size",
            "log scale; colors: the largest speedups over the step before",
        ),
        "hconcat": panels,
        "spacing": 30,
    }


def _lines(
    points: list[Spec], field: str, label: str, expression: str, values: list[int], chosen: list[str]
) -> Spec:
    core = next((point["name"] for point in points if point["step"] == "core"), None)
    named = [*chosen, *([core] if core else [])]
    figures = [
        {
            "x": point[field],
            "y": point["cpu_seconds"],
            "name": point["name"],
            "line": point["name"] if point["name"] in named else _OTHER,
        }
        for point in points
    ]
    shown = [*named, *([_OTHER] if any(figure["line"] == _OTHER for figure in figures) else [])]
    colors = [*_HIGHLIGHTS[: len(chosen)], *([GRAY] if core else []), PALE][: len(shown)]
    times = [figure["y"] for figure in figures]
    low, high = min(times) / 1.3, max(times) * 1.3
    encoding: Spec = {
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
        "detail": {"field": "name"},
        "color": {
            "field": "line",
            "type": "nominal",
            "sort": None,
            "scale": {"domain": shown, "range": colors},
            "legend": {"title": None, "labelLimit": 220, "symbolType": "stroke", "symbolStrokeWidth": 3},
        },
    }
    mark = {"type": "line", "point": {"filled": True, "size": 30}}
    layers = [
        {"transform": [{"filter": f"datum.line {sign} {_OTHER!r}"}], "mark": mark} for sign in ("==", "!=")
    ]
    return {
        "width": 330,
        "height": 300,
        "data": {"values": figures},
        "encoding": encoding,
        "layer": layers,  # the gray lines below the others
    }
