"""The playground, compare, vocabulary and chat views, and the frame around them, in a real browser.

By mouse and keyboard, in light and dark, on a wide and a narrow screen, and with hostile text. Leaving a page
checks that nothing was loaded from another host and that the console shows no error (`opened`).
"""

import json
import re
from pathlib import Path
from typing import Any
from urllib.parse import quote

import merganser
import pytest
from hostile import HOSTILE
from merganser.chat import Chat
from merganser.tokenizer.display import TokenDisplay
from opened import MEGABYTE, Opening, address_of, cells, clipboard, pasted_and_shown, problems, typed
from processes import wait_until

VIEWS = ("playground", "compare", "vocabulary", "chat")
TEXT = "the cat sat,\n naïve 👍🏽 <|bos|>"


def test_text_that_fades_in_is_judged_when_it_is_there(studio: Opening) -> None:
    with studio("playground") as page:
        page.evaluate(
            """() => {
              const text = Object.assign(document.createElement("p"), { textContent: "fading" });
              document.querySelector("main").append(text);
              text.animate([{ opacity: 0.1 }, { opacity: 1 }], 1500);
              document.body.animate([{ opacity: 0.99 }], { duration: 500, iterations: Infinity });
            }"""
        )
        assert problems(page) == []


@pytest.mark.parametrize(("scheme", "width"), [("light", 1280), ("dark", 360)])
@pytest.mark.parametrize("view", VIEWS)
def test_every_view_fits_and_is_accessible(studio: Opening, view: str, scheme: str, width: int) -> None:
    at = {"playground": "?at=3", "vocabulary": "?id=300"}.get(view, "")
    with studio(f"{view}{at}", scheme=scheme, width=width) as page:
        if at:
            page.wait_for_selector(".tree", state="attached")  # on a phone, in a closed sheet
        assert problems(page) == []
        background = page.evaluate("getComputedStyle(document.body).backgroundColor")
        assert background == {"light": "rgb(255, 255, 255)", "dark": "rgb(23, 25, 28)"}[scheme]
        assert page.locator("nav a[aria-current=page]").count() == 1
        box = page.locator("nav a[aria-current=page]").bounding_box()
        assert box["x"] >= 0 and box["x"] + box["width"] <= width, "the menu shows the current view"


def test_typing_shows_tokens_ids_and_bytes(studio: Opening, small: merganser.Tokenizer) -> None:
    with studio("playground?text=") as page:
        page.fill("textarea", "")
        page.focus("textarea")
        page.keyboard.type("the cat\n naïve 👍🏽")
        text = "the cat\n naïve 👍🏽"
        page.wait_for_selector(f"textarea[data-shown='{len(text.encode('utf-16-le')) // 2}']")
        shown = TokenDisplay.of(small, text)
        plain = [segment.visible.strip("⟨⟩") for segment in shown.segments]
        assert cells(page, "Tokens") == plain, "white space is visible, and characters are whole"
        assert cells(page, "Ids") == [str(id) for id in shown.ids]
        assert cells(page, "Bytes") == [small.token_bytes(id).hex(" ") for id in shown.ids]
        cut = page.locator(".flow .cell.cut").all_text_contents()
        assert cut == [segment.visible.strip("⟨⟩") for segment in shown.segments if segment.split]
        assert "👍🏽" in cut[-1]
        assert page.locator(".count").inner_text() == f"{shown.tokens} tokens"
        figures = page.locator(".figures dd").all_text_contents()
        assert figures[:3] == ["17", str(shown.bytes), f"{shown.bytes_per_token:.2f}"]
        assert figures[3] == f"{shown.compression_ratio:.2f}×"


def test_pointing_at_a_token_highlights_it_in_all_panes(studio: Opening, small: merganser.Tokenizer) -> None:
    with studio(f"playground?text={quote('the cat sat')}") as page:
        ids = small.encode("the cat sat")
        for pane in ("Tokens", "Ids", "Bytes"):
            page.locator(f".flow[aria-label='{pane}'] .cell").nth(1).hover()
            lit = page.locator(".cell.lit")
            assert lit.count() == 3
            assert lit.all_text_contents()[1] == str(ids[1])
        words = page.locator(".pointed").inner_text()
        assert small.token_bytes(ids[1]).hex(" ") in words and f"token 2 of {len(ids)} · id {ids[1]}" in words
        page.mouse.move(0, 0)
        wait_until(lambda: page.locator(".cell.lit").count() == 0)


