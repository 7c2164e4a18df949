"""What the studio does with a text, by mouse and by keyboard, at 1280 and 390 px, light and dark.

| item | test | mouse | keyboard | 1280 | 390 | light | dark |
|---|---|---|---|---|---|---|---|
| one session, Share | test_one_session | × | × | × | × | × | × |
| add a tokenizer | test_adding | × | × | × | × | × | × |
| first thirty seconds | test_the_first_thirty_seconds | × | × | × | × | × | × |
| whole tokens, inspector | test_tokens_and_the_inspector | × | × | × | × | × | × |
| compare | test_the_verdict | × | × | × | × | × | × |
| export | test_exports | × | × | × | × | × | × |
| vocabulary | test_the_vocabulary | × | × | × | × | × | × |
| chat | test_a_conversation | × | × | × | × | × | × |

The others are in test_items_on_work_in_browser.py. Each test checks console, requests, width, colors and axe.
"""

import base64
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import merganser
import pytest
from hands import COMBINATIONS, NAMES, Walk, shown, visit
from opened import cells, clipboard, served
from processes import wait_until

TEXT = "the cat sat on the mat, playing with naïve tokens"


@pytest.fixture(scope="module")
def nearby(small: merganser.Tokenizer, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("nearby")
    small.truncated(310).save(folder / "near.merganser")
    ranks = small.truncated(290).mergeable_ranks.items()
    lines = "".join(f"{base64.b64encode(token).decode()} {id}\n" for token, id in ranks)
    (folder / "ranks.txt").write_text(lines)
    return folder


@pytest.fixture(scope="module")
def address(small: merganser.Tokenizer, nearby: Path) -> Iterator[str]:
    with served({"small": small, "tiny": small.truncated(300)}, start=nearby) as studio:
        yield studio.address


@pytest.fixture(params=COMBINATIONS, ids=NAMES)
def walk(request: pytest.FixtureRequest, browser: Any, address: str) -> Walk:
    return Walk(browser, address, *request.param)


def test_one_session(walk: Walk) -> None:
    with walk.at("playground") as (page, hand):
        hand.write(page.locator("textarea"), TEXT)
        shown(page, TEXT)
        hand.choose(page.get_by_label("Tokenizer", exact=True), "tiny")
        visit(page, hand, "compare")
        assert page.input_value("textarea") == TEXT
        visit(page, hand, "vocabulary")
        assert page.get_by_label("Tokenizer", exact=True).input_value() == "tiny"
        page.reload()
        page.wait_for_selector("html[data-ready]")
        visit(page, hand, "playground")
        shown(page, TEXT)
        assert page.get_by_label("Tokenizer", exact=True).input_value() == "tiny"
        name, page_of_tokens = hand.saved(page.get_by_role("button", name="Share"))
        assert name == "merganser-playground.html" and b"<script" not in page_of_tokens
        with page.expect_navigation():
            hand.press(page.get_by_role("button", name="Reset"))
        page.wait_for_selector("html[data-ready]")
        assert page.input_value("textarea").startswith("The merganser dives")


def test_adding(walk: Walk, nearby: Path) -> None:
    with walk.at("playground") as (page, hand):
        chosen = page.get_by_label("Tokenizer", exact=True)
        hand.press(page.get_by_role("button", name="Add…"))
        hand.press(page.locator(".known .entry", has_text="near.merganser"))
        wait_until(lambda: chosen.input_value() == "near")
        hand.press(page.get_by_role("button", name="Add…"))
        with page.expect_file_chooser() as asked:
            hand.press(page.locator("button", has_text="Choose files"))
        asked.value.set_files(nearby / "ranks.txt")
        hand.choose(page.get_by_label("Pattern"), "gpt2")
        hand.press(page.locator(".question button"))
        wait_until(lambda: chosen.input_value().startswith("ranks"))
        hand.press(page.get_by_role("button", name="Add…"))
        page.wait_for_selector(".known .entry")
        hand.press(page.get_by_role("button", name="Close"))
        page.wait_for_selector("dialog", state="detached")


def test_the_first_thirty_seconds(walk: Walk) -> None:
    with walk.at("playground") as (page, hand):
        assert page.get_by_text("Type or paste a text and see its tokens.").is_visible()
        page.wait_for_selector(".inspector .tree", state="attached")
        assert page.locator(".cell.chosen").count() >= 3, "a token with a story is chosen in every pane"
        sizes = page.evaluate(
            """[".count strong", ".figures dd", "h2", ".token-name"].map((each) =>
              parseFloat(getComputedStyle(document.querySelector(each)).fontSize))"""
        )
        assert sizes[0] == max(sizes), "the number of tokens is the largest text"
        for name in ("Python", "中文", "Numbers"):
            before = page.input_value("textarea")
            hand.press(page.get_by_role("button", name=name, exact=True))
            wait_until(lambda before=before: page.input_value("textarea") != before)
        assert page.locator(".inspector").is_visible() == (walk.width > 600), "on a phone, it waits for a tap"


def test_tokens_and_the_inspector(walk: Walk, small: merganser.Tokenizer) -> None:
    with walk.at("playground") as (page, hand):
        hand.write(page.locator("textarea"), TEXT)
        shown(page, TEXT)
        assert "·cat" in cells(page, "Tokens")
        hand.switch(page.get_by_label("Show spaces"))
        wait_until(lambda: " cat" in cells(page, "Tokens"))
        hand.take(page.locator(".flow[aria-label=Tokens]"), 1)
        id = small.encode(TEXT)[1]
        page.wait_for_selector(f".inspector .body[data-of='{id}']")
        inspector = page.locator(".inspector")
        assert inspector.is_visible() and inspector.bounding_box()["y"] < page.viewport_size["height"] - 100
        assert f"token 2 of {len(small.encode(TEXT))}" in inspector.inner_text()
        hand.turn(page.get_by_role("tablist"), "Merges")
        inspector.get_by_role("slider").wait_for()
        hand.turn(page.get_by_role("tablist"), "Neighbors")
        inspector.get_by_text("Tokens that merge it further").wait_for()
        hand.turn(page.get_by_role("tablist"), "Token")
        hand.press(
            inspector.locator(".tree button.merge:not(:disabled), .tree button.byte:not(:disabled)").first
        )
        hand.press(inspector.get_by_role("button", name="‹ Back"))
        page.wait_for_selector(f".inspector .body[data-of='{id}']")
        if walk.width < 600:
            hand.press(page.get_by_role("button", name="Close the inspector"))
            inspector.wait_for(state="hidden")


def test_the_verdict(walk: Walk, small: merganser.Tokenizer) -> None:
    with walk.at("compare") as (page, hand):
        hand.write(page.locator("textarea"), TEXT)
        shown(page, TEXT)
        while page.get_by_role("button", name="Remove tokenizer 3").count():  # added by the tests before
            hand.press(page.get_by_role("button", name="Remove tokenizer 3"))
            page.get_by_role("button", name="Remove tokenizer 3").wait_for(state="detached")
        few, many = small.count_tokens(TEXT), small.truncated(300).count_tokens(TEXT)
        sentence = f"small {few} · tiny {many}, +{round(100 * (many / few - 1))}%"
        page.locator(".sentence", has_text=sentence).wait_for()
        hand.write(page.get_by_label("Price of a million tokens of small"), "2500000")
        page.locator(".cost", has_text=f"${2.5 * few:.1f}").first.wait_for()
        if hand.is_mouse:
            page.get_by_role("button", name="Difference ›").click()
        else:
            hand.reach(page.locator(".flow"))
            page.keyboard.press("n")
        first = page.locator(".word.chosen.differs").inner_text()
        hand.press(page.get_by_role("button", name="Difference ›"))
        assert page.locator(".word.chosen.differs").inner_text() != first
        hand.switch(page.get_by_label("Highlight only differences"))
        hand.switch(page.get_by_label("Side by side"))
        page.locator(".flow[aria-label='Tokens of tiny']").wait_for()
        hand.choose(page.get_by_label("Tokenizer 2", exact=True), "small")
        page.locator(".sentence", has_text=f"small {few} · small {few}").wait_for()


def test_exports(walk: Walk, small: merganser.Tokenizer) -> None:
    ids = small.encode(TEXT)
    with walk.at("playground") as (page, hand):
        hand.write(page.locator("textarea"), TEXT)
        shown(page, TEXT)
        menu = page.locator("summary", has_text="Export")

        def item(name: str) -> Any:
            if page.locator(".menu").get_attribute("open") is None:
                hand.press(menu)
            return page.get_by_role("button", name=name, exact=True)

        hand.press(item("Copy ids"))
        wait_until(lambda: clipboard(page) == json.dumps(ids))
        name, data = hand.saved(item("Tokens as CSV"))
        assert name == "tokens-small.csv" and len(data.splitlines()) == len(ids) + 1
        assert json.loads(hand.saved(item("Tokens as JSON"))[1])["ids"] == ids
        assert hand.saved(item("Image card"))[1].startswith(b"\x89PNG")
        assert "cells" in json.loads(hand.saved(item("Notebook"))[1])
        name, data = hand.saved(item("Tokenizer file"))
        assert name == "small.merganser" and len(data) > 1000


def test_the_vocabulary(walk: Walk, small: merganser.Tokenizer) -> None:
    with walk.at("vocabulary") as (page, hand):
        page.wait_for_selector("tbody tr")
        hand.press(page.get_by_role("button", name="Length"))
        longest = max(map(len, small.vocab))
        wait_until(lambda: page.locator("tbody tr td:nth-child(4)").first.inner_text() == str(longest))
        hand.press(page.get_by_role("button", name="Next ›"))
        page.get_by_text("101–200 of").wait_for()
        hand.choose(page.get_by_label("Search by"), "regex")
        hand.write(page.get_by_label("Search", exact=True), "^ c")
        found = [token for token in small.vocab if token.startswith(b" c")]
        page.get_by_text(f"1–{len(found)} of {len(found)} tokens").wait_for()
        hand.press(page.locator("tbody button").first)
        chosen = page.locator("tbody tr.chosen button").inner_text()
        page.locator(".inspector .token-name", has_text=chosen).wait_for()
        hand.press(page.get_by_role("button", name="Open in playground"))
        page.wait_for_selector(".view-playground textarea")
        assert page.input_value("textarea") == chosen.replace("·", " ")


def test_a_conversation(walk: Walk) -> None:
    with walk.at("chat") as (page, hand):
        page.wait_for_selector(".mask > *")
        tokens = page.locator(".figures dd").first
        before = tokens.inner_text()
        hand.press(page.get_by_role("button", name="Add message"))
        hand.write(page.locator("textarea").last, "the cat sat")
        wait_until(lambda: tokens.inner_text() != before)
        hand.press(page.get_by_role("button", name="Copy ids"))
        wait_until(lambda: len(json.loads(clipboard(page) or "[]")) == int(tokens.inner_text()))
        hand.switch(page.get_by_label("Render as a prompt"))
        page.locator(".figures", has_text="0").wait_for()
