"""Fill in the benchmark chart and tables of README.md, docs/index.md and docs/benchmarks.md.

    python3 benchmarks/front.py [--check]

Everything comes from the newest records. `make docs-figures` does the same and draws the chart,
docs/assets/benchmarks-*.svg, for light and dark pages, wide and narrow. `--check` only says whether a page
is out of date. Parts between `<!-- benchmark: NAME -->` and `<!-- end -->` are replaced: the chart with its
caption, or a table of a record, word for word.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any, NamedTuple

if __name__ == "__main__":  # as a script, Python looks for modules in this folder
    sys.path[0] = str(Path(__file__).resolve().parent.parent)

from benchmarks.environment import REPOSITORY
from benchmarks.report import replace

RECORDS = REPOSITORY / "benchmarks" / "records"
PAGES = tuple(REPOSITORY / name for name in ("README.md", "docs/index.md", "docs/benchmarks.md"))
PART = re.compile(r"(<!-- benchmark: (\S+) -->\n).*?(<!-- end -->)", re.DOTALL)
#: The tables: the kind of the record, and the title of its section.
TABLES = {
    "training-mixed": ("mixed", "Training: file → vocabulary"),
    "training-1gb": ("1GB", "Training: file → vocabulary"),
    "threads": ("mixed", "Training by number of threads"),
    "stages": ("mixed", "Time by stage"),
    "patterns": ("mixed", "Split and count by pattern"),
    "counts": ("zipf10m", "Training from counts"),
    "flat": ("encode", "Batch of documents to flat arrays, 1 thread"),
    "lists": ("encode", "Batch of documents to lists, 2 threads"),
    "custom": ("encode-patterns", "A pattern of one's own to flat arrays, 1 thread"),
    "strings": ("encode", "Single short strings, ordinary"),
    "decoding": ("encode", "Decoding"),
    "disk": ("encode", "File → ids on disk"),
}
#: The section of the encoding chart: lists are what every library returns.
ENCODING = "Batch of documents to lists, 2 threads"
NAMES = {"hf_tokenizers": "HF tokenizers"}
#: Extrapolated from a small part of the text, so not a bar.
LEFT_OUT = {"naive_python"}


class Bar(NamedTuple):
    """A library with its figure: seconds to train, or MB/s to encode on the first text and on later texts."""

    name: str
    figure: float
    later: float = 0.0


def newest(kind: str) -> Path:
    """Return the newest record of a kind; names begin with the date."""
    return max(RECORDS.glob(f"????-??-??-{kind}.json"))


def read(kind: str) -> dict[str, Any]:
    record: dict[str, Any] = json.loads(newest(kind).read_text("utf-8"))
    return record


def training() -> list[Bar]:
    """Return the seconds of every trainer, the fastest first."""
    rows = read("mixed")["sections"]["training"]["records"]
    bars = [Bar(_name(row["label"]), row["seconds"]) for row in rows if row["label"] not in LEFT_OUT]
    return sorted(bars, key=lambda bar: bar.figure)


def encoding() -> list[Bar]:
    """Return the MB/s of every encoder on English, the fastest first."""
    rows = read("encode")["sections"][ENCODING]["records"]
    bars = [
        Bar(_name(row["peer"]), row["MB/s"]["cold"], row["MB/s"]["held-out"])
        for row in rows
        if row["case"] == "English" and row["peer"] not in LEFT_OUT
    ]
    return sorted(bars, key=lambda bar: -bar.figure)


def specification(layout: str = "hconcat") -> dict[str, Any]:
    """Return the chart: seconds to train, and MB/s of encoding beside it, or below it (`vconcat`)."""
    trained = [
        {"name": bar.name, "figure": bar.figure, "label": f"{_figure(bar.figure)} s"} for bar in training()
    ]
    encoded = [
        {
            "name": bar.name,
            "figure": bar.figure,
            "later": bar.later,
            "end": max(bar.figure, bar.later),
            "label": f"{_speed(bar.figure)} → {_speed(bar.later)}",
        }
        for bar in encoding()
    ]
    return {
        layout: [
            _panel(trained, "figure", "Training", f"seconds: {_size()} (shorter is better)"),
            _panel(encoded, "end", "Encoding", "MB/s: first text → further text (longer is better)"),
        ],
        "spacing": 36,
        "resolve": {"scale": {"y": "independent"}},
    }


def _panel(rows: list[dict[str, Any]], end: str, title: str, subtitle: str) -> dict[str, Any]:
    """Return one bar chart; our own bar is the colored one."""
    from merganser.charts.theme import BLUE, GRAY

    y = {
        "field": "name",
        "type": "nominal",
        "sort": None,
        "title": None,
        "axis": {"domain": False, "ticks": False, "labelFontSize": 13, "labelPadding": 8},
    }
    ours = {"condition": {"test": "datum.name == 'merganser'", "value": BLUE}, "value": GRAY}
    highest = max(row[end] for row in rows)

    def x(field: str) -> dict[str, Any]:
        # Room for the label of the longest bar.
        scale = {"domain": [0, highest * 1.32], "nice": False}
        return {"field": field, "type": "quantitative", "axis": None, "scale": scale}

    bar = {"type": "bar", "height": {"band": 0.62}, "cornerRadiusEnd": 2}
    layers: list[dict[str, Any]] = [
        {"mark": bar, "encoding": {"x": x("figure"), "y": y, "color": ours}},
        {
            "mark": {"type": "text", "align": "left", "dx": 6, "fontSize": 13},
            "encoding": {"x": x(end), "y": y, "text": {"field": "label"}},
        },
    ]
    if end != "figure":
        later = {"mark": {**bar, "opacity": 0.4}, "encoding": {"x": x("later"), "y": y, "color": ours}}
        layers.insert(0, later)
    return {
        "title": {"text": title, "subtitle": subtitle, "fontSize": 16, "offset": 10},
        "data": {"values": rows},
        "width": 300,
        "height": {"step": 25},
        "layer": layers,
    }


def draw(folder: Path) -> None:
    """Draw the chart for light and for dark pages, and for phones, which would shrink the wide one."""
    from merganser import charts
    from merganser.charts.theme import for_dark_page, schemes

    folder.mkdir(parents=True, exist_ok=True)
    for layout, suffix in (("hconcat", ""), ("vconcat", "-narrow")):
        spec = specification(layout)
        for name, config in schemes().items():
            drawn = spec if name == "light" else for_dark_page(spec)
            charts.save({**drawn, "config": config}, folder / f"benchmarks-{name}{suffix}.svg")


def described() -> str:
    """Describe the chart in words, for readers who do not see it."""
    trained = ", ".join(f"{bar.name} {_figure(bar.figure)} s" for bar in training())
    encoded = ", ".join(f"{bar.name} {_speed(bar.figure)}" for bar in encoding())
    return f"Training, {_size()}: {trained}. Encoding English, MB/s: {encoded}."


def caption(benchmarks: str) -> str:
    """Say what the chart shows, when it was measured, and on which machine."""
    mixed, encode = read("mixed"), read("encode")
    trained, encoded = training(), encoding()
    ours, theirs = trained[0], trained[1]
    by_speed = {bar.name: bar.later for bar in encoded}
    mine = by_speed.pop("merganser")
    best = max(by_speed, key=lambda name: by_speed[name])
    cpu = mixed["machine"]["cpu"].partition(" (")[0]
    dates = " and ".join(sorted({record["machine"]["date"].split()[0] for record in (mixed, encode)}))
    return (
        f"Training is {theirs.figure / ours.figure:.1f} times as fast as with the next trainer, "
        f"{theirs.name}. Encoding English with cl100k_base is {mine / by_speed[best]:.1f} times as fast "
        f"as with the next encoder, {best}, and {mine / by_speed['tiktoken']:.0f} times as fast as with "
        f"tiktoken. Two threads on two cores of an {cpu}, {dates}. Before anything was timed, all trainers "
        f"gave the same merges, and all encoders the same ids: [all tables]({benchmarks})."
    )


def for_readme() -> str:
    return "\n".join(
        [
            "<picture>",
            '  <source media="(prefers-color-scheme: dark)" srcset="docs/assets/benchmarks-dark.svg">',
            f'  <img alt="{described()}" src="docs/assets/benchmarks-light.svg">',
            "</picture>",
            "",
            _wrapped(caption("docs/benchmarks.md")),
            "",
        ]
    )


def for_site() -> str:
    return "\n".join(
        [
            *(_for_scheme(scheme) for scheme in ("light", "dark")),
            "",
            _wrapped(caption("benchmarks.md")),
            "",
        ]
    )


def _for_scheme(scheme: str) -> str:
    """Return the chart of the site for a color scheme; the theme hides the one of the other scheme."""
    return "\n".join(
        [
            "<picture>",
            f'  <source media="(max-width: 44.9em)" srcset="assets/benchmarks-{scheme}-narrow.svg">',
            f'  <img alt="{described()}" src="assets/benchmarks-{scheme}.svg#only-{scheme}">',
            "</picture>",
        ]
    )


def table(name: str) -> str:
    """Return a table of the newest record, with its note and a link to the record."""
    kind, title = TABLES[name]
    record = newest(kind).with_suffix(".md")
    found = re.search(
        rf"^## {re.escape(title)}\n\n(.*?)(?=^## |\Z)", record.read_text("utf-8"), re.MULTILINE | re.DOTALL
    )
    if found is None:
        raise SystemExit(f"{record.name} has no section {title!r}; change TABLES in benchmarks/front.py")
    link = f"[{record.stem}](../benchmarks/records/{record.name})"
    return f"\n{found[1].strip()}\n\nRecord: {link}.\n\n"


def filled(page: str) -> str:
    """Return a page with the figures of the newest records."""

    def part(match: re.Match[str]) -> str:
        begin, name, end = match.groups()
        build = {"readme": for_readme, "site": for_site}.get(name)
        return f"{begin}{build() if build else table(name)}{end}"

    return PART.sub(part, page)


def _size() -> str:
    settings = read("mixed")["settings"]
    return f"{settings['bytes'] / 1e6:.0f} MB of text to {settings['vocab_size']:,} tokens"


def _name(label: str) -> str:
    return NAMES.get(label, label)


def _figure(value: float) -> str:
    """Format seconds with three digits.

    >>> _figure(1.318), _figure(56.24), _figure(243.07)
    ('1.32', '56.2', '243')
    """
    return f"{value:.3g}" if value < 100 else f"{value:,.0f}"


def _speed(value: float) -> str:
    return f"{value:,.0f}" if value >= 10 else f"{value:.1f}"


def _wrapped(text: str, width: int = 120) -> str:
    from textwrap import fill

    return fill(text, width, break_long_words=False, break_on_hyphens=False)


def main() -> None:
    for page in PAGES:
        text = page.read_text("utf-8")
        if "--check" not in sys.argv:
            replace(page, filled(text))
        elif filled(text) != text:
            raise SystemExit(f"{page.name} is out of date: make docs-figures")


if __name__ == "__main__":
    main()
