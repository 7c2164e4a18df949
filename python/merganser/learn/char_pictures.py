"""Charts of the character-level tokenizer, as Vega-Lite."""

from typing import Any

from merganser.charts import drawable
from merganser.charts.spec import halo
from merganser.charts.theme import BLUE, ORANGE, PALE

Spec = dict[str, Any]
Row = dict[str, Any]


def tokens_per_word(corpus: str, curve: list[Row], tried: list[Row]) -> Spec:
    """Average tokens per word by number of merges, with the measured numbers marked."""
    last = max(row["merges"] for row in curve)
    x = {
        "field": "merges",
        "type": "quantitative",
        "title": "merges",
        "scale": {"domain": [0, last], "nice": False},
        "axis": {"grid": False, "format": ",d", "tickCount": 6},
    }
    y = {
        "field": "tokens_per_word",
        "type": "quantitative",
        "title": "tokens per word",
        "scale": {"domain": [0, 1.08 * max(row["tokens_per_word"] for row in curve)], "nice": False},
        "axis": {"tickCount": 6},
    }
    marks = [{**row, "label": f"{row['merges']:,}: {row['tokens_per_word']:.2f}"} for row in tried]
    labels: list[Row] = []
    for mark in reversed(marks):  # skip labels that would overlap
        if not labels or labels[-1]["merges"] - mark["merges"] > 0.09 * marks[-1]["merges"]:
            labels.append(mark)
    return {
        "title": {
            "text": "The first merges shorten the text most",
            "subtitle": f"{drawable(corpus)}: average tokens per word, including </w>",
        },
        "width": 620,
        "height": 300,
        "encoding": {"x": x, "y": y},
        "layer": [
            {"data": {"values": curve}, "mark": {"type": "line", "color": BLUE}},
            {
                "data": {"values": marks},
                "mark": {"type": "point", "filled": True, "opacity": 1, "size": 70, "color": ORANGE},
            },
            *halo(
                {
                    "data": {"values": labels},
                    "mark": {
                        "type": "text",
                        "dy": -14,
                        "dx": {"expr": f"datum.merges > {0.8 * last} ? 0 : 4"},
                        "align": {"expr": f"datum.merges > {0.8 * last} ? 'right' : 'left'"},
                        "fontWeight": "bold",
                        "color": ORANGE,
                    },
                    "encoding": {"text": {"field": "label"}},
                }
            ),
        ],
    }


def token_lengths(corpus: str, merges: int, lengths: list[Row]) -> Spec:
    """Token lengths in characters, in the vocabulary and in the text."""
    rows = [
        {"characters": row["characters"], "of": label, "share": row[key], "label": f"{row[key]:.0%}"}
        for row in lengths
        for label, key in (("vocabulary", "vocabulary_share"), ("text", "text_share"))
    ]
    order = ["vocabulary", "text"]
    x = {"field": "characters", "type": "nominal", "title": "characters per token, without </w>"}
    offset = {"field": "of", "sort": order}
    y = {
        "field": "share",
        "type": "quantitative",
        "title": "share of tokens",
        "axis": {"format": "%", "grid": False},
    }
    return {
        "title": {
            "text": "The vocabulary has long tokens, the text short ones",
            "subtitle": f"{drawable(corpus)}, {merges:,} merges; tokens that are only </w> are left out",
        },
        "width": 460,
        "height": 280,
        "data": {"values": rows},
        "encoding": {"x": x | {"axis": {"labelAngle": 0}}, "xOffset": offset, "y": y},
        "layer": [
            {
                "mark": "bar",
                "encoding": {
                    "color": {
                        "field": "of",
                        "title": None,
                        "scale": {"domain": order, "range": [PALE, BLUE]},
                        "legend": {"orient": "top"},
                    }
                },
            },
            {"mark": {"type": "text", "dy": -7}, "encoding": {"text": {"field": "label"}}},
        ],
    }


def frequent_subwords(corpus: str, merges: int, subwords: list[Row]) -> Spec:
    """The most frequent learned subwords, without single characters."""
    rows = [{"token": drawable(row["token"]), "count": row["count"]} for row in subwords]
    return {
        "title": {
            "text": f"The {len(rows)} most frequent learned subwords",
            "subtitle": f"{drawable(corpus)}, {merges:,} merges; </w> is the end of a word",
        },
        "width": 460,
        "height": {"step": 18},
        "data": {"values": rows},
        "encoding": {
            "y": {
                "field": "token",
                "type": "nominal",
                "sort": None,
                "title": None,
                "axis": {"labelLimit": 400},
            },
            "x": {
                "field": "count",
                "type": "quantitative",
                "title": "occurrences in the text",
                "scale": {"domain": [0, 1.15 * max(row["count"] for row in rows)], "nice": False},
                "axis": {"format": ",d", "tickCount": 5, "grid": False},
            },
        },
        "layer": [
            {"mark": {"type": "bar", "color": BLUE}},
            {
                "mark": {"type": "text", "align": "left", "dx": 4},
                "encoding": {"text": {"field": "count", "format": ","}},
            },
        ],
    }
