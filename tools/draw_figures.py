"""Draw every picture of the documentation: `make docs-figures`.

    .venv/bin/python tools/draw_figures.py [NAME ...] [--out DIRECTORY]

Pictures of times are drawn from benchmarks/records, so that the pages and their pictures show the same run.
All others are computed from the novel (`frankenstein`, or ../shared/corpora/frankenstein.txt if it is there)
with one thread, which gives the same picture every time. NAME selects pictures: studio, ladder, scale, speed,
char, embed; front, the chart of the README with the benchmark tables; or profile, the tables of
docs/profile.md. Takes about half a minute; studio needs Chromium.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from shutil import copyfile
from typing import Any

if __name__ == "__main__":  # as a script, Python looks for modules in this folder
    sys.path[0] = str(Path(__file__).resolve().parent.parent)

from merganser import charts, embed
from merganser.charts.spec import WIDTH, sized, titled
from merganser.embed.study import lists_for
from merganser.learn import speed_pictures
from merganser.reporting.embeddings import pictures
from merganser.reporting.embeddings.experiments import similarity, training

from benchmarks import front, profiles
from benchmarks.environment import REPOSITORY
from benchmarks.ladder import pages, run
from benchmarks.scale import picture

RECORDS = REPOSITORY / "benchmarks" / "records"


def novel() -> str:
    """Return the corpus of the computed pictures, as an argument of the command line."""
    copy = REPOSITORY.parent / "shared" / "corpora" / "frankenstein.txt"
    return f"frankenstein={copy}" if copy.exists() else "frankenstein"


def newest(pattern: str) -> Path:
    """Return the latest record: their names begin with a date."""
    return max(RECORDS.glob(pattern))


def read(path: Path) -> dict[str, Any]:
    record: dict[str, Any] = json.loads(path.read_text("utf-8"))
    return record


def studio(docs: Path) -> None:
    """Draw the pictures of the studio, studio.png and studio-dark.png."""
    command = [sys.executable, str(REPOSITORY / "tools" / "draw_studio.py"), str(docs / "studio.png")]
    subprocess.run(command, check=True)


def ladder(docs: Path) -> None:
    pages.draw(read(run.RECORD), docs / "learn")


def scale(docs: Path) -> None:
    picture.draw(newest("????-??-??-scale.json"), docs / "scale.svg")


def speed(docs: Path) -> None:
    record = read(newest("*-char.json"))
    corpus = f"{Path(record['corpus'].partition('=')[0]).stem}, {record['machine']['date']}"
    results = speed_pictures.optimization_results(corpus, record["merges"], record["sizes"], record["kinds"])
    charts.save(results, docs / "learn" / "tokenizer_optimization_results.svg")
    breakdown = speed_pictures.optimization_breakdown(corpus, record["breakdown"])
    charts.save(breakdown, docs / "learn" / "optimization_breakdown.svg")


def char(docs: Path) -> None:
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "merganser", "learn", "char", novel(), "--out", folder]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        for path in sorted(Path(folder).glob("char_*.svg")):
            copyfile(path, docs / "learn" / path.name)


def embeddings(docs: Path) -> None:
    """Draw the vectors of the novel, trained with the defaults and one thread, and the times of a record."""
    made = embed.train(novel(), settings=embed.EmbedSettings(threads=1))
    about = f"frankenstein, {made.tokenizer.vocab_size:,}-token tokenizer, {len(made):,} vectors"
    for name, section in (
        ("progress", training.progress(made)),
        ("similarities", similarity.histograms(made)),
        ("plane", similarity.planes(made, lists_for(made))[0]),
    ):
        assert section is not None and section.chart is not None
        chart = titled(sized(section.chart, WIDTH), section.title, f"{about}; 10 epochs, one thread")
        charts.save(chart, docs / "learn" / f"embed_{name}.svg")
    record = read(newest("*-embed-objectives.json"))
    about = (
        f"{record['corpus']}; rank of held-out neighbors, multiplications per batch; "
        f"measured {record['machine']['date']}, {record['machine']['cores']} cores"
    )
    chart = sized(pictures.objectives(record["objectives"]), WIDTH)
    chart = titled(chart, "Negative sampling and the full softmax", about)
    charts.save(chart, docs / "learn" / "embed_objectives.svg")


def profile(docs: Path) -> None:
    page = profiles.PAGE.read_text("utf-8")
    (docs / profiles.PAGE.name).write_text(profiles.filled(page), "utf-8")


def front_page(docs: Path) -> None:
    """Draw the chart of the first screen, and fill the pages that show benchmarks.

    The files are benchmarks-light.svg, benchmarks-dark.svg, benchmarks-light-narrow.svg and
    benchmarks-dark-narrow.svg.
    """
    front.draw(docs / "assets")
    if docs == REPOSITORY / "docs":
        front.main()


FIGURES: dict[str, Callable[[Path], None]] = {
    "front": front_page,
    "ladder": ladder,
    "scale": scale,
    "speed": speed,
    "char": char,
    "embed": embeddings,
    "profile": profile,
    "studio": studio,
}


def main() -> None:
    parser = argparse.ArgumentParser(description="Draw the pictures of the documentation.")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"{', '.join(FIGURES)}; default: all")
    parser.add_argument("--out", type=Path, default=REPOSITORY / "docs", help="default: docs")
    given = parser.parse_args()
    if unknown := set(given.names) - set(FIGURES):
        parser.error(f"unknown: {', '.join(sorted(unknown))}; choose from {', '.join(FIGURES)}")
    (given.out / "learn").mkdir(parents=True, exist_ok=True)
    for name in given.names or FIGURES:
        print(f"drawing {name}…", flush=True)
        FIGURES[name](given.out)


if __name__ == "__main__":
    main()