def test_special_tokens_are_plain_text_until_they_are_enabled(
    studio: Opening, small: merganser.Tokenizer
) -> None:
    with studio(f"playground?text={quote('a<|bos|>b')}") as page:
        assert len(cells(page, "Ids")) == len(small.encode("a<|bos|>b", disallowed_special=()))
        page.get_by_label("Special tokens").check()
        page.wait_for_selector(".cell.special")
        assert cells(page, "Ids") == [str(id) for id in small.encode("a<|bos|>b", allowed_special="all")]
        wait_until(lambda: "specials=1" in address_of(page))


def test_copied_python_produces_the_same_ids(
    studio: Opening, small: merganser.Tokenizer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    small.save(tmp_path / "small.merganser")
    monkeypatch.chdir(tmp_path)
    with studio(f"playground?text={quote(TEXT)}") as page:
        ids = small.encode(TEXT, disallowed_special=())
        copied = {}
        page.locator("summary", has_text="Export").click()
        for name in ("Copy ids", "Copy JSON", "Copy Python"):
            page.evaluate("navigator.clipboard.writeText('')")
            page.get_by_role("button", name=name).click()
            wait_until(lambda: clipboard(page))
            copied[name] = clipboard(page)
            page.locator("#live", has_text="Copied").wait_for(state="attached")
            page.get_by_role("button", name=name).wait_for()  # after the confirmation disappears
        assert json.loads(copied["Copy ids"]) == ids
        assert json.loads(copied["Copy JSON"])["ids"] == ids
        names: dict[str, Any] = {}
        exec(copied["Copy Python"], names)
        assert names["ids"] == ids and names["text"] == TEXT


def test_a_link_restores_the_view(studio: Opening, address: str) -> None:
    with studio("playground") as page:
        page.select_option("select >> nth=0", "tiny")
        typed(page, "näive & # ? % +\n👍")
        page.locator(".flow[aria-label=Ids] .cell").nth(2).click()
        page.wait_for_selector(".tree")
        wait_until(lambda: "text=n%C3%A4ive" in address_of(page))
        link, before = address_of(page), cells(page, "Ids")
    with studio(link.split("#/")[1]) as page:
        assert cells(page, "Ids") == before
        assert page.input_value("textarea") == "näive & # ? % +\n👍"
        page.wait_for_selector(".tree")
        assert page.locator(".cell.chosen").count() >= 3


@pytest.mark.parametrize("name", ["constructor", "toString", "nothing", "__proto__"])
def test_an_unknown_view_is_the_first_view(studio: Opening, name: str) -> None:
    with studio(name) as page:
        page.wait_for_selector(".view-playground textarea")
        assert "constructor" not in page.title()


def test_hostile_text_is_shown_as_text(studio: Opening) -> None:
    text = "\n".join(HOSTILE)
    for view in ("playground", "compare"):
        with studio(f"{view}?text={quote(text)}") as page:
            page.locator(".flow .cell").first.click()
            page.wait_for_selector(".tree" if view == "playground" else ".cell.chosen")
            shown = "".join(page.locator(".flow").first.locator(".cell").all_text_contents())
            assert "<script>window.owned=1</script>" in shown
            assert not set(page.inner_text("main")) & set("\u202e\u2066\u200b\ufeff\x1b\x07\x00\x9b\u2028")
            assert page.locator("main img, main b, main iframe, main svg, main script").count() == 0
    rows = json.dumps([["user", text], ["text", text]])
    with studio(f"chat?rows={quote(rows)}") as page:
        assert "<img" in page.inner_text(".mask").replace("\n", "") or "<" in page.inner_text(".mask")
        assert page.locator("main img, main b, main iframe, main svg, main script").count() == 0
    with studio("vocabulary?sort=length&descending=1") as page:
        assert page.locator("main img, main b, main iframe, main svg, main script").count() == 0
        assert "<" in page.inner_text("tbody")


def test_the_vocabulary_starts_with_its_first_token_inspected(studio: Opening) -> None:
    with studio("vocabulary") as page:
        page.wait_for_selector(".inspector .tree")
        first = page.locator("tbody tr").first
        assert page.locator(".inspector .token-name").inner_text() == first.locator("button").inner_text()
        assert "id=" not in address_of(page), "it was not chosen by the user"
        page.get_by_label("Tokenizer", exact=True).select_option("tiny")
        page.wait_for_selector(".inspector .tree")
    with studio("vocabulary", width=390) as page:
        page.wait_for_selector("tbody tr")
        assert page.locator(".inspector").is_hidden(), "the sheet waits for a tap"


def test_outdated_responses_are_dropped(studio: Opening) -> None:
    with studio("playground") as page:
        got = page.evaluate("""async () => {
          const { latest } = await import("./static/api.js");
          const sent = [];
          const request = latest((n) => {
            sent.push(n);
            return new Promise((done) => setTimeout(() => done(n), n ? 5 : 60));
          });
          const first = request(0);
          await new Promise((done) => setTimeout(done, 10));
          const answers = await Promise.all([first, ...[1, 2, 3].map((n) => request(n))]);
          return { sent, answers: answers.map((answer) => answer ?? "dropped") };
        }""")
        assert got == {"sent": [0, 3], "answers": ["dropped", "dropped", "dropped", 3]}


def test_edits_of_a_long_text_yield_the_same_tokens_as_the_whole_text(studio: Opening) -> None:
    with studio("playground") as page:
        wrong = page.evaluate("""async () => {
          const api = await import("./static/api.js");
          const { Encoder, Encoded } = await import("./static/tokens.js");
          const encoder = new Encoder(api);
          let text = "the cat sat on the mat 👍🏽, naïve\\n".repeat(1000);
          const parts = ["", "a", " the", "👍", "é\\n", "cat sat", "\\ud83d\\udc4d"];
          let seed = 7;
          const random = (n) => { seed = (seed * 16807) % 2147483647; return seed % n; };
          const wrong = [];
          for (let n = 0; n < 40; n += 1) {
            const at = random(text.length);
            const rest = text.slice(at + random(3));
            text = (text.slice(0, at) + parts[random(parts.length)] + rest).toWellFormed();
            const { encoded } = await encoder.encode("small", text, false);
            const { arrays } = await api.post("playground/encode", { tokenizer: "small", text });
            const whole = new Encoded(text, arrays);
            for (const key of ["ids", "ends", "cuts"]) {
              if (encoded[key].join() !== whole[key].join()) wrong.push([n, key]);
            }
          }
          return wrong;
        }""")
        assert wrong == []


def test_the_field_holds_a_part_of_a_long_text(studio: Opening, small: merganser.Tokenizer) -> None:
    with studio("playground") as page:
        pasted_and_shown(page, MEGABYTE)
        part = page.input_value("textarea")
        assert len(part) < 50_000 and MEGABYTE.endswith(part), "the caret is after the pasted text"
        assert page.get_by_text("to 100.0% of the text").count() == 1
        page.keyboard.press("Control+a")
        page.keyboard.press("Control+c")
        assert clipboard(page) == MEGABYTE

        page.get_by_role("button", name="Earlier").click()
        earlier = page.input_value("textarea")
        assert earlier != part and earlier in MEGABYTE and "\ufffd" not in earlier
        slider = page.get_by_role("slider", name="Position in the text")
        slider.fill("500000")
        middle = page.input_value("textarea")
        slider.press("ArrowRight")
        slider.press("ArrowRight")
        assert page.input_value("textarea")[:100] not in middle, "two steps of the slider show another part"
        slider.fill("500000")
        assert page.input_value("textarea") == middle
        page.focus("textarea")
        page.keyboard.type("Q")
        page.wait_for_selector(f"textarea[data-shown='{len(MEGABYTE.encode('utf-16-le')) // 2 + 1}']")
        page.keyboard.press("Control+a")
        page.keyboard.press("Control+c")
        offset = clipboard(page).index("Q")
        assert clipboard(page) == MEGABYTE[:offset] + "Q" + MEGABYTE[offset:]
        count = small.count_tokens(clipboard(page))
        assert page.locator(".count strong").inner_text() == f"{count:,}"

        page.keyboard.type("x")  # replaces the whole text, although the field holds a part
        page.wait_for_selector("textarea[data-shown='1']")
        assert page.input_value("textarea") == "x"
        assert page.get_by_text("of the text").count() == 0


def test_the_caret_can_move_past_the_part_in_the_field(studio: Opening) -> None:
    with studio("playground") as page:
        pasted_and_shown(page, MEGABYTE)
        page.keyboard.press("Control+Home")
        first = page.input_value("textarea")
        assert MEGABYTE.startswith(first)
        page.evaluate("(n) => document.querySelector('textarea').setSelectionRange(n, n)", len(MEGABYTE))
        page.keyboard.press("ArrowDown")
        second = page.input_value("textarea")
        assert not MEGABYTE.startswith(second)
        caret = page.evaluate("document.querySelector('textarea').selectionStart")
        units = second.encode("utf-16-le")
        assert first.endswith(units[: 2 * caret].decode("utf-16-le")), (
            "the caret is at the end of the first part"
        )
        assert page.evaluate("document.querySelector('textarea').scrollTop") > 1000, "the caret is visible"
        page.evaluate("document.querySelector('textarea').setSelectionRange(0, 0)")
        page.keyboard.press("ArrowUp")
        assert page.input_value("textarea") != second
        page.keyboard.press("Control+End")
        assert MEGABYTE.endswith(page.input_value("textarea"))
        page.keyboard.press("Control+a")
        page.keyboard.press("Control+x")
        page.wait_for_selector("textarea[data-shown='0']")
        assert clipboard(page) == MEGABYTE


def test_a_megabyte_has_few_elements_and_can_be_edited(studio: Opening, small: merganser.Tokenizer) -> None:
    text = MEGABYTE.replace("👍", "")[:900_000]
    with studio("playground") as page:
        pasted_and_shown(page, text)
        assert page.locator(".cell").count() < 6000
        page.keyboard.press("z")
        page.wait_for_selector("textarea[data-shown='900001']")
        count = small.count_tokens(text + "z")
        assert page.locator(".count strong").inner_text() == f"{count:,}"
        page.focus(".flow[aria-label=Ids]")
        page.keyboard.press("ArrowRight")
        page.keyboard.press("End")
        page.locator(".where", has_text=f"token {count:,} of {count:,}").wait_for()
        assert cells(page, "Ids")[-1] == str(small.encode("z")[0])
        assert page.locator(".cell").count() < 6000


def test_the_merge_tree_and_steps_of_a_token_are_shown(studio: Opening, small: merganser.Tokenizer) -> None:
    text = "the cat sat on the mat"
    with studio(f"playground?text={quote(text)}") as page:
        ids = small.encode(text)
        page.locator(".flow[aria-label=Tokens] .cell").nth(1).click()
        page.wait_for_selector(".tree")
        token = small.token_bytes(ids[1])
        assert page.locator(".node.byte").count() == len(token)
        assert page.locator(".node.merge").count() == len(token) - 1
        assert f"{small.merge_counts[ids[1]]:,}×" in page.locator(".node.merge").last.inner_text()
        page.get_by_role("tab", name="Merges").click()
        slider = page.get_by_label("Step", exact=True)
        last = int(slider.get_attribute("max"))
        assert last == len(text) - len(ids)
        assert len(page.locator(".steps .cell").all()) == len(ids)
        slider.focus()
        page.keyboard.press("Home")
        assert len(page.locator(".steps .cell").all()) == len(text)
        page.keyboard.press("ArrowRight")
        assert page.locator(".step-caption").inner_text().startswith(f"Step 1 of {last}")
        assert page.locator(".steps .merged").count() == 1
        page.get_by_role("button", name="Next step").click()
        assert slider.input_value() == "2"
        # Evaluated in the page, without the latency of Playwright: it plays some steps and stops when paused.
        assert page.evaluate("""async () => {
          const [play, slider] = document.querySelectorAll(".stepper .primary, .stepper input");
          play.click();
          const playing = play.textContent;
          while (Number(slider.value) <= 3) await new Promise(requestAnimationFrame);
          play.click();
          return [playing, play.textContent, Number(slider.value)];
        }""") == ["Pause", "Play", 4]


def test_the_skip_link_moves_the_focus_at_once_and_never_later(studio: Opening) -> None:
    with studio("playground?text=cat") as page:
        before = address_of(page)
        focused = page.evaluate(
            """() => {
              document.querySelector(".skip").click();
              const first = document.activeElement.id;
              document.querySelector("textarea").focus();
              const focused = () => [first, document.activeElement.id];
              return new Promise((resolve) => setTimeout(() => resolve(focused()), 300));
            }"""
        )
        assert focused == ["view", "text"]
        assert address_of(page).startswith(before)


def test_the_playground_works_by_keyboard_alone(studio: Opening) -> None:
    with studio(f"playground?text={quote('the cat sat')}") as page:
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.className") == "skip"
        page.keyboard.press("Enter")
        for _ in range(40):
            page.keyboard.press("Tab")
            if page.evaluate("document.activeElement.getAttribute('aria-label')") == "Tokens":
                break
        outline = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
        assert outline == "solid", "the focus is visible"
        page.keyboard.press("Home")
        page.keyboard.press("ArrowRight")
        page.wait_for_selector(".tree")
        page.locator(".where", has_text="token 2 of").wait_for()
        assert page.locator(".cell.chosen").count() == 3
        assert "id" in page.inner_text("#live") or page.locator("#live").text_content()
        page.keyboard.press("ArrowLeft")
        page.locator(".where", has_text="token 1 of").wait_for()
        page.locator("nav a", has_text="Vocabulary").focus()
        page.keyboard.press("Enter")
        page.wait_for_selector(".view-vocabulary")
        assert page.title().startswith("Vocabulary")
        page.go_back()
        page.wait_for_selector(".view-playground")


def test_a_view_that_ends_its_work_after_it_was_left_does_not_keep_the_page(studio: Opening) -> None:
    with studio("vocabulary") as page:
        page.wait_for_selector(".view-vocabulary button.token")
        # The address has changed, the event that tells of it comes later, and in between the view has news.
        page.evaluate("""() => {
          location.hash = "#/playground";
          document.querySelector(".view-vocabulary button.token").click();
        }""")
        page.wait_for_selector(".view-playground")
        assert "id=" not in page.evaluate("location.hash")


def test_the_color_scheme_can_be_switched_and_is_remembered(studio: Opening) -> None:
    with studio("playground", scheme="light") as page:
        page.focus("#theme")
        page.keyboard.press("Enter")
        page.keyboard.press("Enter")
        background = "getComputedStyle(document.body).backgroundColor"
        assert page.evaluate(background) == "rgb(23, 25, 28)"
        page.reload()
        page.wait_for_selector("html[data-ready]")
        assert page.evaluate(background) == "rgb(23, 25, 28)"
        assert "dark" in page.get_attribute("#theme", "aria-label")


@pytest.mark.parametrize("width", [1280, 390])
def test_no_number_of_the_vocabulary_is_cut(studio: Opening, width: int) -> None:
    """Also where tokens are long, and with the card of a token beside the table."""
    with studio("vocabulary?sort=length&descending=1&id=300", width=width) as page:
        page.wait_for_selector(".view-vocabulary tbody tr")
        cut = page.evaluate("""() => {
          const region = document.querySelector(".view-vocabulary .scroll").getBoundingClientRect();
          const cells = [...document.querySelectorAll(".view-vocabulary :is(th, td).number")];
          const isCut = (cell) => cell.scrollWidth > cell.clientWidth + 1
            || cell.getBoundingClientRect().right > region.right + 1;
          const shown = cells.filter((cell) => cell.offsetParent !== null);
          return shown.filter(isCut).map((cell) => cell.textContent);
        }""")
        assert cut == []
        assert page.locator("tbody td.number:visible").count() >= 2 * page.locator("tbody tr").count()


def test_the_vocabulary_can_be_searched(studio: Opening, small: merganser.Tokenizer) -> None:
    with studio("vocabulary") as page:
        counts = page.locator("tbody tr td:last-child").all_text_contents()
        numbers = [int(count.replace(",", "")) for count in counts if count != "–"]
        assert numbers == sorted(numbers, reverse=True) and len(numbers) > 50
        page.fill("#query", "cat")
        found = [id for token, id in small.vocab.items() if b"cat" in token]
        page.get_by_text(f"1–{len(found)} of {len(found)} tokens").wait_for()
        page.get_by_label("Search by").select_option("regex")
        page.fill("#query", "^ c[a-z]+$")
        found = {f"·{token[1:].decode()}" for token in small.vocab if re.match(rb" c[a-z]+$", token)}
        wait_until(lambda: set(page.locator("button.token").all_text_contents()) == found)
        page.fill("#query", "(")
        page.get_by_text("invalid regular expression").wait_for()
        page.get_by_label("Search by").select_option("id")
        page.fill("#query", "300-304")
        page.get_by_text("1–5 of 5 tokens").wait_for()
        page.get_by_role("button", name="Length").click()
        page.wait_for_selector("th[aria-sort=descending] >> text=Length")
        page.locator("button.token").first.click()
        page.wait_for_selector(".tree")
        page.get_by_role("button", name="Open in playground").click()
        page.wait_for_selector(".view-playground .flow .cell")


def test_chat_shows_which_tokens_are_trained(studio: Opening, small: merganser.Tokenizer) -> None:
    rows = [["user", "hi there"], ["python", "1+1"], ["python_output", "2"], ["text", "two"]]
    with studio(f"chat?rows={quote(json.dumps(rows))}&tokenizer=small") as page:
        parts = [{"type": kind, "text": text} for kind, text in rows[1:]]
        messages = [{"role": "user", "content": "hi there"}, {"role": "assistant", "content": parts}]
        ids, mask = Chat(small).render(messages)
        assert page.locator(".mask bdi").count() == len(ids)
        classes = [cell.get_attribute("class") for cell in page.locator(".mask bdi").all()]
        assert ["trained" in kinds.split() for kinds in classes] == [bool(trained) for trained in mask]
        captions = page.locator(".mask small").all_text_contents()
        assert captions[0] == f"{ids[0]} not trained", "not by color alone"
        page.get_by_label("Message 4", exact=True).fill("it is two")
        messages[1]["content"][-1]["text"] = "it is two"  # type: ignore[index]
        ids, _ = Chat(small).render(messages)
        wait_until(lambda: page.locator(".mask bdi").count() == len(ids))
        page.get_by_role("button", name="Remove message 1").click()
        page.get_by_text("must be from 'user'").wait_for()
        page.get_by_role("button", name="Add message").click()
        assert page.evaluate("document.activeElement.getAttribute('aria-label')") == "Message 4"


def test_a_view_that_is_left_while_loading_does_not_change_the_url(studio: Opening) -> None:
    with studio("ladder") as page:
        held: list[Any] = []
        page.route("**/api/playground/encode", lambda route: held.append(route))  # noqa: PLW0108
        page.get_by_role("link", name="Playground").click()
        wait_until(lambda: page.evaluate("true") and held)
        page.get_by_role("link", name="Train").click()
        page.wait_for_selector(".settings-form")
        with page.expect_response("**/api/playground/encode"):
            held[0].continue_()
        # It would update the URL after 250 ms; timers fire in order.
        page.evaluate("() => new Promise((done) => setTimeout(done, 400))")
        assert address_of(page).endswith("#/train")


def test_the_page_reports_that_the_server_is_gone(studio: Opening) -> None:
    with studio("playground") as page:
        page.evaluate("() => { window.fetch = () => Promise.reject(new TypeError('gone')); }")
        page.fill("textarea", "x")
        page.get_by_text("does not respond. Check that").wait_for()
