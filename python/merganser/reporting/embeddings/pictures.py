"""The charts of a report on embeddings, as Vega-Lite, without a width."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from merganser.charts import drawable
from merganser.charts.spec import halo, stacked
from merganser.charts.theme import BLUE, GRAY, GREEN, OCHRE, ORANGE, PALE, PURPLE, RAMP, RED
from merganser.embed.projection import fitted
from merganser.reporting.embeddings import labels

if TYPE_CHECKING:
    from numpy.typing import NDArray

Spec = dict[str, Any]
Row = Mapping[str, Any]

_LEGEND = {"orient": "top", "direction": "horizontal", "title": None}
#: The size for which the labels of the t-SNE plane are placed; a wider chart spreads them further apart.
PLANE = (590.0, 560.0)
#: In the titles of charts whose differences would be invisible otherwise.
_NOT_ZERO = "axis does not start at 0"
#: The colors of the groups of words.
_COLORS = [BLUE, ORANGE, GREEN, RED, PURPLE, OCHRE, GRAY]


def similarities(before: Row, after: Row) -> Spec:
    """Overlaid histograms of the cosines of all pairs, before and after training."""
    values = []
    for name, counts in (("before training", before), ("after training", after)):
        total = max(sum(counts["pairs"]), 1)
        step = (counts["to"] - counts["from"]) / len(counts["pairs"])
        for nth, count in enumerate(counts["pairs"]):
            start = counts["from"] + nth * step
            if not count:
                continue
            values.append({"when": name, "from": start, "to": start + step, "share": count / total})
    order = ["before training", "after training"]
    lowest = min((value["from"] for value in values if value["share"] > 1e-4), default=0.0)
    return {
        "data": {"values": values},
        "height": 260,
        "mark": {"type": "rect", "opacity": 0.6, "tooltip": True, "clip": True},
        "encoding": {
            "x": {
                "field": "from",
                "type": "quantitative",
                "scale": {"domain": [np.floor(lowest * 10) / 10, 1], "nice": False},
                "axis": {"tickCount": 8, "format": ".1f", "grid": False},
                "title": "cosine of two token vectors",
            },
            "x2": {"field": "to"},
            "y": {
                "field": "share",
                "type": "quantitative",
                "stack": None,
                "title": "share of pairs",
                "axis": {"format": "%", "tickCount": 6},
            },
            "y2": {"datum": 0},
            "color": {
                "field": "when",
                "type": "nominal",
                "scale": {"domain": order, "range": [GRAY, BLUE]},
                "legend": _LEGEND,
            },
        },
    }


def heat_map(words: Sequence[str], cosines: "NDArray[np.float64]") -> Spec:
    """The cosine of every pair of words, with similar words adjacent.

    The colors span the pairs of different words; the diagonal, 1, has the color of the most similar ones.
    """
    order = clustered(cosines)
    names = [drawable(words[nth]) for nth in order]
    values = [
        {"word": names[a], "other": names[b], "cosine": round(float(cosines[order[a], order[b]]), 4)}
        for a in range(len(order))
        for b in range(len(order))
    ]
    off_diagonal = cosines[~np.eye(len(cosines), dtype=bool)]
    # Not with a list in "sort": Vega would evaluate a word such as `if` as a signal.
    in_order = {"type": "nominal", "scale": {"domain": names}, "sort": None}
    axis = {"title": None, "labelLimit": 120, "ticks": False, "domain": False, "grid": False}
    return {
        "usermeta": {"minWidth": 110 + 13 * len(names)},
        "data": {"values": values},
        "height": {"step": 15},
        "mark": {"type": "rect", "tooltip": True},
        "encoding": {
            "x": {"field": "other", **in_order, "axis": {**axis, "labelAngle": -60}},
            "y": {"field": "word", **in_order, "axis": axis},
            "color": {
                "field": "cosine",
                "type": "quantitative",
                "scale": {
                    "domain": [
                        float(np.quantile(off_diagonal, 0.02)),
                        float(np.quantile(off_diagonal, 0.99)),
                    ],
                    "clamp": True,
                    "range": list(RAMP),
                },
                "legend": {"title": "cosine", "orient": "top", "gradientLength": 220},
            },
        },
    }


def clustered(cosines: "NDArray[np.float64]") -> list[int]:
    """Order words by average linkage: join the two most similar clusters until one is left.

    Of the four ways to concatenate two clusters, choose the one whose adjacent ends are most similar.
    """
    clusters = [[nth] for nth in range(len(cosines))]
    while len(clusters) > 1:
        best = max(
            ((a, b) for a in range(len(clusters)) for b in range(a)),
            key=lambda pair: float(cosines[np.ix_(clusters[pair[0]], clusters[pair[1]])].mean()),
        )
        one, other = clusters.pop(best[0]), clusters.pop(best[1])
        orders = [(x, y) for x in (one, one[::-1]) for y in (other, other[::-1])]
        left, right = max(orders, key=lambda order: float(cosines[order[0][-1], order[1][0]]))
        clusters.append(left + right)
    return clusters[0]


def plane(
    points: "NDArray[np.float64]",
    words: Sequence[str],
    *,
    groups: Sequence[str | None],
    frequencies: Sequence[int],
    by_group: bool,
    labeled: Sequence[int],
) -> Spec:
    """Tokens in the plane, colored by group or frequency. `labeled` are the indices of those that may have
    labels, the most important first."""
    positions = fitted(points, PLANE)
    placed = labels.place(
        [(float(positions[nth, 0]), float(positions[nth, 1])) for nth in labeled],
        [drawable(words[nth]) for nth in labeled],
        size=PLANE,
    )
    named = {labeled[label.point] for label in placed}
    names = list(dict.fromkeys(group for group in groups if group is not None))
    values = [
        {
            "x": float(positions[nth, 0]),
            "y": float(positions[nth, 1]),
            "word": drawable(words[nth]),
            "group": groups[nth] or "other",
            "count": int(frequencies[nth]),
            "named": nth in named,
        }
        for nth in range(len(words))
    ]
    texts = [
        {
            "x": label.x,
            "y": label.y,
            "word": label.text,
            "group": groups[labeled[label.point]] or "other",
            "from_x": float(positions[labeled[label.point], 0]),
            "from_y": float(positions[labeled[label.point], 1]),
        }
        for label in placed
    ]
    x = {
        "field": "x",
        "type": "quantitative",
        "axis": None,
        "scale": {"domain": [0, PLANE[0]], "nice": False},
    }
    y = {
        "field": "y",
        "type": "quantitative",
        "axis": None,
        "scale": {"domain": [PLANE[1], 0], "nice": False},
    }
    scale = {"domain": [*names, "other"], "range": [*_COLORS[: len(names)], PALE]}
    if by_group:
        color: Spec = {"field": "group", "type": "nominal", "scale": scale, "legend": _LEGEND}
    else:
        color = {
            "field": "count",
            "type": "quantitative",
            "scale": {"type": "log", "range": list(RAMP[1:])},
            "legend": {"orient": "top", "title": "count", "format": "~s", "gradientLength": 220},
        }
    text_color: Spec = {"condition": {"test": "datum.group === 'other'", "value": GRAY}}
    text_color |= {"field": "group", "type": "nominal", "scale": scale, "legend": None} if by_group else {}
    points_layer = {
        "data": {"values": values},
        "mark": {"type": "circle", "opacity": 0.75},
        "encoding": {
            "color": color,
            "size": {
                "condition": {"test": "datum.group === 'other'", "value": 12},
                "value": 55 if by_group else 12,
            },
            "tooltip": [{"field": name} for name in ("word", "group", "count")],
        },
    }
    # From each label to its point: where words are dense, nothing else says which point a label belongs to.
    leaders = {
        "data": {"values": texts},
        "mark": {"type": "rule", "color": GRAY, "opacity": 0.6, "strokeWidth": 0.8},
        "encoding": {"x2": {"field": "from_x"}, "y2": {"field": "from_y"}},
    }
    named_points = {
        "data": {"values": [value for value in values if value["named"] and value["group"] == "other"]},
        "mark": {"type": "circle", "color": GRAY, "opacity": 1, "size": 16},
    }
    text_layer: Spec = {
        "data": {"values": texts},
        "mark": {"type": "text", "fontSize": 11},
        "encoding": {"text": {"field": "word"}},
    }
    if by_group:
        text_layer["encoding"]["color"] = text_color
    dots = [points_layer, named_points] if by_group else [points_layer]
    return {
        "usermeta": {"minWidth": PLANE[0]},
        "height": PLANE[1],
        "encoding": {"x": x, "y": y},
        "layer": [*dots, leaders, *halo(text_layer)],
        "resolve": {"scale": {"color": "shared"}},
    }


def progress(rows: Sequence[Row]) -> Spec:
    """Loss and mean similarity by epoch, one panel each, from zero."""
    epochs = [row["epoch"] for row in rows]
    x = {
        "field": "epoch",
        "type": "quantitative",
        "title": "epoch",
        "scale": {"zero": False, "nice": False},
        "axis": {"values": epochs[:: len(epochs) // 12 + 1], "format": "d", "grid": False},
    }

    def panel(field: str, title: str) -> Spec:
        figures = [row[field] for row in rows if row[field] is not None]
        domain = [min(0, *figures, 0), 1.2 * max(*figures, 0) or 1]
        ends = {"filter": f"datum.epoch === {epochs[0]} || datum.epoch === {epochs[-1]}"}
        text = {
            "transform": [ends],
            "mark": {
                "type": "text",
                "align": {"expr": f"datum.epoch === {epochs[0]} ? 'left' : 'right'"},
                "dx": {"expr": f"datum.epoch === {epochs[0]} ? 6 : 0"},
                "dy": -11,
            },
            "encoding": {"text": {"field": field, "type": "quantitative", "format": ".3f"}},
        }
        return {
            "title": {"text": title, "fontSize": 12, "fontWeight": "normal", "frame": "group"},
            "data": {"values": list(rows)},
            "height": 150,
            "encoding": {
                "x": x,
                "y": {
                    "field": field,
                    "type": "quantitative",
                    "title": None,
                    "scale": {"domain": domain, "nice": False},
                    "axis": {"tickCount": 5},
                },
            },
            "layer": [
                {"mark": {"type": "line", "point": True, "tooltip": True, "color": BLUE}},
                *halo(text),
            ],
        }

    return stacked(panel("loss", "mean loss per pair"), panel("mean_similarity", "mean cosine of two tokens"))


def dimensions(rows: Sequence[Row]) -> Spec:
    """Quality by dimension: rank of held-out neighbors, cosine of synonyms, and margin between groups."""
    x = {
        "field": "dimension",
        "type": "quantitative",
        "scale": {"type": "log", "nice": False, "padding": 12},
        "axis": {"values": [row["dimension"] for row in rows], "format": "d", "grid": False},
        "title": "dimension",
    }

    def panel(title: str, hint: str, lines: Mapping[str, str], format: str) -> Spec:
        values = [
            {
                "dimension": row["dimension"],
                "of": name,
                "value": row[field],
                "least": row[f"{field}_least"],
                "most": row[f"{field}_most"],
            }
            for field, name in lines.items()
            for row in rows
        ]
        y = {
            "type": "quantitative",
            "title": None,
            "scale": {"zero": False, "padding": 10},
            "axis": {"format": format, "tickCount": 5},
        }
        color: Spec = {
            "field": "of",
            "type": "nominal",
            "scale": {"domain": list(lines.values()), "range": [BLUE, GRAY][: len(lines)]},
            "legend": _LEGEND if len(lines) > 1 else None,
        }
        return {
            # Two lines, because one would be cut off at the width of a phone.
            "title": {
                "text": title,
                "subtitle": f"{hint}; {_NOT_ZERO}",
                "fontSize": 12,
                "subtitleFontSize": 11,
                "fontWeight": "normal",
                "frame": "group",
            },
            "data": {"values": values},
            "height": 150,
            "encoding": {"x": x, "color": color},
            "layer": [
                {
                    "mark": {"type": "line", "point": True, "tooltip": True},
                    "encoding": {"y": {**y, "field": "value"}},
                },
                {
                    "mark": {"type": "rule", "opacity": 0.5},
                    "encoding": {"y": {**y, "field": "least"}, "y2": {"field": "most"}},
                },
            ],
        }

    drawn = [panel("mean rank of held-out neighbors", "lower is better", {"rank": "rank"}, ".2%")]
    if all(row["synonyms"] is not None for row in rows):
        lines = {"synonyms": "synonyms", "words": "all pairs of words"}
        drawn.append(panel("mean cosine", "synonyms should be higher", lines, ".2f"))
    if all(row["margin"] is not None for row in rows):
        drawn.append(panel("margin between word groups", "higher is better", {"margin": "margin"}, ".3f"))
    return stacked(*drawn)


def objectives(rows: Sequence[Row]) -> Spec:
    """Time of each objective, labeled with quality and multiplications per batch."""
    longest = max(row["seconds_per_epoch"] for row in rows)
    values = [
        {
            **row,
            "label": f"{row['rank']:.1%}, {row['operations_per_batch'] / 1e6:,.1f} M",
            "left": row["seconds_per_epoch"] > longest / 4,  # put the label on the side with space
        }
        for row in rows
    ]
    x = {
        "field": "seconds_per_epoch",
        "type": "quantitative",
        "title": "seconds per epoch",
        "scale": {"type": "log", "nice": True},
        "axis": {"tickCount": 5, "format": "~g", "grid": False},
    }
    order = [row["objective"] for row in rows]
    y = {"field": "objective", "type": "nominal", "sort": order, "title": None, "axis": {"grid": False}}

    def texts(left: bool) -> Spec:
        return {
            "transform": [{"filter": f"datum.left === {str(left).lower()}"}],
            "mark": {"type": "text", "align": "right" if left else "left", "dx": -9 if left else 9},
            "encoding": {"text": {"field": "label"}},
        }

    dots = {"type": "point", "filled": True, "opacity": 1, "size": 90, "color": BLUE, "tooltip": True}
    return {
        "data": {"values": values},
        "height": {"step": 36},
        "encoding": {"x": x, "y": y},
        "layer": [{"mark": dots}, texts(False), texts(True)],
    }
