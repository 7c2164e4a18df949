"""Create `benchmarks/.venv` with the pinned peers, and merganser built from this checkout.

Uses only the standard library, so that any python3 can run it. The peers are reinstalled when
`requirements.txt` changes, and merganser when a source file is newer than the last build, because a release
build takes about a minute.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import venv
from collections.abc import Iterator
from pathlib import Path

HERE = Path(__file__).resolve().parent
REPOSITORY = HERE.parent
ENVIRONMENT = HERE / ".venv"
PYTHON = ENVIRONMENT / "bin" / "python"

SOURCES = ("crates", "python", "Cargo.toml", "Cargo.lock", "pyproject.toml")
SOURCE_SUFFIXES = {".rs", ".py", ".pyi", ".toml", ".lock", ".bin"}


def enter() -> None:
    """Restart the process inside the environment, unless it already runs there."""
    if Path(sys.prefix).resolve() == ENVIRONMENT.resolve():
        return
    prepare()
    os.execv(PYTHON, [str(PYTHON), *sys.argv])


def prepare() -> None:
    """Create or update the environment."""
    if not PYTHON.exists():
        say(f"creating {ENVIRONMENT}")
        venv.create(ENVIRONMENT, with_pip=True)
    install_peers()
    install_merganser()


def install_peers() -> None:
    """Install the pinned peers unless the same list is already installed."""
    requirements = HERE / "requirements.txt"
    digest = hashlib.sha256(requirements.read_bytes()).hexdigest()
    stamp = ENVIRONMENT / "peers.stamp"
    if stamp.exists() and stamp.read_text() == digest:
        return
    say("installing the peers")
    pip("install", "-r", str(requirements))
    stamp.write_text(digest)


def install_merganser() -> None:
    """Build and install merganser if its sources are newer than the last build.

    Without a `pyproject.toml` there is nothing to build, but the peers can still be run.
    """
    if not (REPOSITORY / "pyproject.toml").exists():
        say("no pyproject.toml: skipping merganser")
        return
    stamp = ENVIRONMENT / "merganser.stamp"
    newest = max(path.stat().st_mtime for path in source_files())
    if stamp.exists() and stamp.stat().st_mtime >= newest:
        return
    say("building merganser (release)")
    pip("install", "--no-deps", "--force-reinstall", str(REPOSITORY))
    stamp.touch()


def source_files() -> Iterator[Path]:
    """Yield every file that a build of merganser reads."""
    for name in SOURCES:
        path = REPOSITORY / name
        if path.is_file():
            yield path
        for inner in path.rglob("*"):
            if inner.suffix in SOURCE_SUFFIXES and "__pycache__" not in inner.parts:
                yield inner


def pip(*arguments: str) -> None:
    """Run the pip of the environment; raise if it fails."""
    command = [str(PYTHON), "-m", "pip", "--quiet", "--disable-pip-version-check", *arguments]
    subprocess.run(command, check=True)


def say(message: str) -> None:
    """Print a progress message to stderr."""
    print(f"[bench] {message}", file=sys.stderr, flush=True)
