"""Tokenizers added in the page: by file, folder, drop and name; exports; and the page as one file."""

import csv
import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import merganser
import pytest
from hostile import HOSTILE
from opened import Studio, cells, opened, pasted_and_shown, problems, served, watched
from processes import wait_until

TEXT = "the cat sat, naïve 👍🏽\n=1+1 end"


@pytest.fixture(scope="module")
def own(small: merganser.Tokenizer) -> Iterator[Studio]:
    """A studio for this module: its tests add tokenizers."""
    with served({"small": small}) as studio:
        yield studio


def chosen(page: Any) -> str:
    value: str = page.get_by_label("Tokenizer", exact=True).input_value()
    return value


def saved(page: Any, name: str) -> tuple[str, bytes]:
    """Use an item of the export menu, and return the file's name and contents."""
    page.locator("summary", has_text="Export").click()
    with page.expect_download() as download:
        page.get_by_role("button", name=name, exact=True).click()
    page.keyboard.press("Escape")
    file = download.value
    return file.suggested_filename, Path(file.path()).read_bytes()


@pytest.mark.parametrize(("scheme", "width"), [("light", 1280), ("dark", 390)])
def test_a_file_is_added_with_the_dialog(
    browser: Any, own: Studio, small: merganser.Tokenizer, tmp_path: Path, scheme: str, width: int
) -> None:
    small.truncated(350).save(tmp_path / "mine.merganser")
    with opened(browser, own.address, "playground", scheme=scheme, width=width) as page:
        page.get_by_role("button", name="Add…").focus()
        page.keyboard.press("Enter")
        page.wait_for_selector("dialog[open]")
        page.wait_for_selector(".known > *")
        assert problems(page) == []
        page.keyboard.press("Escape")
        page.wait_for_selector("dialog", state="detached")
        page.get_by_role("button", name="Add…").click()
        page.set_input_files("input[data-pick=files]", tmp_path / "mine.merganser")
        wait_until(lambda: chosen(page).startswith("mine"))
        page.wait_for_selector("dialog", state="detached")
        ids = small.truncated(350).encode(page.input_value("textarea"), disallowed_special=())
        wait_until(lambda: cells(page, "Ids") == [str(id) for id in ids])


def test_a_rank_file_is_asked_for_its_pattern_with_a_suggestion(
    browser: Any, own: Studio, small: merganser.Tokenizer, tmp_path: Path
) -> None:
    import base64

    ranks = small.truncated(300).mergeable_ranks
    lines = "".join(f"{base64.b64encode(token).decode()} {id}\n" for token, id in ranks.items())
    (tmp_path / "small.tiktoken").write_text(lines)
    with opened(browser, own.address, "playground", expected="400 (Bad Request)") as page:
        page.get_by_role("button", name="Add…").click()
        page.set_input_files("input[data-pick=files]", tmp_path / "small.tiktoken")
        page.get_by_text("has tokens but no split pattern").wait_for()
        assert "Its longest number is" in page.locator(".question").inner_text()
        assert page.get_by_label("Pattern").input_value() in merganser.preset_names()
        page.get_by_label("Pattern").select_option("")
        page.get_by_label("Regular expression").fill("(")
        page.locator(".question button").click()
        page.locator("dialog .error", has_text="pattern").wait_for()
        page.set_input_files("input[data-pick=files]", tmp_path / "small.tiktoken")
        page.get_by_label("Pattern").select_option("gpt4")
        page.locator(".question button").click()
        wait_until(lambda: chosen(page).startswith("small ("))
        assert page.get_by_label("Special tokens").is_disabled()


