"""The theatre in a real browser: by mouse and by keyboard, wide and narrow, with and without motion."""

from collections.abc import Iterator
from typing import Any

import merganser
import pytest
from opened import address_of, opened, problems, served
from processes import wait_until

TEXT = "the cat sat on the mat and the rat sat on the cat " * 3
STEP = "Number(document.querySelector('.transport input[type=range]').value)"


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with served({"<b>two</b>": merganser.train([TEXT], 270)}) as running:
        yield running.address


def loaded(page: Any) -> None:
    page.wait_for_selector(".view-theatre[data-ready]")


@pytest.mark.parametrize(("scheme", "width"), [("light", 1280), ("dark", 390)])
def test_merges_glide_and_pairs_race_by_keyboard(browser: Any, address: str, scheme: str, width: int) -> None:
    with opened(browser, address, "theatre", scheme=scheme, width=width) as page:
        loaded(page)
        bytes_shown = page.locator(".tiles .tile").count()
        assert page.locator(".race li").count() == 5
        leader = page.locator(".race li.next")
        assert page.locator(".race li").first.get_attribute("class") == "next"
        first = leader.inner_text()
        assert page.locator(".tiles .tile.left").count() > 1, "the pair is marked before it is merged"
        page.keyboard.press("ArrowRight")
        page.locator(".tiles .tile.fresh").first.wait_for()
        assert page.locator(".tile.ghost").count() > 0, "two halves glide together"
        assert page.evaluate(STEP) == 1
        page.locator(".tile.ghost").first.wait_for(state="detached")
        assert page.locator(".tiles .tile").count() < bytes_shown
        assert leader.inner_text() != first
        page.keyboard.press("ArrowLeft")
        assert page.evaluate(STEP) == 0 and page.locator(".tiles .tile").count() == bytes_shown
        page.keyboard.press("End")
        assert page.locator(".race li").count() == 0 and "Nothing is left" in page.inner_text(
            ".merge-caption"
        )
        page.keyboard.press("Home")
        page.keyboard.press("Space")
        wait_until(lambda: page.evaluate(STEP) >= 2)
        page.keyboard.press("Space")
        page.get_by_role("button", name="Play", exact=True).wait_for()
        stopped = page.evaluate(STEP)
        page.wait_for_timeout(1300)
        assert page.evaluate(STEP) == stopped, "paused"
        assert f"step={stopped}" in address_of(page)
        assert problems(page) == []


def test_buttons_speed_scrubbing_and_tokens_work_by_mouse(browser: Any, address: str) -> None:
    with opened(browser, address, "theatre") as page:
        loaded(page)
        page.get_by_role("button", name="Next merge").click()
        page.get_by_role("button", name="Next merge").click()
        assert page.evaluate(STEP) == 2 and page.locator(".newest li").count() == 2
        page.locator(".newest button").last.click()
        assert page.evaluate(STEP) == 1
        box = page.get_by_label("Merges so far").bounding_box()
        page.mouse.click(box["x"] + box["width"] - 3, box["y"] + box["height"] / 2)
        wait_until(lambda: page.get_by_role("button", name="Last", exact=True).is_disabled())
        page.get_by_label("Speed").select_option("20")
        page.get_by_role("button", name="Play", exact=True).click()
        wait_until(lambda: "Nothing is left" in page.inner_text(".merge-caption"))
        page.get_by_role("button", name="Play", exact=True).wait_for()  # it stops at the end


def test_a_text_is_typed_and_shared_with_the_other_views(browser: Any, address: str) -> None:
    with opened(browser, address, "theatre") as page:
        loaded(page)
        page.get_by_label("Text", exact=True).fill("low lower lowest <b>low</b>")
        page.get_by_label("Text", exact=True).press("Space")  # a key of the field, not of the stage
        assert page.get_by_role("button", name="Play", exact=True).is_visible()
        page.get_by_role("button", name="Use this text").click()
        page.locator(".merge-caption", has_text="l + o → lo, 4×").wait_for()
        page.reload()
        loaded(page)
        assert page.get_by_label("Text", exact=True).input_value().startswith("low lower lowest")
        assert page.locator("b").count() == 0


def test_a_training_opens_the_replay_of_its_vocabulary(browser: Any, address: str) -> None:
    with opened(browser, address, "train?size=300") as page:
        page.get_by_label("Vocabulary size", exact=True).fill("280")
        page.get_by_label("Name").fill("mine")
        page.get_by_role("button", name="Train", exact=True).click()
        page.get_by_role("button", name="Watch the merges").click()
        page.wait_for_selector("[data-ready=replay]")
        assert page.get_by_label("Tokenizer", exact=True).input_value() == "mine"
        assert page.get_by_text("counted in the whole training corpus").is_visible()
        page.locator(".merge-caption", has_text="Merge 1 of 24").wait_for()
        page.get_by_label("Tokenizer", exact=True).select_option("<b>two</b>")
        page.get_by_text("in the order of the vocabulary").wait_for()
        assert problems(page) == []


def test_merges_can_be_skipped_only_if_some_are_not_in_the_text(browser: Any, address: str) -> None:
    with opened(browser, address, "theatre") as page:
        loaded(page)
        skip = page.get_by_label("Skip merges that are not in this text")
        assert skip.is_hidden(), "all merges are learned from this text"
    with opened(browser, address, "train?size=300&name=to-skip") as page:
        page.get_by_role("button", name="Train", exact=True).click()
        page.get_by_role("button", name="Watch the merges").click()
        page.wait_for_selector("[data-ready=replay]")
        page.get_by_label("Show its training text").uncheck()
        page.get_by_label("Text", exact=True).fill("wood")
        page.get_by_role("button", name="Use this text").click()
        page.get_by_label("Skip merges that are not in this text").wait_for()


def test_without_motion_nothing_glides(browser: Any, address: str) -> None:
    with opened(browser, address, "theatre") as page:
        page.emulate_media(reduced_motion="reduce")
        loaded(page)
        page.keyboard.press("ArrowRight")
        assert page.evaluate("document.querySelectorAll('.ghost').length") == 0
        assert page.evaluate("document.getAnimations().length") == 0
        assert page.evaluate(STEP) == 1


def test_errors_say_what_to_do(browser: Any, address: str) -> None:
    with opened(browser, address, "theatre", expected="status of 400") as page:
        loaded(page)
        page.get_by_label("Text", exact=True).fill("")
        page.get_by_role("button", name="Use this text").click()
        page.locator("[role=alert]", has_text="the text is empty; write something to merge").wait_for()
