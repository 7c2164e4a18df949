"""Pages in a real browser that record their requests and console messages, and studios served by a thread.

Requires Playwright and axe (from the dependency group `test`), and Chromium: run `apt-get install chromium`,
or set CHROMIUM to its path.
"""

import os
import shutil
import socket
import threading
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import processes
import pytest
from merganser import Tokenizer
from merganser.studio import create
from merganser.studio.server import Limits, Server
from merganser.studio.state import StudioState

CHROMIUM = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
HOW = "Debian's Chromium is not here: apt-get install chromium, or set CHROMIUM to its path"
TOKEN = "a-token-that-is-long-enough"
#: Timeout in milliseconds; on an idle machine everything takes a moment.
LIMIT = 120_000


@contextmanager
def launched() -> Iterator[Any]:
    """Launch a browser, or skip the test if there is none."""
    if CHROMIUM is None:
        pytest.skip(HOW)
    playwright = pytest.importorskip("playwright.sync_api", reason="pip install playwright")
    with playwright.sync_playwright() as started:
        # Containers do not support the sandbox, and the pages are our own.
        browser = started.chromium.launch(
            executable_path=CHROMIUM, args=["--no-sandbox", "--disable-dev-shm-usage"]
        )
        yield browser
        browser.close()


class Studio(NamedTuple):
    address: str
    state: StudioState
    server: Server


@contextmanager
def served(
    tokenizers: Mapping[str, Tokenizer], *folders: Path, limits: Limits | None = None, **how: Any
) -> Iterator[Studio]:
    with socket.socket(proto=socket.IPPROTO_TCP) as listening:  # or responses are delayed, see cli/studio.py
        listening.bind(("127.0.0.1", 0))
        app = create(tokenizers, folders, TOKEN, **how)
        server = Server(app, limits)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
        thread.start()
        try:
            processes.wait_until(lambda: server.started or not thread.is_alive())
            assert server.started
            address = f"http://127.0.0.1:{listening.getsockname()[1]}/{TOKEN}/"
            yield Studio(address, app.state.studio, server)
        finally:
            app.state.studio.close()
            server.should_exit = True
            processes.joined(thread)


@contextmanager
def watched(
    browser: Any,
    url: str,
    *,
    scheme: str = "light",
    width: int = 1200,
    height: int = 900,
    expected: str | None = None,
) -> Iterator[Any]:
    """Open a page. On exit, check that it made no external requests, logged nothing, did not overflow, and
    executed none of the text it showed.

    expected: part of the console messages that are allowed.
    """
    requests: list[str] = []
    complaints: list[str] = []
    context = browser.new_context(viewport={"width": width, "height": height}, color_scheme=scheme)
    context.grant_permissions(["clipboard-read", "clipboard-write"])
    page = context.new_page()
    page.set_default_timeout(LIMIT)
    page.on("request", lambda request: requests.append(request.url))
    page.on("console", lambda message: complaints.append(f"{message.type}: {message.text}"))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    try:
        page.goto(url)
        yield page
        assert [text for text in complaints if expected is None or expected not in text] == []
        home = url.partition("#")[0]
        assert [url for url in requests if not url.startswith(home)] == [], "the page made external requests"
        assert page.evaluate("document.documentElement.scrollWidth") <= width, "the page overflows"
        assert page.evaluate("window.owned") is None
        assert page.locator("#owned").count() == 0
    finally:
        context.close()


@contextmanager
def opened(browser: Any, address: str, view: str, **how: Any) -> Iterator[Any]:
    """Open a view of the studio with `watched`."""
    with watched(browser, f"{address}#/{view}", **how) as page:
        page.wait_for_selector("html[data-ready]")
        yield page


class Opening(Protocol):
    def __call__(
        self, view: str, *, scheme: str = "light", width: int = 1200
    ) -> AbstractContextManager[Any]: ...


def address_of(page: Any) -> str:
    """Return the current URL; Playwright's `page.url` lags behind."""
    address: str = page.evaluate("location.href")
    return address


def pasted(page: Any, text: str) -> None:
    """Paste a text over the contents of the field, with the event that a browser sends."""
    page.focus("textarea")
    page.keyboard.press("Control+a")
    page.evaluate(
        """(text) => {
          const clipboardData = new DataTransfer();
          clipboardData.setData("text/plain", text);
          const how = { clipboardData, bubbles: true, cancelable: true };
          document.querySelector("textarea").dispatchEvent(new ClipboardEvent("paste", how));
        }""",
        text,
    )


MEGABYTE = "".join(f"{n}: the cat sat on the mat with tokens, naïve 👍\n" for n in range(25_000))[:1_000_000]


def pasted_and_shown(page: Any, text: str) -> None:
    pasted(page, text)
    page.wait_for_selector(f"textarea[data-shown='{len(text.encode('utf-16-le')) // 2}']")


def clipboard(page: Any) -> str:
    copied: str = page.evaluate("navigator.clipboard.readText()")
    return copied


def typed(page: Any, text: str, field: str = "textarea >> nth=0") -> None:
    """Fill in a text, and wait until its tokens are shown."""
    page.fill(field, text)
    page.wait_for_selector(f"textarea[data-shown='{len(text.encode('utf-16-le')) // 2}']")


def cells(page: Any, pane: str) -> list[str]:
    texts: list[str] = page.locator(f".flow[aria-label='{pane}'] .cell").all_text_contents()
    return texts


def visited(page: Any, view: str) -> None:
    """Open another view by its link in the menu."""
    page.locator(f"nav a[data-view={view}]").click()
    page.wait_for_selector(f".view-{view} > *")


#: Resolves when all animations have ended that end at all: text that fades in has little contrast before.
_STILL = """Promise.all(document.getAnimations()
  .filter((animation) => Number.isFinite(animation.effect.getComputedTiming().endTime))
  .map((animation) => animation.finished.catch(() => null)))"""


def problems(page: Any) -> list[str]:
    """Return the accessibility problems of the page at rest that axe rates as serious or critical."""
    axe = pytest.importorskip(
        "axe_playwright_python.sync_playwright", reason="pip install axe-playwright-python"
    )
    page.evaluate(_STILL)
    return [
        f"{problem['id']}: {node['html']}"
        for problem in axe.Axe().run(page).response["violations"]
        if problem["impact"] in ("serious", "critical")
        for node in problem["nodes"]
    ]
