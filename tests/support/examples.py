"""Examples in Markdown pages; the examples of a page run in a folder of their own."""

import os
import re
import sys
from collections.abc import Iterable
from pathlib import Path

import processes
import pytest
import vocabs
from corpora import corpus_text

ROOT = Path(__file__).parents[2]


def blocks(page: str) -> list[tuple[str, str]]:
    """Return the language and code of every example on a page."""
    return re.findall(r"```(python|sh)\n(.*?)```", (ROOT / page).read_text("utf-8"), re.DOTALL)


def each_example(pages: Iterable[str]) -> pytest.MarkDecorator:
    """Return a decorator that runs a test with the page, language and code of every example on pages."""
    examples = [(page, language, code) for page in pages for language, code in blocks(page)]
    ids = [f"{n}-{Path(page).stem}-{language}" for n, (page, language, _) in enumerate(examples)]
    return pytest.mark.parametrize(("page", "language", "code"), examples, ids=ids)


def furnish(folder: Path) -> None:
    """Create the files that the examples read but do not create: samples of corpora, and vocabularies."""
    (folder / "corpora").mkdir()
    for name in ("english.txt", "code.txt", "multilingual.txt"):
        (folder / "corpora" / name).write_text(corpus_text(name, 200_000), "utf-8")
    (folder / "vocabs").mkdir()
    for encoding in vocabs.OPENAI:
        file = vocabs.rank_file(encoding)
        (folder / "vocabs" / file.name).symlink_to(file)


def make_texts(folder: Path) -> None:
    """Create the folder `texts` with the commands of Get started."""
    made = next(code for _, code in blocks("docs/get-started.md") if "mkdir -p texts" in code)
    run(folder, "sh", made)


def run(folder: Path, language: str, code: str) -> None:
    if code.startswith("make "):
        # It would rebuild the environment that the tests run in, so only check that the targets exist.
        makefile = (ROOT / "Makefile").read_text("utf-8")
        for target in re.findall(r"^make (\S+)", code, re.MULTILINE):
            assert re.search(rf"^{target}:", makefile, re.MULTILINE), f"the Makefile has no target {target}"
        return
    # A small corpus yields fewer tokens than requested, which is a warning.
    quiet = "error" if "corpora/" not in code else "ignore"
    command = [sys.executable, "-W", quiet, "-c", code] if language == "python" else ["bash", "-euc", code]
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = processes.run(command, cwd=folder, env={**os.environ, "PATH": path})
    assert done.returncode == 0, done.stderr
