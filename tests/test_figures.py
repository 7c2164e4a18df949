"""The pictures and the examples of the documentation are those of the current code and records."""

import json
import re
import sys
from pathlib import Path

import processes
import pytest
from corpora import CORPORA
from examples import ROOT, blocks
from merganser import embed
from merganser.embed.evaluation import separation
from merganser.embed.study import lists_for

pytest.importorskip("vl_convert")
NOVEL = pytest.mark.skipif(
    not (CORPORA / "frankenstein.txt").exists(), reason="needs ../shared/corpora/frankenstein.txt"
)


def draw(out: Path, *names: str) -> list[Path]:
    command = [sys.executable, "-W", "error", "tools/draw_figures.py", *names, "--out", str(out)]
    done = processes.run(command, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    return [path.relative_to(out) for path in sorted(out.rglob("*.svg"))]


def texts(path: Path) -> list[str]:
    """Return the text of a picture: titles, labels and values."""
    return re.findall(r"<text[^>]*>([^<]*)</text>", path.read_text("utf-8"))


def assert_same(out: Path, drawn: list[Path], expected: int) -> None:
    assert len(drawn) == expected
    for path in drawn:
        assert texts(out / path) == texts(ROOT / "docs" / path), f"{path} is out of date: make docs-figures"


def test_pictures_of_times_are_those_of_the_records(tmp_path: Path) -> None:
    assert_same(tmp_path, draw(tmp_path, "ladder", "scale", "speed"), 6)


def test_the_benchmark_chart_is_that_of_the_newest_records(tmp_path: Path) -> None:
    assert_same(tmp_path, draw(tmp_path, "front"), 4)


def test_the_tables_of_profile_md_are_those_of_the_record(tmp_path: Path) -> None:
    draw(tmp_path, "profile")
    page = ROOT / "docs" / "profile.md"
    assert (tmp_path / "profile.md").read_text("utf-8") == page.read_text("utf-8"), "make docs-figures"
    record = json.loads(max((ROOT / "benchmarks" / "records").glob("*-profile.json")).read_text("utf-8"))
    commands = set(re.findall(r"record .*? -m (.*)", page.read_text("utf-8")))
    for profile in record["profiles"].values():
        command = profile["command"].replace(" --force", "")
        assert command in commands, f"{command} is not on the page; run benchmarks/profiles.py"
        for row in profile["rows"]:
            if row["code"]:
                file = ROOT / "python" / "merganser" / row["where"].partition(" (")[2].rstrip(")")
                assert row["code"] in file.read_text("utf-8"), f"{row} is gone; run benchmarks/profiles.py"


@NOVEL
def test_pictures_of_the_character_level_tokenizer_are_up_to_date(tmp_path: Path) -> None:
    assert_same(tmp_path, draw(tmp_path, "char"), 3)


@NOVEL
def test_pictures_of_embeddings_are_up_to_date(tmp_path: Path) -> None:
    """Other processors round differently, so values may differ a little, and words in the plane move."""
    drawn = draw(tmp_path, "embed")
    assert len(drawn) == 4
    for path in drawn:
        mine, theirs = texts(tmp_path / path), texts(ROOT / "docs" / path)
        assert mine[-2:] == theirs[-2:], "title and subtitle"
    values = [
        [
            float(text)
            for text in texts(root / "learn" / "embed_progress.svg")
            if re.fullmatch(r"\d\.\d{3}", text)
        ]
        for root in (tmp_path, ROOT / "docs")
    ]
    assert len(values[0]) == 8, "two values in each panel, each with a halo"
    assert values[0] == pytest.approx(values[1], abs=0.02)
    first, last = values[0][0], values[0][1]
    page = (ROOT / "docs" / "learn" / "embeddings.md").read_text("utf-8")
    said = re.search(r"is (\d\.\d\d) after\s+one epoch and (\d\.\d\d) after ten", page)
    assert said
    assert [float(figure) for figure in said.groups()] == pytest.approx([first, last], abs=0.03)


@NOVEL
def test_the_figures_of_embeddings_md_are_those_of_one_thread() -> None:
    """Other processors round differently, so a neighbor may change places."""
    page = " ".join((ROOT / "docs" / "learn" / "embeddings.md").read_text("utf-8").split())
    made = embed.train(
        f"frankenstein={CORPORA / 'frankenstein.txt'}", settings=embed.EmbedSettings(threads=1)
    )
    assert f"{made.training['tokens']:,} tokens, {len(made):,} of them occurring five times or more" in page
    row = re.search(r"\| learned \| (\d+) \| ([\d.]+) \| ([\d.]+) \| \*\*([\d.]+)\*\* \|", page)
    assert row
    found = separation(made, lists_for(made).groups)
    said = [float(cell) for cell in row.groups()]
    assert said == pytest.approx([made.dimension, found.within, found.between, found.margin], abs=0.015)
    neighbors = dict(re.findall(r"\| (light|nature|left) \| ([\w, ]+) \|", page))
    neighbors |= dict(re.findall(r"(mountains)\* are ([\w, ]+?);", page))
    neighbors |= dict(re.findall(r"(father)\*, (mother[\w, ]+?)\.", page))
    assert len(neighbors) == 5
    for word, listed in neighbors.items():
        nearest = {neighbor.word for neighbor in made.most_similar(word, 10)}
        assert len(set(re.split(", | and ", listed)) & nearest) >= 4, f"{word}: {sorted(nearest)}"


def test_the_tokens_shown_in_analyse_md_are_those_of_its_commands(tmp_path: Path) -> None:
    page = (ROOT / "docs" / "analyse.md").read_text("utf-8")
    command = next(code for _, code in blocks("docs/analyse.md") if "merganser show" in code)
    shown = re.search(r"```text\n(playin.*?)```", page, re.DOTALL)
    assert shown
    code = re.sub("^merganser ", f"{sys.executable} -m merganser ", command, flags=re.MULTILINE)
    done = processes.run(["bash", "-euc", code], cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.endswith(shown[1])


def test_every_picture_of_the_docs_is_drawn_by_the_command() -> None:
    tool = (ROOT / "tools" / "draw_figures.py").read_text("utf-8")
    pages = (ROOT / "benchmarks" / "ladder" / "pages.py").read_text("utf-8")
    for path in [*(ROOT / "docs").rglob("*.svg"), *(ROOT / "docs").rglob("*.png")]:
        known = path.stem in tool or f'"{path.stem}"' in pages
        assert known or path.stem.partition("_")[0] in ("char", "embed"), path.name
