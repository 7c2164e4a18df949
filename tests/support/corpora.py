"""The shared corpora; where one is missing, a generated text of the same kind under the same name.

They are in `../shared/corpora`, or in the folder that MERGANSER_CORPORA names. To run the tests as in a clone
that has none: `MERGANSER_CORPORA=none MERGANSER_VOCABS=none python -m pytest`.
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
    """Where this process keeps what it generates."""
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
    """The beginning of a corpus, in characters."""
    with corpus_file(name).open(encoding="utf-8", newline="") as opened:
        return opened.read(size)
