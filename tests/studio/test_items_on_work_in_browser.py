"""What the studio computes and draws, by mouse and by keyboard, at 1280 and 390 px, light and dark.

| item | test | mouse | keyboard | 1280 | 390 | light | dark |
|---|---|---|---|---|---|---|---|
| merge theatre | test_the_theatre | × | × | × | × | × | × |
| train that teaches | test_a_training | × | × | × | × | × | × |
| map | test_the_map, test_embeddings_are_trained_here | × | × | × | × | × | × |
| charts as a dashboard | test_the_dashboard | × | × | × | × | × | × |
| reports | test_a_report | × | × | × | × | × | × |
| ladder | test_the_ladder | × | × | × | × | × | × |

The others are in test_items_on_text_in_browser.py. Each test checks console, requests, width, colors and axe.
"""

import csv
import io
from collections.abc import Iterator
from typing import Any

import pytest
from generated import drawn
from hands import COMBINATIONS, NAMES, Walk
from hostile import CORPUS
from merganser import load, reporting, train
from opened import Studio, address_of, served
from processes import wait_until

TEXTS = ["the cat sat on the mat and the rat sat on the cat " * 30, *CORPUS]
STEP = "Number(document.querySelector('.transport input[type=range]').value)"


@pytest.fixture(scope="module")
def studio(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Studio]:
    folder = tmp_path_factory.mktemp("readable")
    (folder / "text.txt").write_text(TEXTS[0])
    tokenizers = {"one": train(TEXTS, 330), "two": train(TEXTS[:1], 270)}
    with served(tokenizers, folder, embeddings={"clouds": drawn(tokenizers["one"], 320)}) as running:
        yield running


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = reporting.report(tmp_path_factory.mktemp("report"), corpus=TEXTS * 4, vocab_size=300)
    return path.as_uri()


@pytest.fixture(params=COMBINATIONS, ids=NAMES)
def walk(request: pytest.FixtureRequest, browser: Any, studio: Studio) -> Walk:
    return Walk(browser, studio.address, *request.param)


def test_the_theatre(walk: Walk) -> None:
    with walk.at("theatre") as (page, hand):
        page.wait_for_selector(".view-theatre[data-ready=learn]")
        tiles = page.locator(".tiles .tile").count()
        if hand.is_mouse:
            page.get_by_role("button", name="Next merge").click()
        else:
            page.keyboard.press("ArrowRight")
        page.locator(".tile.ghost").first.wait_for(state="detached")
        assert page.evaluate(STEP) == 1 and page.locator(".tiles .tile").count() < tiles
        assert page.locator(".race li").count() == 5
        hand.choose(page.get_by_label("Speed"), "5")
        hand.press(page.locator("button.play"))
        wait_until(lambda: page.evaluate(STEP) >= 3)
        hand.press(page.locator("button.play"))
        hand.slide(page.get_by_label("Merges so far"), "End", 1)
        wait_until(lambda: page.locator(".race li").count() == 0)
        hand.slide(page.get_by_label("Merges so far"), "Home", 0)
        wait_until(lambda: page.evaluate(STEP) == 0)
        hand.pick(page.locator(".source-form .segments"), "Replay a tokenizer")
        page.wait_for_selector(".view-theatre[data-ready=replay]")
        page.get_by_text("in the order of the vocabulary").wait_for()
        hand.write(page.get_by_label("Text", exact=True), "the cat")
        hand.press(page.get_by_role("button", name="Use this text"))
        page.locator(".merge-caption", has_text="Merge 1 of").wait_for()


def test_a_training(walk: Walk, studio: Studio) -> None:
    (folder,) = studio.state.folders.roots
    with walk.at("train") as (page, hand):
        hand.write(page.get_by_label("Training text"), TEXTS[0])
        hand.choose(page.get_by_label("Pattern"), "custom")
        hand.write(page.get_by_label("Regular expression"), "[a-z]+| ")
        wait_until(lambda: page.locator(".split-preview bdi").all_text_contents()[:3] == ["the", "·", "cat"])
        hand.slide(page.get_by_label("Vocabulary size, slider"), "PageUp", 0.6)
        assert "size=" in address_of(page), "the form is in the address"
        hand.pick(page.locator(".segments"), "Files")
        hand.switch(page.locator(".files li", has_text="text.txt").get_by_role("checkbox"))
        page.get_by_text("1 file, 1.5 kB").wait_for()
        hand.write(page.get_by_label("Vocabulary size", exact=True), "264")
        hand.choose(page.get_by_label("Reference"), "two")
        name = f"{walk.kind}-{walk.width}-{walk.scheme}"
        hand.write(page.get_by_label("Name"), name)
        hand.press(page.get_by_role("button", name="Train", exact=True))
        page.locator(".takeaway", has_text="two on the same text").wait_for()
        hand.slide(page.get_by_label("Which merges to show"), "Home", 0)
        hand.write(page.get_by_label("Save as"), f"{folder}/{name}.merganser")
        hand.press(page.get_by_role("button", name="Save to disk"))
        page.get_by_text("Saved. Load it with").wait_for()
        assert load(folder / f"{name}.merganser").vocab_size == 264
        hand.press(page.get_by_role("button", name="Watch the merges"))
        page.wait_for_selector(".view-theatre[data-ready=replay]")
        assert page.get_by_text("counted in the whole training corpus").is_visible()


