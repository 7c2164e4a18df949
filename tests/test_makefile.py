"""The Makefile on a fresh machine: its messages, including those for a missing or outdated Rust."""

import os
import re
import shutil
import sys
from pathlib import Path

import processes
import pytest
from examples import ROOT

NEEDED = re.search(r'^rust-version = "(.*)"', (ROOT / "Cargo.toml").read_text("utf-8"), re.MULTILINE)
TOOLS = (
    "sh",
    "bash",
    "find",
    "sed",
    "cut",
    "sort",
    "head",
    "touch",
    "mkdir",
    "cp",
    "cat",
    "env",
    "chmod",
    "make",
)
#: Replaces Python and the programs that it would install with scripts that do nothing.
FAKE_PYTHON = """#!/bin/sh
mkdir -p .venv/bin
for name in pip maturin merganser; do printf '#!/bin/sh\\n' > .venv/bin/$name; chmod +x .venv/bin/$name; done
"""


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """Create a folder with the files that make reads, and a `bin` with little more than a shell."""
    for name in ("Makefile", "Cargo.toml", "Cargo.lock", "pyproject.toml"):
        shutil.copy(ROOT / name, tmp_path)
    (tmp_path / "crates").mkdir()
    (tmp_path / "bin").mkdir()
    for tool in TOOLS:
        if found := shutil.which(tool):
            (tmp_path / "bin" / tool).symlink_to(found)
    script(tmp_path / "bin" / "python3", FAKE_PYTHON)
    return tmp_path


def script(path: Path, text: str) -> None:
    path.write_text(text)
    path.chmod(0o755)


def make(clone: Path, target: str) -> processes.Done:
    environment = {**os.environ, "PATH": str(clone / "bin")}
    for name in ("MAKEFLAGS", "MAKELEVEL", "MFLAGS"):  # set by the make that runs the tests
        environment.pop(name, None)
    return processes.run(["make", target], cwd=clone, env=environment)


pytestmark = pytest.mark.skipif(
    shutil.which("make") is None or sys.platform == "win32", reason="make is not installed"
)


@pytest.mark.parametrize("target", ["demo", "test", "lint"])
def test_a_missing_cargo_is_reported_in_one_line(target: str, clone: Path) -> None:
    assert NEEDED
    done = make(clone, target)
    assert done.returncode != 0
    messages = [line for line in done.stderr.splitlines() if not line.startswith("make")]
    assert messages == [
        f"cargo was not found; merganser needs Rust {NEEDED[1]} or newer: install it from https://rustup.rs"
    ]
    assert not (clone / ".venv").exists()


@pytest.mark.parametrize("version", ["1.9.0", "1.70.0", "1.90.1"])
def test_an_outdated_cargo_is_reported_in_one_line(version: str, clone: Path) -> None:
    assert NEEDED
    script(clone / "bin" / "cargo", f"#!/bin/sh\necho 'cargo {version} (abc 2023-01-01)'\n")
    done = make(clone, "demo")
    assert done.returncode != 0
    messages = [line for line in done.stderr.splitlines() if not line.startswith("make")]
    assert messages == [
        f"cargo {version} is too old; merganser needs Rust {NEEDED[1]} or newer: run 'rustup update'"
    ]
    assert not (clone / ".venv").exists()


@pytest.mark.parametrize("version", ["{}.0", "{}.0-nightly", "1.100.0", "2.0.0"])
def test_demo_reports_its_steps_and_builds_once(version: str, clone: Path) -> None:
    assert NEEDED
    script(clone / "bin" / "cargo", f"#!/bin/sh\necho 'cargo {version.format(NEEDED[1])} (abc 2026-01-01)'\n")
    done = make(clone, "demo")
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [
        "Creating the virtual environment in .venv…",
        "Installing maturin, the build tool…",
        "Building the Rust core (about a minute) and installing dependencies…",
    ]
    assert make(clone, "demo").stdout == ""
