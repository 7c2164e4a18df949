"""The train, charts, embeddings and ladder views in a real browser.

Every test also checks that nothing is loaded from another host, that the console shows no error, and that the
page does not overflow (`opened`).
"""

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from generated import drawn, large_tokenizer
from merganser import train
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
            page.get_by_label("Vocabulary size").fill("290")
            page.get_by_label("Name").fill("by keys <i>")
            page.keyboard.press("Enter")
            page.locator(".state", has_text="by keys <i> is ready: 290 tokens").wait_for()
            rows = page.locator(".merges tbody tr")
            wait_until(lambda: rows.count() == 14)
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
            page.locator("select:visible").first.wait_for()
            assert page.locator("select:visible").first.input_value() == "by keys <i>"
            page.goto(f"{address}#/charts")
            page.get_by_label("by keys <i>").wait_for()

    def test_all_of_a_pasted_megabyte_is_trained_on(self, browser: Any, address: str) -> None:
        with opened(browser, address, "train") as page:
            pasted(page, "the cat sat\n" * 80_000)
            page.get_by_label("Vocabulary size").fill("260")
            page.get_by_role("button", name="Train", exact=True).click()
            page.locator(".state", has_text="is ready: 260 tokens").wait_for()
            page.locator(".merges", has_text="80,000").wait_for()  # not only the part in the field

    def test_a_file_inside_the_folder_is_read_and_a_file_outside_is_refused(
        self, browser: Any, address: str
    ) -> None:
        with opened(browser, address, "train", expected="status of 403") as page:
            page.get_by_text("Files", exact=True).click()
            page.get_by_label("File or folder").fill("text.txt")
            page.get_by_label("Vocabulary size").fill("270")
            page.get_by_role("button", name="Train", exact=True).click()
            page.locator(".state", has_text="is ready: 270 tokens").wait_for()
            page.get_by_label("File or folder").fill("../text.txt")
            page.get_by_role("button", name="Train", exact=True).click()
            refusal = "../text.txt is not in a folder that the studio may read; restart it with --folder"
            page.locator("[role=alert]", has_text=refusal).wait_for()
            assert page.get_by_role("button", name="Train", exact=True).is_enabled()

    def test_without_a_folder_the_view_says_how_to_allow_one(self, browser: Any, plain: str) -> None:
        with opened(browser, plain, "train", expected="status of 403") as page:
            page.get_by_text("Files", exact=True).click()
            assert page.get_by_text("Restart it with --folder FOLDER").is_visible()
            page.get_by_label("File or folder").fill("/etc/passwd")
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
            page.get_by_role("button", name="Sentences", exact=True).focus()
            page.keyboard.press("Enter")
            assert page.evaluate("document.activeElement.textContent") == "11. Sentences"

    def test_two_tokenizers_are_shown_side_by_side(self, browser: Any, address: str) -> None:
        with opened(browser, address, "charts") as page:
            page.wait_for_selector("[data-drawn=light]")
            page.get_by_label("two").check()
            page.locator(".chart", has_text="two").first.wait_for()
            wait_until(lambda: "two" in page.evaluate("decodeURIComponent(location.hash)"))


FRAMES = """async () => {
  const canvas = document.querySelector(".stage canvas");
  const { x, y } = canvas.getBoundingClientRect();
  const fire = (kind, across, down) => canvas.dispatchEvent(
    new PointerEvent(kind, { pointerId: 1, clientX: x + across, clientY: y + down, bubbles: true }));
  const painted = Number(canvas.dataset.painted);
  const times = [];
  let last = await new Promise(requestAnimationFrame);
  fire("pointerdown", 300, 300);
  for (let nth = 0; nth < 60; nth++) {
    fire("pointermove", 300 + 40 * Math.sin(nth / 5), 300 + nth % 30);
    canvas.dispatchEvent(new WheelEvent("wheel",
      { deltaY: nth < 30 ? -40 : 40, clientX: x + 300, clientY: y + 300, cancelable: true }));
    const now = await new Promise(requestAnimationFrame);
    times.push(now - last);
    last = now;
  }
  fire("pointercancel", 0, 0);
  return { shortest: Math.min(...times), painted: Number(canvas.dataset.painted) - painted };
}"""


class TestEmbeddings:
    def test_search_neighbors_and_links_work(self, browser: Any, address: str) -> None:
        with opened(browser, address, "embeddings") as page:
            page.wait_for_selector("[data-ready=pca]")
            page.get_by_label("Search tokens").fill("cat")
            page.locator(".found", has_text="found").wait_for()
            page.keyboard.press("Enter")
            page.locator(".near li").nth(15).wait_for()
            similarities = [float(text) for text in page.locator(".near .number").all_text_contents()]
            assert similarities == sorted(similarities, reverse=True)
            second = page.locator(".near button").first.text_content()
            page.locator(".near button").first.click()
            page.locator(".chosen-token h2", has_text=second).wait_for()
            link = address_of(page)
        with opened(browser, link.split("#")[0], link.split("#/")[1]) as page:
            page.locator(".chosen-token h2", has_text=second).wait_for()

    def test_the_map_works_by_keyboard_alone(self, browser: Any, address: str) -> None:
        with opened(browser, address, "embeddings") as page:
            page.wait_for_selector("[data-ready=pca]")
            canvas = page.locator(".stage canvas")
            canvas.focus()
            before = canvas.screenshot()
            for key in ("+", "+", "ArrowLeft", "ArrowDown", "-"):
                page.keyboard.press(key)
            wait_until(lambda: canvas.screenshot() != before)
            page.keyboard.press("0")
            page.keyboard.press("Enter")
            page.locator(".near li").first.wait_for()
            page.keyboard.press("Escape")
            page.locator(".near").wait_for(state="detached")

    def test_the_pointer_labels_a_point_and_a_kind_can_be_hidden(self, browser: Any, address: str) -> None:
        with opened(browser, address, "embeddings") as page:
            page.wait_for_selector("[data-ready=pca]")
            page.get_by_label("Search tokens").fill("cat")
            page.keyboard.press("Enter")
            page.locator(".near li").first.wait_for()
            page.locator(".stage canvas:not([data-moving])").wait_for()  # until the map has moved
            box = page.locator(".stage").bounding_box()
            page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
            page.locator(".tip", has_text="cat").wait_for()
            shown = page.locator(".stage canvas").screenshot()
            page.get_by_label("word parts").uncheck()
            wait_until(lambda: page.locator(".stage canvas").screenshot() != shown)

    def test_without_embeddings_the_view_shows_the_commands(self, browser: Any, plain: str) -> None:
        with opened(browser, plain, "embeddings") as page:
            assert page.get_by_text("--embeddings merganser-out/embeddings").is_visible()
            assert problems(page) == []

    def test_a_frame_of_fifty_thousand_points_takes_at_most_a_thirtieth_of_a_second(
        self, browser: Any
    ) -> None:
        tokenizer = large_tokenizer(50_000)
        with (
            served({"large": tokenizer}, embeddings={"clouds": drawn(tokenizer, 50_000)}) as large,
            opened(browser, large.address, "embeddings") as page,
        ):
            page.get_by_text("50,000 tokens of clouds").wait_for()
            frames = page.evaluate(FRAMES)
            assert frames["painted"] >= 55, "every frame was drawn"
            # The shortest frame, because other processes may use the machine.
            assert frames["shortest"] <= 1000 / 30


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
