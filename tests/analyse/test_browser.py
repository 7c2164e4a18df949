"""The page of a report in a real browser: opened from disk, it makes no requests, logs no errors, executes
nothing from its data, and fits wide and narrow windows, light and dark (`watched`).
"""

import json
from pathlib import Path
from typing import Any

import pytest
from hostile import CORPUS, HOSTILE, tokenizers
from merganser import charts, reporting
from merganser.charts.theme import FONT
from opened import problems, watched


@pytest.fixture(scope="module")
def page_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return reporting.report(
        tmp_path_factory.mktemp("browser"),
        corpus=CORPUS,
        tokenizers=tokenizers(),
        vocab_size=900,
        domains={"<b id=owned>mine</b>\x1b\u202e": [*HOSTILE, "the cat"]},
        sentences=[*HOSTILE, "The monster approached with terrifying deliberation.", "שלום world 2024"],
    )


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1200, 360])
def test_the_page_opens_from_disk_and_fits_the_window(
    browser: Any, page_path: Path, scheme: str, width: int
) -> None:
    with watched(browser, page_path.as_uri(), scheme=scheme, width=width) as page:
        page.wait_for_selector(f"html[data-drawn={scheme}]")
        assert page.locator("section").count() == 12
        assert page.locator(".chart svg").count() == 10
        for chart in page.locator(".chart svg").all():
            box = chart.bounding_box()
            assert box["x"] >= 0 and box["x"] + box["width"] <= width and box["height"] > 50
        background = page.evaluate("getComputedStyle(document.body).backgroundColor")
        assert background == {"light": "rgb(255, 255, 255)", "dark": "rgb(23, 25, 28)"}[scheme]
        ink = page.evaluate("getComputedStyle(document.querySelector('.chart svg text')).fill")
        assert ink == {"light": "rgb(32, 33, 36)", "dark": "rgb(232, 234, 237)"}[scheme], (
            "charts follow the scheme"
        )


def test_a_change_of_the_color_scheme_redraws_the_charts(browser: Any, page_path: Path) -> None:
    with watched(browser, page_path.as_uri()) as page:
        page.wait_for_selector("html[data-drawn=light]")
        page.emulate_media(color_scheme="dark")
        page.wait_for_selector("html[data-drawn=dark]")
        assert page.locator(".chart svg").count() == 10


def test_hostile_text_is_inert(browser: Any, page_path: Path) -> None:
    with watched(browser, page_path.as_uri()) as page:
        page.wait_for_selector("html[data-drawn]")
        page.evaluate("document.querySelectorAll('details').forEach(part => part.open = true)")
        bars = "path[aria-roledescription=bar], path[aria-roledescription=rect]"
        for chart in page.locator(".chart").all():  # tooltips contain text as well
            for bar in chart.locator(bars).all()[:12]:
                bar.hover(force=True)
        assert page.locator("body img, body b, body iframe").count() == 0
        assert page.locator("script").count() == 3
        text = page.evaluate("document.body.innerText")
        assert "<script>window.owned=1</script>" in text, "it is shown as text"
        assert not set(text) & set("\u202e\u202c\u2066\u200b\ufeff\x1b\x07\x00\x9b\u2028\u2029")


def test_the_page_runs_no_code_but_its_own(browser: Any, page_path: Path) -> None:
    """Vega's interpreter needs no `eval`, and only scripts with a known hash run."""
    with watched(browser, page_path.as_uri(), expected="Content Security Policy") as page:
        page.wait_for_selector("html[data-drawn]")
        for code in (
            "const element = document.createElement('script'); element.text = 'window.owned = 1'; "
            "document.body.append(element)",
            "setTimeout('window.owned = 1')",
            "new Function('window.owned = 1')()",
        ):
            # Playwright's own evaluation is exempt from the policy, a task that it schedules is not.
            page.evaluate(
                f"new Promise((done) => setTimeout(() => {{ try {{ {code} }} catch {{}} done(); }}))"
            )
        page.wait_for_timeout(50)


def test_right_to_left_text_runs_from_the_right(browser: Any, page_path: Path) -> None:
    with watched(browser, page_path.as_uri()) as page:
        line = page.locator(".cuts[dir=rtl]").last
        cells = line.locator(".cut").all()
        first, last = cells[0].bounding_box(), cells[-1].bounding_box()
        assert first["x"] > last["x"], "the text starts at the right"
        latin = [cell.bounding_box()["x"] for cell in line.locator("span[dir=ltr] .cut").all()]
        assert latin == sorted(latin), "Latin letters in it run from the left"


