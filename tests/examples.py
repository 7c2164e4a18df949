"""Examples in Markdown: each is run in a folder that a page has for itself."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SHARED = ROOT.parent / "shared"


def blocks(page: str) -> list[tuple[str, str]]:
    """The language and the code of every example of a page."""
    return re.findall(r"```(python|sh)\n(.*?)```", (ROOT / page).read_text("utf-8"), re.DOTALL)


def furnish(folder: Path) -> None:
    """What the examples name and do not make: the beginnings of corpora, vocabularies if they are there."""
    sources = "".join(file.read_text("utf-8") for file in sorted((ROOT / "python").rglob("*.py")))
    (folder / "corpora").mkdir()
    for name in ("english.txt", "code.txt", "multilingual.txt"):
        beginning = sources
        if (SHARED / "corpora" / name).exists():
            with (SHARED / "corpora" / name).open(encoding="utf-8", newline="") as file:
                beginning = file.read(200_000)
        (folder / "corpora" / name).write_text(beginning, "utf-8")
    if (SHARED / "vocabs").exists():
        (folder / "vocabs").symlink_to(SHARED / "vocabs")


def make_texts(folder: Path) -> None:
    """The folder `texts`, as the README tells to make it."""
    made = next(code for _, code in blocks("README.md") if "mkdir -p texts" in code)
    run(folder, "sh", made)


def run(folder: Path, language: str, code: str) -> None:
    if re.match(r"(make|git|pip) ", code):
        pytest.skip("sets up the machine")
    if "vocabs/" in code and not (folder / "vocabs").exists():
        pytest.skip("the vocabularies are not on this machine")
    # A small corpus has too little for a large vocabulary, and says so.
    quiet = "error" if "corpora/" not in code else "ignore"
    command = [sys.executable, "-W", quiet, "-c", code] if language == "python" else ["bash", "-euc", code]
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        command, cwd=folder, env={**os.environ, "PATH": path}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
