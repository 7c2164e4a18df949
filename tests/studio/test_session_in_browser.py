"""The session of a tab: what survives navigation, Back, a reload, a new tab, and a restart of the studio."""

from urllib.parse import quote

from opened import MEGABYTE, Opening, address_of, pasted_and_shown, typed, visited
from processes import wait_until


def test_text_and_tokenizer_travel_with_the_navigation(studio: Opening) -> None:
    with studio("playground") as page:
        page.select_option("select >> nth=0", "tiny")
        typed(page, "one text for all views")
        visited(page, "compare")
        assert page.input_value("textarea") == "one text for all views"
        typed(page, "edited in compare")
        visited(page, "vocabulary")
        assert page.get_by_label("Tokenizer", exact=True).input_value() == "tiny"
        visited(page, "chat")
        assert page.get_by_label("Tokenizer", exact=True).input_value() == "tiny"
        visited(page, "playground")
        assert page.input_value("textarea") == "edited in compare"
        assert page.get_by_label("Tokenizer", exact=True).input_value() == "tiny"
        page.go_back()
        page.go_back()
        page.go_back()
        page.wait_for_selector(".view-compare textarea")
        page.go_back()
        page.wait_for_selector(".view-playground textarea")
        assert page.input_value("textarea") == "edited in compare", "Back does not undo what was typed later"


def test_an_empty_text_stays_empty(studio: Opening) -> None:
    with studio("playground") as page:
        typed(page, "")
        visited(page, "compare")
        assert page.input_value("textarea") == ""


def test_a_long_text_survives_back_a_reload_and_a_new_tab(studio: Opening) -> None:
    with studio("playground") as page:
        pasted_and_shown(page, MEGABYTE)
        size = len(MEGABYTE.encode("utf-16-le")) // 2
        tokens = page.locator(".count strong").inner_text()
        visited(page, "vocabulary")
        page.go_back()
        page.wait_for_selector(f"textarea[data-shown='{size}']")
        page.wait_for_timeout(500)  # the session is written 300 ms after the last change
        page.reload()
        page.wait_for_selector(f"textarea[data-shown='{size}']")
        assert page.locator(".count strong").inner_text() == tokens
        other = page.context.new_page()
        other.goto(page.url.partition("#")[0])
        other.wait_for_selector(f"textarea[data-shown='{size}']")
        other.focus("textarea")
        other.keyboard.press("Control+a")
        other.keyboard.type("of the second tab")
        other.wait_for_selector("textarea[data-shown='17']")
        other.wait_for_timeout(500)
        page.reload()
        page.wait_for_selector(f"textarea[data-shown='{size}']")
        other.reload()
        other.wait_for_selector("textarea[data-shown='17']")


def test_a_reload_at_once_keeps_what_was_typed(studio: Opening) -> None:
    with studio("playground") as page:
        typed(page, "typed a moment ago")
        page.reload()
        page.wait_for_selector("textarea[data-shown='18']")


def test_a_link_wins_over_the_session(studio: Opening) -> None:
    with studio("playground") as page:
        typed(page, "the text of the session")
        page.get_by_label("Special tokens").check()
        wait_until(lambda: "specials=1" in address_of(page))
        page.evaluate(f"location.hash = '#/playground?text={quote('of the link')}'")
        page.wait_for_selector("textarea[data-shown='11']")
        assert not page.get_by_label("Special tokens").is_checked()


def test_an_unknown_tokenizer_in_a_link_is_reported(studio: Opening) -> None:
    for view in ("playground", "vocabulary", "chat"):
        with studio(f"{view}?tokenizer={quote('of <b>another</b> studio')}") as page:
            page.locator(
                "#notice", has_text="of <b>another</b> studio is not loaded in this studio"
            ).wait_for()
            page.get_by_role("button", name="Dismiss").click()
            assert page.locator("#notice").inner_text() == ""


def test_the_session_works_while_storage_is_blocked(studio: Opening) -> None:
    with studio("playground") as page:
        page.add_init_script(
            """for (const name of ["localStorage", "sessionStorage", "indexedDB"]) {
              Object.defineProperty(window, name, { get() { throw new DOMException("blocked"); } });
            }"""
        )
        page.reload()
        page.wait_for_selector("html[data-ready]")
        typed(page, "kept in memory")
        visited(page, "compare")
        assert page.input_value("textarea") == "kept in memory"


def test_reset_forgets_what_a_view_sets_in_the_meantime(studio: Opening) -> None:
    with studio("playground") as page:
        typed(page, "a secret")
        page.evaluate(
            """async () => {
              const session = await import("./static/session.js");
              const forgotten = session.forget();
              session.set({ text: "a secret" });
              await forgotten;
            }"""
        )
        page.reload()
        page.wait_for_selector("html[data-ready]")
        assert page.evaluate("Object.values(localStorage).join().includes('secret')") is False


def test_reset_forgets_everything_that_was_stored(studio: Opening) -> None:
    with studio("playground") as page:
        pasted_and_shown(page, MEGABYTE)
        page.wait_for_timeout(600)
        stored = """async () => {
          const database = await new Promise((done) => {
            const request = indexedDB.open("merganser", 1);
            request.onsuccess = () => done(request.result);
          });
          const texts = await new Promise((done) => {
            const request = database.transaction("texts").objectStore("texts").count();
            request.onsuccess = () => done(request.result);
          });
          return [Object.keys(localStorage).filter((key) => key.startsWith("merganser/")).length, texts];
        }"""
        assert page.evaluate(stored) == [2, 1]
        with page.expect_navigation():
            page.get_by_role("button", name="Reset").click()
        page.wait_for_selector("html[data-ready]")
        assert "merganser dives" in page.input_value("textarea")
        assert page.evaluate(stored)[1] == 0
