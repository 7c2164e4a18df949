"""Compare as a verdict, in a real browser: numbers, alignment by word, differences, prices."""

from typing import Any
from urllib.parse import quote

import merganser
import pytest
from hostile import HOSTILE
from opened import Opening, cells, problems, typed, visited
from processes import wait_until

TEXT = "the cat sat on the mat, playing with naïve tokens"
BOTH = quote("small\ntiny")


def counts(page: Any) -> list[int]:
    return [int(text.replace(",", "")) for text in page.locator(".verdicts .tokens").all_text_contents()]


def test_the_verdict_comes_first(studio: Opening, small: merganser.Tokenizer) -> None:
    with studio(f"compare?with={BOTH}&text={quote(TEXT)}") as page:
        few, many = small.count_tokens(TEXT), small.truncated(300).count_tokens(TEXT)
        assert counts(page) == [few, many]
        more = round(100 * (many / few - 1))
        assert page.locator(".sentence").inner_text() == f"small {few} · tiny {many}, +{more}%"
        widths = [
            page.locator(".verdicts .fill").nth(n).bounding_box()["width"]
            / page.locator(".verdicts .bar-track").nth(n).bounding_box()["width"]
            for n in (0, 1)
        ]
        assert widths == pytest.approx([few / many, 1], abs=0.02)


@pytest.mark.parametrize(("scheme", "width"), [("light", 1280), ("dark", 390)])
def test_words_are_aligned_and_the_next_difference_is_a_key_away(
    studio: Opening, small: merganser.Tokenizer, scheme: str, width: int
) -> None:
    with studio(f"compare?with={BOTH}&text={quote(TEXT)}", scheme=scheme, width=width) as page:
        columns = page.locator(".word")
        rows = columns.evaluate_all("""(all) => all.map((word) =>
          [...word.querySelectorAll(".row-of")].map((row) => row.textContent))""")
        assert all(row[0] == row[1] for row in rows), "the same characters in both rows"
        assert "".join(row[0] for row in rows).replace("·", " ") == TEXT
        tokens = page.locator(".word .row-of:first-child .token-cell").all_text_contents()
        assert len(tokens) == small.count_tokens(TEXT)
        page.locator("body").click(position={"x": 2, "y": 2})
        seen = []
        differing = page.locator(".word.differs").count()
        assert 0 < differing < columns.count()
        for _ in range(differing):
            page.keyboard.press("n")
            seen.append(page.locator(".word.chosen.differs").inner_text())
        assert len(set(seen)) == differing
        page.keyboard.press("n")
        page.get_by_text("No more differences after this one").wait_for()
        page.keyboard.press("p")
        assert page.locator(".word.chosen").inner_text() == seen[-2]
        page.get_by_role("button", name="Difference ›").click()
        assert page.locator(".word.chosen").inner_text() == seen[-1]
        assert "small: " in page.locator(".pointed").inner_text()
        assert problems(page) == []
        page.focus("textarea")
        page.keyboard.type("n")
        assert page.input_value("textarea").count("n") == TEXT.count("n") + 1, "in a field it is a letter"


def test_side_by_side_panes_scroll_together(studio: Opening) -> None:
    text = "".join(f"{n}: {TEXT}\n" for n in range(200))
    with studio(f"compare?with={BOTH}&layout=side&text={quote(text[:3900])}", width=1280) as page:
        page.wait_for_selector(".flow[aria-label='Tokens of tiny'] .cell")
        first = "(flow) => flow.scrollTop"
        page.locator(".flow[aria-label='Tokens of small']").evaluate("(flow) => { flow.scrollTop = 300; }")
        other = page.locator(".flow[aria-label='Tokens of tiny']")
        wait_until(lambda: other.evaluate(first) > 100)
        top = """(flow) => {
          const edge = flow.getBoundingClientRect().top + 4;
          const isBelow = (cell) => cell.getBoundingClientRect().bottom > edge;
          const cell = [...flow.querySelectorAll(".cell")].find(isBelow);
          return flow.flow.encoded.end(cell.from);
        }"""
        one = page.locator(".flow[aria-label='Tokens of small']").evaluate(top)
        wait_until(lambda: abs(other.evaluate(top) - one) < 60)
        page.locator(".flow[aria-label='Tokens of small'] .cell.differs").nth(30).hover()
        assert page.locator(".flow[aria-label='Tokens of tiny'] .cell.lit").count() >= 1


def test_tokenizers_are_added_removed_and_remembered(studio: Opening) -> None:
    with studio(f"compare?with={BOTH}&text={quote(TEXT)}") as page:
        another = page.get_by_role("button", name="Compare with another")
        another.click()
        page.locator(".verdicts li").nth(2).wait_for()
        assert another.is_disabled(), "all that are loaded are shown"
        page.get_by_role("button", name="Remove tokenizer 3").click()
        page.locator(".verdicts li").nth(2).wait_for(state="detached")
        another.click()
        page.locator(".verdicts li").nth(2).wait_for()
        price = page.locator(".price input").first
        price.focus()
        page.keyboard.type("2.5")
        tokens = counts(page)[0]
        cost = page.locator(".cost").first
        assert float(cost.inner_text().removeprefix("$")) == pytest.approx(tokens * 2.5e-6, rel=0.01)
        typed(page, TEXT * 3)
        assert float(cost.inner_text().removeprefix("$")) == pytest.approx(counts(page)[0] * 2.5e-6, rel=0.01)
        visited(page, "chat")
        visited(page, "compare")
        page.locator(".verdicts li").nth(2).wait_for()
        assert page.locator(".price input").first.input_value() == "2.5"


def test_a_link_with_an_unknown_tokenizer_says_so(studio: Opening) -> None:
    with studio(f"compare?with={quote(f'small{chr(10)}nowhere')}") as page:
        page.locator("#notice", has_text="nowhere is not loaded in this studio").wait_for()
        page.locator(".verdicts li").first.wait_for()
        assert page.locator(".verdicts li").count() == 1


def test_columns_cover_every_token_of_any_text(studio: Opening) -> None:
    with studio("compare") as page:
        for text in [
            *HOSTILE,
            "👍🏽👨\u200d👩\u200d👧\u200d👦 a\r\n\r\nb",
            "",
            " ",
            "東京タワー" * 30,
            "a" * 500,
        ]:
            got = page.evaluate(
                """async (text) => {
                  const api = await import("./static/api.js");
                  const { Encoded } = await import("./static/tokens.js");
                  const { Words } = await import("./static/words.js");
                  const request = { tokenizers: ["small", "tiny"], text };
                  const { arrays } = await api.post("compare/encode", request);
                  const all = [0, 1].map((n) => new Encoded(text, arrays.slice(4 * n, 4 * n + 3)));
                  const words = new Words(all);
                  return { end: words.ends.at(-1) ?? 0, size: text.length,
                    tokens: all.map((each, n) => [words.firsts[n].at(-1), each.count]) };
                }""",
                text.encode("utf-8", "replace").decode(),
            )
            assert got["end"] == got["size"]
            assert all(covered == count for covered, count in got["tokens"])


def test_cells_of_side_panes_are_the_tokens(studio: Opening, small: merganser.Tokenizer) -> None:
    with studio(f"compare?with={BOTH}&text={quote(TEXT)}") as page:
        page.get_by_label("Side by side").check()
        page.wait_for_selector(".flow[aria-label='Tokens of tiny'] .cell")
        assert len(cells(page, "Tokens of small")) == small.count_tokens(TEXT)
