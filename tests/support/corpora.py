"""The shared corpora, or generated texts of the same kind and name where they are missing.

The corpora are read from `../shared/corpora` or the folder in MERGANSER_CORPORA. To run the tests as in a
clone without them: `MERGANSER_CORPORA=none MERGANSER_VOCABS=none python -m pytest`.
"""

import atexit
import os
import shutil
import tempfile
from functools import cache
from pathlib import Path

import stand_in_texts

CORPORA = Path(os.environ.get("MERGANSER_CORPORA", Path(__file__).parents[3] / "shared" / "corpora"))
NAMES = stand_in_texts.NAMES


@cache
def generated_folder() -> Path:
    """Return the folder for the files that this process generates."""
    folder = Path(tempfile.mkdtemp(prefix="merganser-stand-ins-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


@cache
def corpus_file(name: str) -> Path:
    if (CORPORA / name).exists():
        return CORPORA / name
    file = generated_folder() / name
    file.parent.mkdir(exist_ok=True)
    file.write_text(stand_in_texts.text(name), "utf-8", newline="")
    return file


def corpus_text(name: str, size: int | None = None) -> str:
    """Return the first `size` characters of a corpus, or all of it."""
    with corpus_file(name).open(encoding="utf-8", newline="") as opened:
        return opened.read(size)