def test_the_page_of_a_chart_makes_no_requests_either(browser: Any, tmp_path: Path) -> None:
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
    with watched(browser, path.as_uri()) as page:
        page.wait_for_selector("#chart svg")


def test_charts_and_tables_are_saved_from_the_page_alone(
    browser: Any, page_path: Path, tmp_path: Path
) -> None:
    """The page, copied away from its folder, saves pictures with titles, and the table."""
    alone = tmp_path / "alone.html"
    alone.write_bytes(page_path.read_bytes())
    with watched(browser, alone.as_uri(), expected="blob:") as page:
        page.wait_for_selector("html[data-drawn]")
        saved = {}
        for kind, suffix in {"PNG": "png", "SVG": "svg", "CSV": "csv", "Vega": "vg.json"}.items():
            page.get_by_label("Save Across domains", exact=True).click()
            with page.expect_download() as download:
                page.locator("#domains .save button", has_text=kind).click()
            assert download.value.suggested_filename == f"domains.{suffix}"
            saved[kind] = Path(download.value.path()).read_bytes()
            assert not page.locator("#domains .save").get_attribute("open"), "the menu closes"
        assert page.locator("#sentences .save button").all_text_contents() == ["CSV"], "it has no chart"
    assert saved["PNG"].startswith(b"\x89PNG")
    assert b">Across domains<" in saved["SVG"] and b"measured on corpus, held out" in saved["SVG"]
    assert saved["CSV"].decode().startswith("domain,trained here,")
    definition = json.loads(saved["Vega"])
    assert definition["$schema"].endswith("vega/v5.json") and definition["marks"]


def test_tiles_and_takeaways_come_first_and_lead_to_their_sections(browser: Any, page_path: Path) -> None:
    with watched(browser, page_path.as_uri()) as page:
        page.wait_for_selector("html[data-drawn]")
        assert page.locator(".figure-tile").count() == 4
        sentences = page.locator(".takeaways li bdi").all_text_contents()
        assert len(sentences) == 12 and all(sentence.endswith(".") for sentence in sentences)
        top = page.locator(".takeaways").bounding_box()
        assert top["y"] + top["height"] < page.locator("section").first.bounding_box()["y"]
        subjects = page.locator("section .subject").all_text_contents()
        assert len(subjects) == 12 and all("trained here" in subject for subject in subjects)
        page.locator(".takeaways button", has_text="Parity between languages").focus()
        page.keyboard.press("Enter")
        assert page.evaluate("location.hash") == "#parity"
        assert problems(page) == []


def test_page_and_charts_have_the_same_font(browser: Any, page_path: Path) -> None:
    with watched(browser, page_path.as_uri()) as page:
        page.wait_for_selector("html[data-drawn]")
        fonts = page.evaluate(
            "[document.body, ...document.querySelectorAll('.chart svg text')]"
            ".map((element) => getComputedStyle(element).fontFamily)"
        )
        assert set(fonts) == {FONT}


def test_values_are_inside_the_chart(browser: Any, page_path: Path) -> None:
    """No text of a chart is outside of it, not even on a phone."""
    with watched(browser, page_path.as_uri(), width=360) as page:
        page.wait_for_selector("html[data-drawn]")
        outside = page.evaluate(
            """[...document.querySelectorAll(".chart svg")].flatMap((chart) => {
              const frame = chart.getBoundingClientRect();
              return [...chart.querySelectorAll("text")].filter((text) => {
                const box = text.getBoundingClientRect();
                return box.width && (box.left < frame.left - 1 || box.right > frame.right + 1);
              }).map((text) => text.textContent);
            })"""
        )
        assert outside == []


def test_numbers_in_tooltips_are_rounded(browser: Any, tmp_path: Path) -> None:
    path = tmp_path / "chart.html"
    spec = {
        "data": {"values": [{"name": "a", "share": 12345.678901234}]},
        "mark": {"type": "bar", "tooltip": True},
        "encoding": {"y": {"field": "name"}, "x": {"field": "share", "type": "quantitative"}},
    }
    charts.save(spec, path)
    with watched(browser, path.as_uri()) as page:
        page.locator("path[aria-roledescription=bar]").hover()
        page.wait_for_selector("#vg-tooltip-element.visible")
        assert "12,345.6789" in page.locator("#vg-tooltip-element").inner_text()
