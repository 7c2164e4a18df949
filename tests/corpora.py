"""Where the shared corpora are."""

from pathlib import Path

import pytest

CORPORA = Path(__file__).parents[2] / "shared" / "corpora"


def corpus_text(name: str, size: int | None = None) -> str:
    """The beginning of a shared corpus; the test is skipped where there is none."""
    file = CORPORA / name
    if not file.exists():
        pytest.skip(f"{file} is not on this machine")
    with file.open(encoding="utf-8", newline="") as opened:
        return opened.read(size)
