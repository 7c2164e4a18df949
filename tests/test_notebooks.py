"""Every notebook of the documentation runs, and is stored with its output."""

import json
import sys
from pathlib import Path

import processes
import pytest
from examples import ROOT

NOTEBOOKS = sorted((ROOT / "docs" / "notebooks").glob("*.ipynb"))


def test_there_are_four() -> None:
    names = {path.stem for path in NOTEBOOKS}
    assert names == {"compare-tokenizers", "embeddings", "how-bpe-works", "train-and-use"}


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_it_runs(path: Path) -> None:
    pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel")
    done = processes.run([sys.executable, "tools/run_notebooks.py", "--check", path.stem], cwd=ROOT)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_it_is_small_and_has_pictures(path: Path) -> None:
    notebook = json.loads(path.read_text("utf-8"))
    assert path.stat().st_size < 200_000
    assert notebook["cells"][0]["cell_type"] == "markdown"
    outputs = [output for cell in notebook["cells"] for output in cell.get("outputs", ())]
    assert not [output for output in outputs if output["output_type"] == "error"]
    kinds = {kind for output in outputs for kind in output.get("data", ())}
    assert "image/svg+xml" in kinds, f"{path.name} has no picture; run tools/run_notebooks.py"
    assert any(
        "tokens" in "".join(output["data"].get("text/html", "")) for output in outputs if "data" in output
    )