@pytest.mark.parametrize(("scheme", "width"), [("light", 390), ("dark", 1280)])
def test_a_tokenizer_is_chosen_from_the_list_by_keyboard_and_by_mouse(
    browser: Any, small: merganser.Tokenizer, tmp_path: Path, scheme: str, width: int
) -> None:
    (tmp_path / "<b>one").mkdir()
    small.truncated(300).save(tmp_path / "<b>one" / "tokenizer.merganser")
    small.truncated(310).save(tmp_path / "two.merganser")
    with (
        served({"small": small}, start=tmp_path) as studio,
        opened(browser, studio.address, "playground", scheme=scheme, width=width) as page,
    ):
        page.get_by_role("button", name="Add…").focus()
        page.keyboard.press("Enter")
        page.locator(".known .entry", has_text="two.merganser").wait_for()
        assert problems(page) == []
        page.keyboard.type("one")
        page.locator(".known .entry", has_text="two.merganser").wait_for(state="detached")
        page.keyboard.press("ArrowDown")
        page.keyboard.press("Enter")
        wait_until(lambda: chosen(page) == "<b>one")
        page.get_by_role("button", name="Add…").click()
        page.locator(".known .entry", has_text="two.merganser").click()
        wait_until(lambda: chosen(page) == "two")
        assert page.locator("main b, dialog b").count() == 0


def test_a_folder_can_be_chosen_and_dropped(
    browser: Any, own: Studio, small: merganser.Tokenizer, tmp_path: Path
) -> None:
    folder = tmp_path / "exported"
    small.truncated(300).export(folder, format="huggingface")
    (folder / "model.safetensors").write_bytes(b"0" * 1000)
    (folder / "README.md").write_text("not a tokenizer")
    with opened(browser, own.address, "playground") as page:
        page.get_by_role("button", name="Add…").click()
        page.set_input_files("input[data-pick=folder]", folder)
        wait_until(lambda: chosen(page) == "exported")
        text = (folder / "tokenizer.json").read_text()
        page.evaluate(
            """(text) => {
              const dataTransfer = new DataTransfer();
              dataTransfer.items.add(new File([text], "dropped.json"));
              const how = { dataTransfer, bubbles: true, cancelable: true };
              document.querySelector("main").dispatchEvent(new DragEvent("drop", how));
            }""",
            text,
        )
        wait_until(lambda: chosen(page) == "dropped")


def test_bad_files_and_names_are_explained(browser: Any, own: Studio, tmp_path: Path) -> None:
    bad = tmp_path / "<img src=x onerror=owned=1>.json"
    bad.write_text('{"model": {"type": "WordPiece"}}')
    (tmp_path / "notes.txt").write_text("\n".join(HOSTILE), "utf-8", "replace")
    with opened(browser, own.address, "playground", expected="400 (Bad Request)") as page:
        page.get_by_role("button", name="Add…").click()
        for file in (bad, tmp_path / "notes.txt"):
            page.set_input_files("input[data-pick=files]", file)
            page.locator("dialog .error", has_text=file.name).wait_for()
            assert "merganser-upload" not in page.locator("dialog .error").inner_text()
        names = page.get_by_label("Name", exact=True)
        names.fill("no/such-tokenizer-anywhere")
        page.get_by_text("Not in the list").wait_for()
        page.get_by_role("button", name="Load").click()
        page.locator("dialog .error", has_text="no/such-tokenizer-anywhere").wait_for()
        page.get_by_role("button", name="Close").click()
        page.wait_for_selector("dialog", state="detached")


