"""The architecture described in ARCHITECTURE.md: `make lint` checks the layers, and this module the rest."""

import ast
import re
from pathlib import Path

import merganser

PACKAGE = Path(merganser.__file__).parent
ROOT = PACKAGE.parents[1]
#: Packages that may import the public API, because they use nothing else.
ABOVE = ("cli", "studio")


def test_no_layer_imports_the_public_api() -> None:
    """`from merganser import train` would be an upward import that the contract cannot see."""
    for file in PACKAGE.rglob("*.py"):
        if file.relative_to(PACKAGE).parts[0] in ABOVE or file.parent == PACKAGE:
            continue
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.ImportFrom) and node.module == "merganser":
                submodules = {path.stem for path in PACKAGE.iterdir()} | {"_core"}
                assert {alias.name for alias in node.names} <= submodules, file
            elif isinstance(node, ast.Import):
                assert "merganser" not in [alias.name for alias in node.names], file


def test_every_folder_of_the_repository_tree_exists() -> None:
    tree = re.search(
        r"```text\n(crates/core/.*?)```", (ROOT / "ARCHITECTURE.md").read_text("utf-8"), re.DOTALL
    )
    assert tree
    for line in tree[1].splitlines():
        assert (ROOT / line.split()[0]).is_dir(), line


def test_the_folder_tree_in_architecture_md_matches_the_contract() -> None:
    """ARCHITECTURE.md lists the layers from top to bottom, in the order of pyproject.toml."""
    contract = re.search(r"\nlayers = \[\n(.*?)\n\]", (ROOT / "pyproject.toml").read_text(), re.DOTALL)
    assert contract
    layers = [name.strip() for line in re.findall(r'"(.*)"', contract[1]) for name in line.split("|")]
    page = (ROOT / "ARCHITECTURE.md").read_text()
    tree = page.split("```text\npython/merganser\n")[1].split("```")[0]
    listed = [re.split(r"[/.]", line.split()[0])[0] for line in tree.splitlines() if re.match(r"  \w", line)]
    assert listed == layers
    folders = {
        path.stem for path in PACKAGE.iterdir() if path.suffix == ".py" or (path / "__init__.py").exists()
    }
    assert folders - {"__init__", "__main__", "_core"} == set(layers)
