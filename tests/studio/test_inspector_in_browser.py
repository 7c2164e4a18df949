"""The inspector, whole tokens, stable colors and examples of the playground, in a real browser."""

from typing import Any
from urllib.parse import quote

import merganser
import pytest
from opened import Opening, address_of, cells, problems, typed, visited
from processes import wait_until

#: A family of four: one visible character, of many tokens.
FAMILY = "👨\u200d👩\u200d👧\u200d👦"


def shown_id(page: Any) -> str:
    """Return the id in the inspector."""
    id: str = page.locator(".inspector .facts dd").first.inner_text()
    return id


def test_a_token_with_a_story_is_open_at_the_start(studio: Opening) -> None:
    with studio("playground") as page:
        page.wait_for_selector(".inspector .tree .node.merge")
        assert page.locator(".flow[aria-label=Tokens] .cell.chosen").count() == 1
        size = page.evaluate("parseFloat(getComputedStyle(document.querySelector('.count strong')).fontSize)")
        assert size > 30, "the count is large"
        assert page.get_by_text("Type or paste a text and see its tokens").count() == 1


def test_examples_are_chips(studio: Opening, small: merganser.Tokenizer) -> None:
    from merganser.studio.playground import EXAMPLES

    with studio("playground") as page:
        for name, text in EXAMPLES.items():
            chip = page.locator(".chip", has_text=name)
            chip.focus()
            page.keyboard.press("Enter")
            page.wait_for_selector(f"textarea[data-shown='{len(text.encode('utf-16-le')) // 2}']")
            count = len(small.encode(text, disallowed_special=()))
            assert page.locator(".count strong").inner_text() == f"{count:,}", f"{name}, unchanged"
        arabic = page.locator(".chip", has_text="العربية")
        arabic.click()
        page.wait_for_selector(".block[dir=rtl]")


def test_the_inspector_follows_the_text_and_the_tokenizer(
    studio: Opening, small: merganser.Tokenizer
) -> None:
    with studio(f"playground?text={quote('the cat sat')}") as page:
        page.locator(".flow[aria-label=Ids] .cell").nth(1).click()
        ids = small.encode("the cat sat")
        wait_until(lambda: shown_id(page) == str(ids[1]))
        typed(page, "oh, the cat sat")
        assert shown_id(page) == str(ids[1]), "it is still there, further on"
        wait_until(lambda: page.locator(".flow[aria-label=Ids] .cell.chosen").count() == 1)
        assert page.locator(".flow[aria-label=Ids] .cell.chosen").inner_text() == str(ids[1])
        page.get_by_label("Tokenizer", exact=True).select_option("tiny")
        tiny = small.truncated(300)
        other = next(
            id
            for id, (start, end) in zip(*tiny.encode_with_offsets("oh, the cat sat")[:2], strict=True)
            if start <= 7 < end
        )
        wait_until(lambda: shown_id(page) == str(other))
        typed(page, "nothing of it")
        page.locator(".inspector", has_text="Click a token to see how it was built").wait_for()
        assert page.locator(".inspector .tree").count() == 0
        assert page.locator(".cell.chosen").count() == 0
        wait_until(lambda: "at=" not in address_of(page))


def test_the_chosen_token_travels_and_survives_a_reload(studio: Opening) -> None:
    with studio(f"playground?text={quote('the cat sat')}") as page:
        page.locator(".flow[aria-label=Ids] .cell").nth(2).click()
        id = page.locator(".flow[aria-label=Ids] .cell").nth(2).inner_text()
        wait_until(lambda: shown_id(page) == id)
        visited(page, "vocabulary")
        page.wait_for_selector(".inspector .tree")
        assert shown_id(page) == id
        visited(page, "playground")
        wait_until(lambda: shown_id(page) == id)
        page.wait_for_timeout(400)
        page.reload()
        page.wait_for_selector("html[data-ready]")
        wait_until(lambda: shown_id(page) == id)


