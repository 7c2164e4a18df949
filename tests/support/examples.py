"""Examples in Markdown: each is run in a folder that a page has for itself."""

import os
import re
import sys
from pathlib import Path

import processes
import vocabs
from corpora import corpus_text

ROOT = Path(__file__).parents[2]


def blocks(page: str) -> list[tuple[str, str]]:
    """The language and the code of every example of a page."""
    return re.findall(r"```(python|sh)\n(.*?)```", (ROOT / page).read_text("utf-8"), re.DOTALL)


def furnish(folder: Path) -> None:
    """What the examples name and do not make: the beginnings of corpora, and vocabularies."""
    (folder / "corpora").mkdir()
    for name in ("english.txt", "code.txt", "multilingual.txt"):
        (folder / "corpora" / name).write_text(corpus_text(name, 200_000), "utf-8")
    (folder / "vocabs").mkdir()
    for encoding in vocabs.OPENAI:
        file = vocabs.rank_file(encoding)
        (folder / "vocabs" / file.name).symlink_to(file)


def make_texts(folder: Path) -> None:
    """The folder `texts`, as the README tells to make it."""
    made = next(code for _, code in blocks("README.md") if "mkdir -p texts" in code)
    run(folder, "sh", made)


def run(folder: Path, language: str, code: str) -> None:
    if code.startswith("make "):
        # It would build the environment that the tests run in, so only its targets are looked up.
        makefile = (ROOT / "Makefile").read_text("utf-8")
        for target in re.findall(r"^make (\S+)", code, re.MULTILINE):
            assert re.search(rf"^{target}:", makefile, re.MULTILINE), f"the Makefile lacks {target}"
        return
    # A small corpus has too little for a large vocabulary, and says so.
    quiet = "error" if "corpora/" not in code else "ignore"
    command = [sys.executable, "-W", quiet, "-c", code] if language == "python" else ["bash", "-euc", code]
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = processes.run(command, cwd=folder, env={**os.environ, "PATH": path})
    assert done.returncode == 0, done.stderr
