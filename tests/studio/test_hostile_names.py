"""Hostile names in every view: of tokenizers, files, folders, embeddings and special tokens."""

from pathlib import Path
from typing import Any

import httpx
import merganser
import pytest
from generated import drawn
from hostile import CORPUS
from merganser.studio.app import VIEWS
from opened import Studio, opened, served

EVIL = "<img src=x onerror=window.owned=1><b id=owned>'\"&`${window.owned=1}\x1b\u202e"
SPECIALS = ["<|bos|>", "<script>window.owned=1</script>", "<b id=owned>"]


@pytest.fixture(scope="module")
def hostile_studio(tmp_path_factory: pytest.TempPathFactory) -> Any:
    folder = tmp_path_factory.mktemp("hostile") / EVIL.replace("/", "_")
    folder.mkdir()
    (folder / f"{EVIL}.txt").write_text("the cat sat on the mat " * 50)
    (folder / "secret").symlink_to("/etc/passwd")
    tokenizer = merganser.train(CORPUS, 300, special_tokens=SPECIALS)
    loaded = {EVIL: tokenizer, f"{EVIL}2": tokenizer.truncated(290)}
    with served(loaded, folder, embeddings={EVIL: drawn(tokenizer, 280)}, sources={EVIL: EVIL}) as studio:
        yield studio


@pytest.mark.parametrize("view", VIEWS)
def test_names_are_text_in_every_view(browser: Any, hostile_studio: Studio, view: str) -> None:
    with opened(browser, hostile_studio.address, view) as page:
        page.wait_for_selector(f".view-{view} :is(button, select, textarea, input)")
        page.wait_for_timeout(200)
        assert page.locator("main img, main b#owned, main script").count() == 0


def test_files_are_listed_with_their_names_and_links_out_of_the_folder_are_not(
    hostile_studio: Studio,
) -> None:
    about = httpx.get(f"{hostile_studio.address}api/train/about", trust_env=False).json()
    assert [Path(file["path"]).name for file in about["files"]] == [f"{EVIL}.txt"]
    body = {"vocab_size": 300, "path": "secret"}
    refused = httpx.post(f"{hostile_studio.address}api/train/start", json=body, trust_env=False)
    assert refused.status_code == 403


def test_a_hostile_name_in_an_error_is_json_and_not_markup(hostile_studio: Studio) -> None:
    """The name is echoed, and the browser must not read the response as a page."""
    body = {"tokenizer": EVIL + "?", "text": ""}
    answer = httpx.post(f"{hostile_studio.address}api/playground/encode", json=body, trust_env=False)
    assert answer.status_code == 404
    assert answer.headers["content-type"] == "application/json"
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert repr(EVIL + "?") in answer.json()["error"]
