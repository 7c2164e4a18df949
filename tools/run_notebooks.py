"""Execute the notebooks of docs/notebooks, and store their output in them.

    .venv/bin/python tools/run_notebooks.py [NAME ...] [--check]

`--check` only executes them and stores nothing. Each runs in an empty folder, with one kernel. Metadata that
differs from run to run is removed, so that a notebook changes only if its code or its output does.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).resolve().parent.parent / "docs" / "notebooks"
TIMEOUT = 300  # seconds per cell, and for the kernel to start: a busy machine may need minutes


def executed(path: Path) -> Any:
    """Return a notebook with the output of all its cells; raise if one fails."""
    import nbformat
    from nbclient import NotebookClient

    notebook = nbformat.read(path, as_version=4)
    with tempfile.TemporaryDirectory() as folder:
        resources = {"metadata": {"path": folder}}
        client = NotebookClient(notebook, timeout=TIMEOUT, startup_timeout=TIMEOUT, resources=resources)
        client.execute()
    return notebook


def clean(notebook: Any) -> Any:
    """Remove what differs from run to run, such as identifiers, and text where there is a picture."""
    notebook.metadata = {
        "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
        "language_info": {"name": "python"},
    }
    for number, cell in enumerate(notebook.cells):
        cell.id = f"cell-{number}"
        cell.metadata = {}
        for output in cell.get("outputs", ()):
            if output.output_type in ("display_data", "execute_result"):
                output.metadata = {}
                if len(output.data) > 1:
                    output.data.pop("text/plain", None)
    return notebook


def main() -> None:
    parser = argparse.ArgumentParser(description="Execute the notebooks of the documentation.")
    parser.add_argument("names", nargs="*", metavar="NAME", help="default: all")
    parser.add_argument("--check", action="store_true", help="store nothing")
    given = parser.parse_args()
    os.environ.setdefault("JUPYTER_PLATFORM_DIRS", "1")
    paths = [FOLDER / f"{name}.ipynb" for name in given.names] or sorted(FOLDER.glob("*.ipynb"))
    for path in paths:
        print(f"executing {path.name}…", flush=True)
        notebook = executed(path)
        if not given.check:
            import nbformat

            nbformat.write(clean(notebook), path)


if __name__ == "__main__":
    sys.exit(main())