#: Returns the rectangles of every cell, and whether lines break only where they must.
WHOLE = """() => {
  const flow = document.querySelector(".flow[aria-label='%s']");
  const all = [...flow.querySelectorAll(".cell")];
  const width = flow.clientWidth - 20;
  const broken = all.filter((cell) => cell.getClientRects().length > 1 + cell.classList.contains("line-end"));
  const early = [];
  for (let n = 1; n < all.length; n += 1) {
    const [before, after] = [all[n - 1].getBoundingClientRect(), all[n].getBoundingClientRect()];
    if (all[n - 1].classList.contains("line-end") || Math.abs(after.top - before.top) < 3) continue;
    const room = flow.getBoundingClientRect().left + 10 + width - before.right;
    if (after.width + 3 < room) early.push([n, all[n].textContent, room]);
  }
  const tall = all.filter((cell) => cell.getBoundingClientRect().height > 30 && cell.textContent.length < 60);
  return { cells: all.length, broken: broken.length, early, tall: tall.length };
}"""


@pytest.mark.parametrize("width", [1280, 390])
def test_tokens_are_whole_and_lines_break_only_in_the_text_or_at_the_edge(
    studio: Opening, width: int
) -> None:
    line = "the cat sat on the mat, playing with naïve tokens; " * 14  # several blocks without a line break
    for spaces in ("", "&spaces=0"):
        with studio(f"playground?text={quote(line + chr(10) + line)}{spaces}", width=width) as page:
            for pane in ("Tokens", "Ids", "Bytes"):
                got = page.evaluate(WHOLE % pane)
                assert got["cells"] > 100
                assert (got["broken"], got["early"], got["tall"]) == (0, [], 0), pane
            assert page.locator(".flow[aria-label=Tokens] .block").count() > 1


def test_spaces_are_shown_or_real(studio: Opening) -> None:
    with studio(f"playground?text={quote('the cat')}") as page:
        assert cells(page, "Tokens")[-1].startswith("·")
        page.get_by_label("Show spaces").uncheck()
        assert cells(page, "Tokens")[-1].startswith(" ")
        wait_until(lambda: "spaces=0" in address_of(page))


def test_colors_agree_between_the_panes_and_do_not_drift_while_typing(studio: Opening) -> None:
    with studio(f"playground?text={quote(f'a {FAMILY} the cat 👍🏽 sat on the mat')}") as page:
        colors = """() => {
          const of = (pane) => [...document.querySelectorAll(`.flow[aria-label=${pane}] .cell`)]
            .flatMap((cell) => Array(cell.to - cell.from).fill(getComputedStyle(cell).backgroundColor));
          return { tokens: of("Tokens"), ids: of("Ids"), bytes: of("Bytes") };
        }"""
        page.evaluate("document.querySelectorAll('.cell').forEach((cell) => cell.classList.remove('chosen'))")
        before = page.evaluate(colors)
        assert before["tokens"] == before["ids"] == before["bytes"]
        assert len(set(before["tokens"])) > 3
        typed(page, f"a a {FAMILY} the cat 👍🏽 sat on the mat")
        page.evaluate("document.querySelectorAll('.cell').forEach((cell) => cell.classList.remove('chosen'))")
        after = page.evaluate(colors)
        assert after["tokens"][-12:] == before["tokens"][-12:]


def test_all_tokens_of_a_character_are_listed(studio: Opening, small: merganser.Tokenizer) -> None:
    ids = small.encode(FAMILY)
    assert len(ids) > 8
    with studio(f"playground?text={quote(FAMILY)}") as page:
        page.locator(".flow[aria-label=Tokens] .cell").first.click()
        parts = page.locator(".inspector .parts button")
        wait_until(lambda: parts.count() == len(ids))
        assert parts.all_text_contents() == [str(id) for id in ids]
        assert page.get_by_text(f"{len(ids)} tokens share this character").count() == 1
        parts.nth(len(ids) - 1).click()
        wait_until(lambda: shown_id(page) == str(ids[-1]))


