"""Measure the latency of the studio from key press to painted tokens: python -m benchmarks.studio.run TEXT

Measured in Chromium, from the timestamp of the key event to the task after the frame that shows the tokens,
which includes network, encoding, drawing and the wait for the frame. Needs `make .venv/dev`, Debian's
chromium and an otherwise idle machine.
"""

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
from pathlib import Path
from typing import Any

from playwright.sync_api import Page, sync_playwright

CHROMIUM = os.environ.get("CHROMIUM") or shutil.which("chromium")

#: Records the time from a key press or paste until the tokens of the text are painted.
WATCH = """() => {
  const input = document.querySelector("textarea");
  window.waits = [];
  let since = null;
  const begin = (event) => { since ??= event.timeStamp; };
  window.addEventListener("keydown", begin, true);
  window.addEventListener("paste", begin, true);
  const channel = new MessageChannel();
  channel.port1.onmessage = () => { window.waits.push(performance.now() - since); since = null; };
  new MutationObserver(() => requestAnimationFrame(() => channel.port2.postMessage(0)))
    .observe(input, { attributes: true, attributeFilter: ["data-shown"] });
}"""
#: Dispatches a paste event; the page reads the text from the event.
PASTE = """(text) => {
  const input = document.querySelector("textarea");
  input.focus();
  input.select();
  const clipboardData = new DataTransfer();
  clipboardData.setData("text/plain", text);
  input.dispatchEvent(new ClipboardEvent("paste", { clipboardData, bubbles: true, cancelable: true }));
}"""
#: Moves the caret; for a long text, the slider selects the part in the field.
MOVE_CARET = """(at) => {
  const [input, slider] = [document.querySelector("textarea"), document.querySelector(".part input")];
  if (slider) {
    slider.value = at;
    slider.dispatchEvent(new Event("input"));
    input.focus();
  } else {
    input.focus();
    input.setSelectionRange(at, at);
  }
}"""
UNTIL = """(n) => new Promise((done) => {
  const look = () => (window.waits.length >= n ? done(window.waits) : setTimeout(look, 2));
  look();
})"""


def typed(page: Page, keys: int, at: int) -> list[float]:
    page.evaluate("window.waits.length = 0")
    page.evaluate(MOVE_CARET, at)
    waits: list[float] = []
    for n in range(keys):
        page.keyboard.press("abcdef ghi"[n % 10] if n % 10 != 6 else "Space")
        waits = page.evaluate(UNTIL, n + 1)
        page.wait_for_timeout(15)
    return waits


def summary(waits: list[float]) -> dict[str, float]:
    ordered = sorted(waits)
    return {
        "median": round(statistics.median(ordered), 1),
        "p95": round(ordered[int(0.95 * (len(ordered) - 1) + 0.5)], 1),
        "worst": round(ordered[-1], 1),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("text", type=Path, help="a text file of at least a megabyte")
    parser.add_argument("--tokenizer", default=None, help="a TOKENIZER argument of `merganser studio`")
    parser.add_argument("--keys", type=int, default=100)
    options = parser.parse_args()
    with options.text.open(encoding="utf-8") as file:
        text = file.read(1_000_000)
    named = [options.tokenizer] if options.tokenizer else []
    command = [sys.executable, "-m", "merganser", "studio", *named, "--port", "0", "--no-browser", "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server, sync_playwright() as started:
        assert server.stdout is not None
        about = json.loads(server.stdout.readline())
        browser = started.chromium.launch(
            executable_path=CHROMIUM, args=["--no-sandbox", "--disable-dev-shm-usage"]
        )
        page = browser.new_page(viewport={"width": 1400, "height": 950})
        page.goto(about["address"])
        page.wait_for_selector("html[data-ready]")
        page.evaluate(WATCH)
        result: dict[str, Any] = {"load": os.getloadavg()[0], "cores": os.cpu_count()}
        page.fill("textarea", text[:2000])
        page.wait_for_timeout(300)
        result["2,000 characters"] = summary(typed(page, options.keys, 1000))
        page.evaluate("window.waits.length = 0")
        page.evaluate(PASTE, text)
        result["1 MB pasted, first paint"] = round(page.evaluate(UNTIL, 1)[0], 1)
        page.wait_for_timeout(1000)
        result["1 MB, typing"] = summary(typed(page, options.keys // 4, 500_000))
        browser.close()
        server.terminate()
    print(json.dumps(result, indent=2))


if __name__ == "__main__":
    main()