def test_tokens_are_exported(
    browser: Any, own: Studio, small: merganser.Tokenizer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    ids = small.encode(TEXT, disallowed_special=())
    with opened(browser, own.address, f"playground?tokenizer=small&text={quote(TEXT)}") as page:
        page.locator("summary", has_text="Export").focus()
        page.keyboard.press("Enter")
        assert page.get_by_role("button", name="Notebook").is_visible()
        assert problems(page) == []
        page.keyboard.press("Escape")
        name, data = saved(page, "Tokens as CSV")
        rows = list(csv.DictReader(io.StringIO(data.decode())))
        assert name == "tokens-small.csv" and [int(row["id"]) for row in rows] == ids
        assert b"".join(bytes.fromhex(row["bytes"]) for row in rows).decode() == TEXT
        assert not any(row["token"].startswith("=") for row in rows), "a spreadsheet calculates nothing"
        _, data = saved(page, "Tokens as JSON")
        assert json.loads(data)["ids"] == ids and json.loads(data)["text"] == TEXT
        _, data = saved(page, "Image card")
        assert data.startswith(b"\x89PNG") and len(data) > 10_000
        name, data = saved(page, "Tokenizer file")
        Path(name).write_bytes(data)
        assert merganser.load(name) == small
        name, data = saved(page, "Notebook")
        names: dict[str, Any] = {}
        for cell in json.loads(data)["cells"]:
            if cell["cell_type"] == "code":
                exec("".join(cell["source"]), names)
        assert names["ids"] == ids


def test_python_of_an_added_tokenizer_names_the_file_that_the_page_saves(
    browser: Any, own: Studio, small: merganser.Tokenizer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    own.state.add("my tokenizer / 1", small.truncated(320))
    where = f"playground?tokenizer={quote('my tokenizer / 1')}&text={quote(TEXT)}"
    with opened(browser, own.address, where) as page:
        name, data = saved(page, "Tokenizer file")
        assert name == "my-tokenizer-1.merganser"
        Path(name).write_bytes(data)
        page.locator("summary", has_text="Export").click()
        page.get_by_role("button", name="Copy Python").click()
        page.locator("#live", has_text="Copied").wait_for(state="attached")
        names: dict[str, Any] = {}
        exec(page.evaluate("navigator.clipboard.readText()"), names)
        assert names["ids"] == small.truncated(320).encode(TEXT, disallowed_special=())


@pytest.mark.parametrize("view", ["playground", "compare", "vocabulary"])
def test_a_shared_page_is_one_file_without_scripts(
    browser: Any, own: Studio, tmp_path: Path, view: str
) -> None:
    text = "\n".join([TEXT, *HOSTILE]).encode("utf-8", "replace").decode()
    with opened(browser, own.address, f"{view}?text={quote(text)}") as page:
        page.wait_for_selector(".flow .cell, td")
        with page.expect_download() as download:
            page.get_by_role("button", name="Share").click()
        file = tmp_path / download.value.suggested_filename
        download.value.save_as(file)
        shown = page.locator(".flow >> nth=0 >> .cell").all_text_contents()
    assert file.name == f"merganser-{view}.html"
    with watched(browser, file.as_uri(), expected="frame-ancestors") as page:
        assert page.locator("script, link, iframe, img[src^=http]").count() == 0
        assert "A snapshot of" in page.inner_text("body")
        if shown:
            copied = page.locator(".flow >> nth=0 >> .cell").all_text_contents()
            assert copied[: len(shown)] == shown, "all cells are in the file, not only the visible ones"
            assert TEXT.split("\n", maxsplit=1)[0] in page.inner_text(".snapshot-text")
        assert page.evaluate("document.documentElement.scrollWidth") <= 1200
        assert problems(page) == []


def test_a_shared_page_shows_more_than_the_visible_tokens(browser: Any, own: Studio, tmp_path: Path) -> None:
    text = "".join(f"{n}: the cat sat\n" for n in range(1500))
    with opened(browser, own.address, "playground") as page:
        pasted_and_shown(page, text)
        count = int(page.locator(".count strong").inner_text().replace(",", ""))
        visible = page.locator(".flow[aria-label=Ids] .cell").count()
        with page.expect_download() as download:
            page.get_by_role("button", name="Share").click()
        html = Path(download.value.path()).read_text("utf-8")
        assert visible < 6000 < count
        assert page.locator(".flow[aria-label=Ids] .cell").count() < 8000, "the page itself is as before"
    with watched(browser, "about:blank") as page:
        page.set_content(html)
        assert page.locator(".flow[aria-label=Ids] .cell").count() >= min(count, 20_000)