def test_pointing_moves_nothing(studio: Opening) -> None:
    boxes = """() => [...document.querySelectorAll("main section, main textarea, .inspector, .flow")]
      .map((each) => JSON.stringify(each.getBoundingClientRect()))"""
    with studio(f"playground?text={quote(f'the {FAMILY} cat sat')}", width=1280) as page:
        page.wait_for_selector(".inspector .facts, .inspector p")
        before = page.evaluate(boxes)
        for nth in (0, 1, 2):
            page.locator(".flow[aria-label=Tokens] .cell").nth(nth).hover()
            page.wait_for_selector(".cell.lit")
            assert page.evaluate(boxes) == before
        page.locator(".flow[aria-label=Tokens] .cell.cut").first.click()
        page.wait_for_selector(".inspector .parts button")
        assert page.evaluate(boxes) == before, "the inspector has a fixed height"


def test_the_tree_can_be_walked_and_tabs_turned_by_keyboard(
    studio: Opening, small: merganser.Tokenizer
) -> None:
    with studio(f"playground?text={quote('the cat playing')}") as page:
        page.locator(".flow[aria-label=Tokens]").focus()
        page.keyboard.press("End")
        id = small.encode("the cat playing")[-1]
        wait_until(lambda: shown_id(page) == str(id))
        assert "," not in shown_id(page), "an id has no thousands separator"
        node = page.locator(".inspector .node.merge:not(:disabled)").first
        node.focus()
        page.keyboard.press("Enter")
        wait_until(lambda: shown_id(page) != str(id))
        page.get_by_role("button", name="‹ Back").click()
        wait_until(lambda: shown_id(page) == str(id))
        page.get_by_role("tab", name="Token").focus()
        page.keyboard.press("ArrowRight")
        page.wait_for_selector(".inspector .stepper")
        assert page.get_by_role("tab", name="Merges").get_attribute("aria-selected") == "true"
        page.keyboard.press("ArrowRight")
        page.get_by_text("Tokens that merge it further").wait_for()
        assert "No embeddings of small are loaded" in page.locator(".inspector").inner_text()
        page.keyboard.press("ArrowRight")
        page.wait_for_selector(".inspector .tree")
        page.keyboard.press("ArrowLeft")
        page.get_by_text("Tokens that merge it further").wait_for()
        visited(page, "vocabulary")
        page.get_by_text("Tokens that merge it further").wait_for()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_on_a_phone_the_card_of_a_tapped_token_is_on_the_screen(studio: Opening, scheme: str) -> None:
    with studio("playground", scheme=scheme, width=390) as page:
        assert not page.locator(".inspector").is_visible(), "the sheet waits for a tap"
        page.locator(".flow[aria-label=Tokens] .cell").nth(2).click()
        page.wait_for_selector(".inspector.open .tree")
        box = page.locator(".inspector").bounding_box()
        assert box["y"] >= 0 and box["y"] + box["height"] <= 900 and box["width"] <= 390
        assert page.locator(".inspector .facts dd").first.is_visible()
        tapped = page.locator(".flow[aria-label=Tokens] .cell.chosen").bounding_box()
        assert 0 < tapped["y"] < tapped["y"] + tapped["height"] <= box["y"], "the token is not covered"
        assert problems(page) == []
        page.get_by_role("button", name="Close the inspector").click()
        assert not page.locator(".inspector").is_visible()


def test_a_tokenizer_without_special_tokens_says_so(browser: Any) -> None:
    from opened import opened, served

    plain = merganser.Tokenizer({bytes([byte]): byte for byte in range(256)})
    with served({"plain": plain}) as studio, opened(browser, studio.address, "playground") as page:
        assert page.get_by_label("Special tokens").is_disabled()
        assert page.get_by_text("(this tokenizer has none)").is_visible()
        visited(page, "compare")
        page.locator(".verdicts li").first.wait_for()
        assert page.locator(".verdicts li").count() == 1, "it is not compared with itself"
        assert page.get_by_text("Add a tokenizer to compare with").count() == 1