def test_the_map(walk: Walk) -> None:
    with walk.at("embeddings") as (page, hand):
        page.wait_for_selector("[data-ready=pca]")
        hand.choose(page.get_by_label("Color", exact=True), "frequency")
        wait_until(lambda: "color=frequency" in address_of(page))
        hand.switch(page.locator(".legend input").first)
        hand.switch(page.locator(".legend input").first)
        canvas = page.locator(".stage canvas")
        if hand.is_mouse:
            page.get_by_role("button", name="Lasso").click()
            box = canvas.bounding_box()
            corners = [(0.02, 0.2), (0.98, 0.2), (0.98, 0.98), (0.02, 0.98)]
            points = [(box["x"] + x * box["width"], box["y"] + y * box["height"]) for x, y in corners]
            page.mouse.move(*points[0])
            page.mouse.down()
            for point in points[1:]:
                page.mouse.move(*point)
            page.mouse.up()
        else:
            hand.reach(canvas)
            page.keyboard.press("l")
        page.locator(".listed li").first.wait_for()
        many = int(page.locator(".circled h2").inner_text().split()[0].replace(",", ""))
        name, data = hand.saved(page.get_by_role("button", name="Save the list as CSV"))
        assert name == "tokens.csv" and len(list(csv.DictReader(io.StringIO(data.decode())))) == many
        hand.press(page.get_by_role("button", name="Clear the list"))
        assert hand.saved(page.get_by_role("button", name="Save the map as PNG"))[1].startswith(b"\x89PNG")
        for zoom in ("Zoom in", "Zoom out", "Show all"):
            hand.press(page.get_by_role("button", name=zoom))
        hand.write(page.get_by_label("Search tokens"), "cat")
        page.keyboard.press("Enter")
        page.locator(".near li").first.wait_for()
        hand.press(page.locator(".near button").first)
        wait_until(lambda: "cat" not in page.locator(".chosen-token h2").inner_text())
        chosen = page.locator(".chosen-token h2").inner_text()
        hand.choose(page.get_by_label("Map", exact=True), "tsne")
        page.wait_for_selector("[data-ready=tsne]")
        assert page.locator(".chosen-token h2").inner_text() == chosen, "the selection is kept"


def test_embeddings_are_trained_here(walk: Walk) -> None:
    with walk.at("embeddings") as (page, hand):
        page.wait_for_selector("[data-ready=pca]")
        hand.press(page.locator("summary", has_text="Train embeddings here"))
        form = page.locator(".train-here")
        hand.write(form.get_by_label("Epochs"), "1")
        hand.write(form.get_by_label("Text to train embeddings on"), TEXTS[0])
        form.get_by_text("text.txt").wait_for()
        hand.press(form.get_by_role("button", name="Train embeddings"))
        wait_until(lambda: "trained=" in address_of(page))
        page.wait_for_selector("[data-ready=pca]")


def test_the_dashboard(walk: Walk) -> None:
    with walk.at("charts?tokenizers=one", expected="blob:") as (page, hand):
        drawn = page.locator(f"[data-drawn={walk.scheme}]")
        drawn.wait_for()
        assert page.locator(".figure-tile").count() == 4 and page.locator(".takeaways li").count() >= 10
        hand.press(page.locator(".takeaways button", has_text="Parity"))
        assert "Parity" in page.evaluate("document.activeElement.textContent")
        hand.press(page.get_by_label("Save Across domains", exact=True))
        name, data = hand.saved(page.get_by_role("button", name="Save Across domains as CSV"))
        assert name == "domains.csv" and data.startswith(b"domain,")
        hand.switch(page.get_by_label("two", exact=True))
        page.locator(".figure-tile", has_text="two").first.wait_for()
        hand.pick(page.locator(".segments"), "Paste")
        hand.write(page.get_by_label("Text to measure on"), "the cat sat")
        page.get_by_text("Measured on 11 bytes").wait_for()
        drawn.wait_for()
        # axe is slow on a thousand cells, which are all the same.
        page.evaluate("[...document.querySelectorAll('.cut')].slice(50).forEach((cell) => cell.remove())")


def test_a_report(walk: Walk, report: str) -> None:
    with walk.at(report, expected="blob:") as (page, hand):
        page.wait_for_selector(f"html[data-drawn={walk.scheme}]")
        tops = [
            page.locator(each).first.bounding_box()["y"] for each in (".figure-tile", ".takeaways", "section")
        ]
        assert tops == sorted(tops), "figures, then one sentence each, then charts"
        hand.press(page.locator(".takeaways button", has_text="Sentences"))
        assert page.evaluate("location.hash") == "#sentences"
        hand.press(page.get_by_label("Save Across domains", exact=True))
        name, data = hand.saved(page.get_by_role("button", name="Save Across domains as SVG"))
        assert name == "domains.svg" and b"<svg" in data
        figures = page.locator("section details:not(.save):not([open]) > summary").first
        hand.press(figures)
        page.locator("section details:not(.save)[open] table").first.wait_for()
        page.evaluate("[...document.querySelectorAll('.cut')].slice(50).forEach((cell) => cell.remove())")


def test_the_ladder(walk: Walk) -> None:
    with walk.at("ladder") as (page, hand):
        page.wait_for_selector(".code")
        hand.press(page.get_by_role("button", name="Next step"))
        page.get_by_role("heading", name="Step 2: type frequency").wait_for()
        hand.switch(page.get_by_label("Show removed lines"))
        assert page.locator(".code-line.gone:visible").count() > 0
        hand.press(page.locator("button.run").nth(4))
        page.get_by_role("heading", name="Step 5: incremental updates").wait_for()
        hand.choose(page.get_by_label("Text", exact=True), "own")
        hand.write(page.get_by_label("Training text"), TEXTS[0])
        hand.write(page.get_by_label("Merges"), "12")
        hand.press(page.get_by_role("button", name="Run all"))
        page.locator(".run .time", has_text="s").first.wait_for()
        hand.press(page.get_by_role("button", name="Cancel"))
        page.locator("[role=status]", has_text="Cancelled").wait_for()
