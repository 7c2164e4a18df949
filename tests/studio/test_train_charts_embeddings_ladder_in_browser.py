"""The train, charts, embeddings and ladder views in a real browser.

Every test also checks that nothing is loaded from another host, that the console shows no error, and that the
page does not overflow (`opened`).
"""

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from generated import drawn
from merganser import load, train
from opened import Studio, address_of, opened, pasted, problems, served
from processes import LIMIT, wait_until

HOSTILE = "<img src=x onerror=alert(1)> </script><b>owned</b> &lt; \u202e\x1b[31m 中文 👩‍👩‍👧 " * 8
TEXTS = ["the cat sat on the mat and the rat sat on the cat " * 30, HOSTILE, "naïve café 1234 5678 " * 9]


@pytest.fixture(scope="module")
def studio(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Studio]:
    folder = tmp_path_factory.mktemp("readable")
    (folder / "text.txt").write_text(TEXTS[0])
    (folder / "other.txt").write_text(HOSTILE)
    tokenizers = {"<b>one</b>": train(TEXTS, 330), "two": train(TEXTS[:1], 270)}
    vectors = drawn(tokenizers["<b>one</b>"], 320)
    with served(tokenizers, folder, embeddings={"clouds": vectors}) as running:
        yield running


@pytest.fixture(scope="module")
def address(studio: Studio) -> str:
    return studio.address


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a studio without folders and embeddings."""
    with served({"two": train(TEXTS[:1], 270)}) as running:
        yield running.address


READY = {
    "train": ".settings-form",
    "charts": "[data-drawn]",
    "embeddings": "[data-ready=pca]",
    "theatre": "[data-ready=learn]",
    "ladder": ".code",
}


@pytest.mark.parametrize(("scheme", "width"), [("light", 1200), ("dark", 390)])
@pytest.mark.parametrize("view", READY)
def test_every_view_is_accessible_light_and_dark_wide_and_narrow(
    browser: Any, address: str, view: str, scheme: str, width: int
) -> None:
    with opened(browser, address, view, scheme=scheme, width=width) as page:
        page.wait_for_selector(READY[view])
        if view == "charts":  # axe is slow on a thousand cells, which are all the same
            page.evaluate("[...document.querySelectorAll('.cut')].slice(50).forEach((cell) => cell.remove())")
        assert problems(page) == []
        background = page.evaluate("getComputedStyle(document.body).backgroundColor")
        assert background == {"light": "rgb(255, 255, 255)", "dark": "rgb(23, 25, 28)"}[scheme]
        assert page.locator("b").count() == 0, "no text became markup"
        box = page.locator("nav a[aria-current=page]").bounding_box()
        assert box["x"] >= 0 and box["x"] + box["width"] <= width, "the menu shows the current view"


class TestTrain:
    def test_a_tokenizer_is_trained_and_opened_in_the_playground_by_keyboard(
        self, browser: Any, address: str
    ) -> None:
        with opened(browser, address, "train") as page:
            page.get_by_label("Training text").fill(HOSTILE)
            page.get_by_label("Vocabulary size", exact=True).fill("290")
            page.get_by_label("Name").fill("by keys <i>")
            page.keyboard.press("Enter")
            page.locator(".state", has_text="by keys <i> is ready: 290 tokens").wait_for()
            rows = page.locator(".merges tbody tr")
            wait_until(lambda: rows.count() == 10)
            assert rows.first.locator("td").first.text_content() == "34", "the newest merge is on top"
            page.get_by_label("Which merges to show").focus()
            page.keyboard.press("Home")
            rows.nth(1).wait_for(state="detached")
            assert rows.first.locator("td").first.text_content() == "1"
            # Check that the canvas is not empty.
            wait_until(
                lambda: page.evaluate(
                    "() => { const canvas = document.querySelector('canvas.curve');"
                    "const { width, height } = canvas;"
                    "return canvas.getContext('2d').getImageData(0, 0, width, height).data.some(Boolean) }"
                )
            )
            assert problems(page) == []
            page.get_by_role("button", name="Open in playground").focus()
            page.keyboard.press("Enter")
            # The form that was left has a select too.
            wait_until(lambda: page.locator("select:visible").first.input_value() == "by keys <i>")
            page.goto(f"{address}#/charts")
            page.get_by_label("by keys <i>").wait_for()

    def test_all_of_a_pasted_megabyte_is_trained_on(self, browser: Any, address: str) -> None:
        with opened(browser, address, "train") as page:
            pasted(page, "the cat sat\n" * 80_000)
            page.get_by_label("Vocabulary size", exact=True).fill("260")
            page.get_by_role("button", name="Train", exact=True).click()
            page.locator(".state", has_text="is ready: 260 tokens").wait_for()
            page.locator(".merges", has_text="80,000").wait_for()  # not only the part in the field

    def test_a_file_inside_the_folder_is_read_and_a_file_outside_is_refused(
        self, browser: Any, address: str
    ) -> None:
        with opened(browser, address, "train", expected="status of 403") as page:
            page.get_by_text("Files", exact=True).click()
            page.get_by_label("Filter files, or type a path").fill("text.txt")
            page.get_by_label("Vocabulary size", exact=True).fill("270")
            page.get_by_role("button", name="Train", exact=True).click()
            page.locator(".state", has_text="is ready: 270 tokens").wait_for()
            page.get_by_label("Filter files, or type a path").fill("../text.txt")
            page.get_by_role("button", name="Train", exact=True).click()
            refusal = "../text.txt is not in a folder that the studio may read; restart it with --folder"
            page.locator("[role=alert]", has_text=refusal).wait_for()
            assert page.get_by_role("button", name="Train", exact=True).is_enabled()

    def test_the_form_is_in_the_address_and_survives_a_visit_to_another_view(
        self, browser: Any, address: str
    ) -> None:
        with opened(browser, address, "train?size=300&pattern=gpt2&special=%3C%7Cx%7C%3E&name=mine") as page:
            assert page.get_by_label("Vocabulary size", exact=True).input_value() == "300"
            assert page.get_by_label("Pattern").input_value() == "gpt2"
            assert page.get_by_label("Special tokens").input_value() == "<|x|>"
            page.get_by_label("Training text").fill("another text to train on, on, on")
            page.get_by_label("Vocabulary size, slider").focus()
            page.keyboard.press("ArrowRight")
            size = page.get_by_label("Vocabulary size", exact=True).input_value()
            assert size != "300" and f"size={size}" in address_of(page)
            page.get_by_role("link", name="Ladder").click()
            page.wait_for_selector(".code")
            page.get_by_role("link", name="Train").click()
            assert page.get_by_label("Vocabulary size", exact=True).input_value() == size
            page.reload()
            assert page.get_by_label("Training text").input_value() == "another text to train on, on, on"
            assert page.get_by_label("Name").input_value() == "mine"

    def test_the_split_is_previewed_while_the_pattern_is_typed(self, browser: Any, address: str) -> None:
        with opened(browser, address, "train", width=390, scheme="dark") as page:
            page.get_by_label("Training text").fill("Hello 12345 world")
            cells = page.locator(".split-preview bdi")
            wait_until(lambda: cells.all_text_contents() == ["Hello", "·", "123", "45", "·world"])
            page.get_by_label("Pattern").select_option("custom")
            page.get_by_label("Regular expression").fill("[a-z]+|.")
            wait_until(lambda: cells.all_text_contents()[:3] == ["H", "ello", "·"])
            page.get_by_label("Regular expression").fill("(")
            page.locator(".previewed .error").wait_for()
            assert cells.count() > 3, "the last split stays"
            assert problems(page) == []

    def test_half_a_character_in_a_special_token_is_named(self, browser: Any, address: str) -> None:
        with opened(browser, address, "train", expected="status of 400") as page:
            page.get_by_label("Training text").fill("the cat")
            field = page.get_by_label("Special tokens")
            field.evaluate(
                "(field) => { field.value = '<|x\\ud83d|>';"
                " field.dispatchEvent(new Event('input', { bubbles: true })) }"
            )
            page.get_by_role("button", name="Train", exact=True).click()
            page.get_by_text("half a character").wait_for()
            assert "codec" not in page.inner_text("main")

    def test_files_are_picked_by_size_and_the_result_is_saved_to_disk(
        self, browser: Any, studio: Studio
    ) -> None:
        (folder,) = studio.state.folders.roots
        with opened(browser, studio.address, "train", expected="status of 409") as page:
            page.get_by_text("Files", exact=True).click()
            row = page.locator(".files li", has_text="text.txt")
            assert row.locator(".number").inner_text() == "1.5 kB"
            page.get_by_label("Filter files, or type a path").fill("other")
            assert page.locator(".files li").count() == 1
            page.get_by_label("Filter files, or type a path").fill("")
            row.get_by_role("checkbox").focus()
            page.keyboard.press("Space")
            page.get_by_text("1 file, 1.5 kB").wait_for()
            assert "text.txt" in page.evaluate("decodeURIComponent(location.hash)")
            page.get_by_label("Vocabulary size", exact=True).fill("270")
            page.get_by_label("Reference").select_option("two")
            page.get_by_role("button", name="Train", exact=True).click()
            page.locator(".takeaway", has_text="0% more than two on the same text").wait_for()
            page.get_by_label("Save as").fill(f"{folder}/saved.merganser")
            page.keyboard.press("Enter")
            page.get_by_text(f'Saved. Load it with merganser.load("{folder}/saved.merganser").').wait_for()
            assert load(folder / "saved.merganser").vocab_size == 270
            page.get_by_role("button", name="Save to disk").click()
            page.get_by_text("exists already; choose another name").wait_for()
            assert problems(page) == []

    def test_without_a_folder_the_view_says_how_to_allow_one(self, browser: Any, plain: str) -> None:
        with opened(browser, plain, "train", expected="status of 403") as page:
            page.get_by_text("Files", exact=True).click()
            assert page.get_by_text("Restart it with --folder FOLDER").is_visible()
            page.get_by_label("Filter files, or type a path").fill("/etc/passwd")
            page.get_by_role("button", name="Train", exact=True).click()
            page.locator("[role=alert]", has_text="/etc/passwd is not in a folder").wait_for()

    def test_a_waiting_job_can_be_cancelled_after_leaving_and_returning(
        self, browser: Any, studio: Studio
    ) -> None:
        done = threading.Event()
        running = studio.state.jobs.start(lambda job: {"waited": done.wait(LIMIT)})
        try:
            with opened(browser, studio.address, "train") as page:
                page.get_by_role("button", name="Train", exact=True).click()
                page.locator(".state", has_text="Waiting for 1 job.").wait_for()
                page.get_by_role("link", name="Ladder").click()
                page.wait_for_selector(".code")
                page.get_by_role("link", name="Train").click()
                page.locator(".state", has_text="Waiting for 1 job").wait_for()
                page.get_by_role("button", name="Cancel").click()
                page.locator(".state", has_text="Cancelled").wait_for()
                assert page.get_by_role("button", name="Train", exact=True).is_enabled()
        finally:
            done.set()
        wait_until(lambda: running.is_over)
        assert running.state == "done", "only the waiting job was cancelled"


class TestCharts:
    def test_charts_have_tooltips_and_zoom(self, browser: Any, address: str) -> None:
        with opened(browser, address, "charts?tokenizers=two&path=text.txt") as page:
            page.wait_for_selector("[data-drawn=light]")
            assert page.locator("section").count() == 12
            assert page.locator(".chart svg").count() == 11
            assert "measured on text.txt" in page.locator("section.card").first.inner_text()
            assert page.get_by_text("Measured on 1,500 bytes").is_visible()
            page.locator(".chart").nth(1).locator("path[aria-roledescription=bar]").first.hover()
            page.locator("#vg-tooltip-element.visible").wait_for()
            assert page.locator("#vg-tooltip-element td.key").first.text_content()
            ticks = page.locator(".chart").first.locator(".role-axis-label text").all_text_contents()
            page.locator(".chart").first.hover()
            page.keyboard.down("Shift")
            page.mouse.wheel(0, -600)
            page.keyboard.up("Shift")
            axes = page.locator(".chart").first.locator(".role-axis-label text")
            wait_until(lambda: axes.all_text_contents() != ticks)

    def test_the_theme_button_redraws_and_sections_are_reached_by_keyboard(
        self, browser: Any, address: str
    ) -> None:
        with opened(browser, address, "charts") as page:
            page.wait_for_selector("[data-drawn=light]")
            page.locator("#theme").click()
            page.locator("#theme").click()
            page.wait_for_selector("[data-drawn=dark]")
            page.locator(".contents").get_by_role("button", name="Sentences", exact=True).focus()
            page.keyboard.press("Enter")
            assert page.evaluate("document.activeElement.textContent") == "11. Sentences"

    def test_tiles_and_takeaways_come_first_and_charts_have_two_columns(
        self, browser: Any, address: str
    ) -> None:
        with opened(browser, address, "charts?tokenizers=two", width=1280) as page:
            page.wait_for_selector("[data-drawn=light]")
            assert page.locator(".figure-tile").count() == 4
            sentences = page.locator(".takeaways li bdi").all_text_contents()
            assert len(sentences) == 12 and sum("two" in sentence for sentence in sentences) >= 8
            boxes = [section.bounding_box() for section in page.locator(".sections > section").all()[:2]]
            assert boxes[0]["y"] == boxes[1]["y"] and boxes[0]["x"] < boxes[1]["x"]
            halves = [one.bounding_box() for one in page.locator(".sections > section:not(.full)").all()]
            assert [half["y"] for half in halves[::2]] == [half["y"] for half in halves[1::2]], "no gaps"
            assert [half["height"] for half in halves[::2]] == [half["height"] for half in halves[1::2]]
            subjects = page.locator("section .subject").all_text_contents()
            assert len(subjects) == 12 and all("two" in subject for subject in subjects)
            page.locator(".takeaways button", has_text="Parity").click()
            assert "Parity" in page.evaluate("document.activeElement.textContent")

    def test_a_chart_is_saved_from_its_menu_by_keyboard(self, browser: Any, address: str) -> None:
        with opened(browser, address, "charts", expected="blob:") as page:
            page.wait_for_selector("[data-drawn=light]")
            menu = page.get_by_label("Save Across domains", exact=True)
            menu.focus()
            for kind, suffix, start in (
                ("PNG", "png", b"\x89PNG"),
                ("SVG", "svg", b"<svg"),
                ("CSV", "csv", b"domain,"),
                ("Vega", "vg.json", b"{"),
            ):
                menu.focus()
                page.keyboard.press("Enter")
                page.get_by_role("button", name=f"Save Across domains as {kind}").focus()
                with page.expect_download() as download:
                    page.keyboard.press("Enter")
                assert download.value.suggested_filename == f"domains.{suffix}"
                assert Path(download.value.path()).read_bytes().startswith(start)
            menu.focus()
            page.keyboard.press("Enter")
            page.keyboard.press("Escape")
            assert not page.get_by_role("button", name="Save Across domains as PNG").is_visible()

    def test_charts_are_measured_on_a_file_or_a_pasted_text(self, browser: Any, address: str) -> None:
        with opened(browser, address, "charts", width=390, scheme="dark") as page:
            page.wait_for_selector("[data-drawn=dark]")
            page.get_by_text("File", exact=True).click()
            page.locator(".files li", has_text="text.txt").get_by_role("checkbox").check()
            page.get_by_text("Measured on 1,500 bytes").wait_for()
            page.get_by_text("Paste", exact=True).click()
            page.get_by_label("Text to measure on").fill("the cat sat")
            page.get_by_text("Measured on 11 bytes").wait_for()
            assert "measured on pasted text" in page.locator("section .subject").first.inner_text()
            page.reload()
            page.get_by_text("Measured on 11 bytes").wait_for()

    def test_two_tokenizers_are_shown_side_by_side(self, browser: Any, address: str) -> None:
        with opened(browser, address, "charts") as page:
            page.wait_for_selector("[data-drawn=light]")
            page.get_by_label("two").check()
            page.locator(".chart", has_text="two").first.wait_for()
            wait_until(lambda: "two" in page.evaluate("decodeURIComponent(location.hash)"))


class TestLadder:
    def test_all_steps_run_and_learn_the_same_merges(self, browser: Any, address: str) -> None:
        with opened(browser, address, "ladder") as page:
            page.get_by_label("Text", exact=True).select_option("own")
            page.get_by_label("Training text").fill(TEXTS[0])
            page.get_by_label("Merges").fill("12")
            page.get_by_role("button", name="Run all").click()
            page.locator("[role=status]", has_text="All steps learned the same 12 merges").wait_for()
            times = page.locator(".run .time").all_text_contents()
            assert len(times) == 15 and all(time.endswith("s") for time in times)
            widths = page.eval_on_selector_all(
                ".bar", "bars => bars.map((bar) => parseFloat(bar.style.width))"
            )
            assert max(widths) == 100 and min(widths) > 0
            page.get_by_label("Logarithmic scale").check()
            assert problems(page) == []

    def test_changed_lines_are_marked_and_arrow_keys_change_the_step(
        self, browser: Any, address: str
    ) -> None:
        with opened(browser, address, "ladder?step=2") as page:
            page.get_by_role("heading", name="Step 2: type frequency").wait_for()
            assert page.locator(".code-line.new").count() > 3
            assert page.locator(".code-line.gone:visible").count() == 0
            page.get_by_label("Show removed lines").check()
            assert page.locator(".code-line.gone:visible").count() > 0
            page.locator("button.run").nth(1).focus()
            page.keyboard.press("ArrowDown")
            page.get_by_role("heading", name="Step 3: streamed counting").wait_for()
            wait_until(lambda: address_of(page).endswith("step=3"))
            page.keyboard.press("ArrowUp")
            page.keyboard.press("ArrowUp")
            page.get_by_role("heading", name="Step 1: naive").wait_for()
            assert page.locator(".code-line.new").count() == 0


def test_the_code_of_a_step_is_its_file(address: str) -> None:
    from merganser.learn.ladder import STEPS, running
    from merganser.studio.ladder import described

    for step in described():
        file = Path(running.__file__).with_name(f"{STEPS[step['step']]}.py")
        shown = "\n".join(line for kind, line in step["lines"] if kind != "gone")
        assert file.read_text("utf-8").endswith(shown + "\n")
