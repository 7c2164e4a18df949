"""The page of a report in a real browser: opened from disk, it fetches nothing, complains of nothing, runs
nothing that it shows, and fits wide and narrow windows, light and dark.

Needs Playwright (in `[dev]`) and Chromium: `apt-get install chromium`, or CHROMIUM=/path/to/it.
"""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hostile import CORPUS, HOSTILE, tokenizers
from merganser import analyse, charts

CHROMIUM = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
HOW = "Debian's Chromium is not here: apt-get install chromium, or set CHROMIUM to its path"

playwright = pytest.importorskip("playwright.sync_api", reason="pip install playwright")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason=HOW)


@pytest.fixture(scope="module")
def page_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return analyse.report(
        tmp_path_factory.mktemp("browser"),
        corpus=CORPUS,
        tokenizers=tokenizers(),
        vocab_size=900,
        domains={"<b id=owned>mine</b>\x1b\u202e": [*HOSTILE, "the cat"]},
        sentences=[*HOSTILE, "The monster approached with terrifying deliberation.", "שלום world 2024"],
    )


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with playwright.sync_playwright() as started:
        # Containers have no sandbox to offer, and the pages are our own.
        opened = started.chromium.launch(
            executable_path=CHROMIUM, args=["--no-sandbox", "--disable-dev-shm-usage"]
        )
        yield opened
        opened.close()


class Watched:
    """A page, with all that it asked for and complained of."""

    def __init__(self, browser: Any, path: Path, scheme: str = "light", width: int = 1200) -> None:
        self.requests: list[str] = []
        self.complaints: list[str] = []
        self.page = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.on("console", lambda message: self.complaints.append(f"{message.type}: {message.text}"))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.goto(path.as_uri())

    def close(self) -> None:
        self.page.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1200, 360])
def test_opens_from_disk_and_fits(browser: Any, page_path: Path, scheme: str, width: int) -> None:
    watched = Watched(browser, page_path, scheme, width)
    page = watched.page
    page.wait_for_selector(f"html[data-drawn={scheme}]")
    assert watched.requests == [page_path.as_uri()], "nothing but itself"
    assert watched.complaints == []
    assert page.locator("section").count() == 12
    assert page.locator(".chart svg").count() == 9
    assert page.evaluate("document.documentElement.scrollWidth") <= width, "no part sticks out"
    for chart in page.locator(".chart svg").all():
        box = chart.bounding_box()
        assert box["x"] >= 0 and box["x"] + box["width"] <= width and box["height"] > 50
    background = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert background == {"light": "rgb(255, 255, 255)", "dark": "rgb(23, 25, 28)"}[scheme]
    ink = page.evaluate("getComputedStyle(document.querySelector('.chart svg text')).fill")
    assert ink == {"light": "rgb(32, 33, 36)", "dark": "rgb(232, 234, 237)"}[scheme], "charts follow"
    watched.close()


def test_a_change_of_the_scheme_redraws(browser: Any, page_path: Path) -> None:
    watched = Watched(browser, page_path)
    watched.page.wait_for_selector("html[data-drawn=light]")
    watched.page.emulate_media(color_scheme="dark")
    watched.page.wait_for_selector("html[data-drawn=dark]")
    assert watched.page.locator(".chart svg").count() == 9
    assert watched.complaints == []
    watched.close()


def test_hostile_text_is_inert(browser: Any, page_path: Path) -> None:
    watched = Watched(browser, page_path)
    page = watched.page
    page.wait_for_selector("html[data-drawn]")
    page.evaluate("document.querySelectorAll('details').forEach(part => part.open = true)")
    for chart in page.locator(".chart").all():  # tooltips show text as well
        for bar in chart.locator("path[aria-roledescription=bar], path[aria-roledescription=rect]").all()[
            :12
        ]:
            bar.hover(force=True)
    assert page.evaluate("window.owned") is None
    assert page.locator("#owned").count() == 0
    assert page.locator("body img, body b, body iframe").count() == 0
    assert page.locator("script").count() == 3
    text = page.evaluate("document.body.innerText")
    assert "<script>window.owned=1</script>" in text, "it is there to be read"
    assert not set(text) & set("\u202e\u202c\u2066\u200b\ufeff\x1b\x07\x00\x9b\u2028\u2029")
    assert watched.complaints == []
    assert watched.requests == [page_path.as_uri()]
    watched.close()


def test_right_to_left_runs_from_the_right(browser: Any, page_path: Path) -> None:
    watched = Watched(browser, page_path)
    line = watched.page.locator(".tokens[dir=rtl]").last
    cells = line.locator(".cell").all()
    first, last = cells[0].bounding_box(), cells[-1].bounding_box()
    assert first["x"] > last["x"], "the text begins at the right"
    latin = [cell.bounding_box()["x"] for cell in line.locator("span[dir=ltr] .cell").all()]
    assert latin == sorted(latin), "and Latin letters within it from the left"
    watched.close()


def test_the_page_of_a_chart_is_as_quiet(browser: Any, tmp_path: Path) -> None:
    path = tmp_path / "chart.html"
    values = [{"n": text, "x": 1} for text in HOSTILE]
    charts.save(
        {
            "data": {"values": values},
            "mark": {"type": "bar", "tooltip": True},
            "encoding": {"y": {"field": "n"}, "x": {"field": "x", "type": "quantitative"}},
        },
        path,
    )
    watched = Watched(browser, path)
    watched.page.wait_for_selector("#chart svg")
    assert watched.requests == [path.as_uri()]
    assert not [complaint for complaint in watched.complaints if not complaint.startswith("warning")]
    assert watched.page.evaluate("window.owned") is None
    watched.close()
