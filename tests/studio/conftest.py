"""A studio as it is in earnest, in a thread, and one browser for all tests of a module that look at it.

Needs Playwright and axe (in `[dev]`) and Chromium: `apt-get install chromium`, or CHROMIUM=/path/to/it.
"""

import os
import shutil
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import merganser
import pytest
import uvicorn
from hostile import CORPUS, tokenizers
from merganser.chat import SPECIAL_TOKENS
from merganser.studio import create

CHROMIUM = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
HOW = "Debian's Chromium is not here: apt-get install chromium, or set CHROMIUM to its path"
TOKEN = "a-token-of-some-length"

Opening = Callable[..., AbstractContextManager[Any]]


@pytest.fixture(scope="session")
def small() -> merganser.Tokenizer:
    text = ["the cat sat on the mat, the naïve café; playing with tokens"] * 20
    return merganser.train([*CORPUS, *text], 420, special_tokens=SPECIAL_TOKENS)


@pytest.fixture(scope="session")
def address(small: merganser.Tokenizer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    known = {"small": small, "tiny": small.truncated(300), **tokenizers()}
    folder = tmp_path_factory.mktemp("studio")
    with serving(create(known, [folder], TOKEN)) as port:
        yield f"http://127.0.0.1:{port}/{TOKEN}/"


@contextmanager
def serving(app: Any) -> Iterator[int]:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        server = uvicorn.Server(
            uvicorn.Config(
                app, log_level="error", access_log=False, lifespan="off", timeout_graceful_shutdown=1
            )
        )
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
        thread.start()
        while not server.started:
            time.sleep(0.01)
        yield listening.getsockname()[1]
        server.should_exit = True
        thread.join()


@pytest.fixture(scope="module")  # not longer: while it is open, its event loop runs, and no other can
def browser() -> Iterator[Any]:
    if CHROMIUM is None:
        pytest.skip(HOW)
    playwright = pytest.importorskip("playwright.sync_api", reason="pip install playwright")
    with playwright.sync_playwright() as started:
        # Containers have no sandbox to offer, and the pages are our own.
        opened = started.chromium.launch(
            executable_path=CHROMIUM, args=["--no-sandbox", "--disable-dev-shm-usage"]
        )
        yield opened
        opened.close()


@pytest.fixture
def studio(browser: Any, address: str) -> Opening:
    @contextmanager
    def opened(view: str, *, scheme: str = "light", width: int = 1200) -> Iterator[Any]:
        """A page. When it is left: nothing came from elsewhere, nobody complained, no part sticks out."""
        requests: list[str] = []
        complaints: list[str] = []
        context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
        context.grant_permissions(["clipboard-read", "clipboard-write"])
        page = context.new_page()
        page.set_default_timeout(20_000)
        page.on("request", lambda request: requests.append(request.url))
        page.on("console", lambda message: complaints.append(f"{message.type}: {message.text}"))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        try:
            page.goto(f"{address}#/{view}")
            page.wait_for_selector("html[data-ready]")
            yield page
            assert complaints == []
            assert [url for url in requests if not url.startswith(address)] == [], "nothing from elsewhere"
            assert page.evaluate("document.documentElement.scrollWidth") <= width, "no part sticks out"
            assert page.evaluate("window.owned") is None
            assert page.locator("#owned").count() == 0
        finally:
            context.close()

    return opened


@pytest.fixture(scope="session")
def folder_of_studio(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("files")
    (folder / "inside").mkdir()
    (folder / "inside" / "text.txt").write_text("words")
    (folder / "secret.txt").write_text("not to be read")
    (folder / "inside" / "link").symlink_to(folder / "secret.txt")
    return folder
