"""Draw docs/studio.png and docs/studio-dark.png, the README's pictures of the studio.

    .venv/bin/python tools/draw_studio.py [FILE]

Starts the studio with the tokenizers that it trains when it has none, opens the playground in Debian's
Chromium (or the one at CHROMIUM) and takes a picture of the page in each color scheme. The text needs the
fonts `fonts-noto-core`, `fonts-noto-cjk` and `fonts-noto-color-emoji` of Debian.
"""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

FILE = Path(__file__).parent.parent / "docs" / "studio.png"


def draw(address: str, file: Path) -> None:
    """Save pictures of the studio at `address`: `file`, and the dark one beside it."""
    chromium = os.environ.get("CHROMIUM") or shutil.which("chromium")
    if chromium is None:
        sys.exit(
            "Chromium was not found; install it with 'apt-get install chromium', or set CHROMIUM to its path"
        )
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        for scheme, path in (("light", file), ("dark", file.with_stem(f"{file.stem}-dark"))):
            page = browser.new_page(
                viewport={"width": 1280, "height": 830}, device_scale_factor=1.25, color_scheme=scheme
            )
            page.goto(f"{address}#/playground")
            page.wait_for_selector("html[data-ready]")
            page.wait_for_selector(".tree")  # of a token that the page chooses
            page.wait_for_timeout(500)  # the transitions of the style sheet
            page.screenshot(path=path)
            page.close()
        browser.close()


def main() -> None:
    file = Path(sys.argv[1]) if len(sys.argv) > 1 else FILE
    command = [sys.executable, "-m", "merganser", "studio", "--no-browser", "--port", "0"]
    with (
        tempfile.TemporaryDirectory() as folder,
        subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, text=True) as studio,
    ):
        assert studio.stdout is not None
        try:
            address = next(line.strip() for line in studio.stdout if "http://" in line)
            draw(address, file)
        finally:
            studio.send_signal(signal.SIGINT)


if __name__ == "__main__":
    main()
