"""Every example in README.md runs."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
BLOCKS = re.findall(r"```(python|sh)\n(.*?)```", (ROOT / "README.md").read_text("utf-8"), re.DOTALL)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The examples share a folder and run in order, as a reader would type them."""
    folder = tmp_path_factory.mktemp("readme")
    (folder / "texts").mkdir()
    sources = "".join(file.read_text("utf-8") for file in sorted((ROOT / "python").rglob("*.py")))
    for name in ("one", "two"):
        (folder / "texts" / f"{name}.txt").write_text(sources, "utf-8")
    return folder


@pytest.mark.parametrize(
    ("language", "code"), BLOCKS, ids=[f"{n}-{block[0]}" for n, block in enumerate(BLOCKS)]
)
def test_example_runs(folder: Path, language: str, code: str) -> None:
    if re.match(r"(make|git|pip) ", code):
        pytest.skip("sets up the machine")
    command = [sys.executable, "-W", "error", "-c", code] if language == "python" else ["bash", "-euc", code]
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        command, cwd=folder, env={**os.environ, "PATH": path}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_tree_names_only_what_is_there() -> None:
    tree = re.search(r"```text\n(.*?)```", (ROOT / "README.md").read_text("utf-8"), re.DOTALL)
    assert tree
    folders: list[str] = []
    for line in tree[1].splitlines():
        depth = (len(line) - len(line.lstrip())) // 2
        name = line.split()[0]
        folders[depth:] = [name.rstrip("/")]
        if "*" not in name:
            assert (ROOT / Path(*folders)).exists(), f"{name} is in the tree of the README, but not there"
