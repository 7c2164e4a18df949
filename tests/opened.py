"""The studio in a real browser: a server in a thread, and pages that know what they asked for and complained
of.

For studios with files, embeddings or a look into their queue. The browser is that of `studio/conftest.py`.
"""

import socket
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import uvicorn
from merganser import Tokenizer
from merganser.studio import create
from merganser.studio.jobs import Jobs

TOKEN = "a-token-that-is-long-enough"


class Studio(NamedTuple):
    address: str
    jobs: Jobs


@contextmanager
def served(tokenizers: Mapping[str, Tokenizer], *folders: Path, **how: Any) -> Iterator[Studio]:
    """A studio as it is in earnest."""
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        app = create(tokenizers, folders, TOKEN, **how)
        config = uvicorn.Config(
            app, log_level="error", access_log=False, lifespan="off", timeout_graceful_shutdown=1
        )
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
        thread.start()
        while not server.started:
            time.sleep(0.01)
        try:
            address = f"http://127.0.0.1:{listening.getsockname()[1]}/{TOKEN}/"
            yield Studio(address, app.state.desk.jobs)
        finally:
            app.state.desk.jobs.close()
            server.should_exit = True
            thread.join()


@contextmanager
def opened(
    browser: Any, address: str, view: str, *, scheme: str = "light", width: int = 1200, height: int = 900
) -> Iterator[Any]:
    """A page of the studio. When it is left: nothing came from elsewhere, and nobody complained."""
    requests: list[str] = []
    complaints: list[str] = []
    page = browser.new_page(viewport={"width": width, "height": height}, color_scheme=scheme)
    page.set_default_timeout(20_000)
    page.on("request", lambda request: requests.append(request.url))
    page.on("console", lambda message: complaints.append(f"{message.type}: {message.text}"))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    try:
        page.goto(f"{address}#/{view}")
        page.wait_for_selector("html[data-ready]")
        yield page
        assert complaints == []
        home = address.removesuffix(f"{TOKEN}/")
        assert [url for url in requests if not url.startswith((home, "data:", "blob:"))] == []
        assert page.evaluate("document.documentElement.scrollWidth") <= width, "no part sticks out"
    finally:
        page.close()


def problems(page: Any) -> list[str]:
    """What axe finds serious or worse."""
    from axe_playwright_python.sync_playwright import Axe

    found = Axe().run(page).response["violations"]
    return [
        f"{problem['id']}: {node['html']}"
        for problem in found
        if problem["impact"] in ("serious", "critical")
        for node in problem["nodes"]
    ]
