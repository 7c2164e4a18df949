"""Files: those below a folder; and new ones, which are there whole or not at all, and their folders.

New files are written to a temporary name, flushed, then renamed.
"""

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from merganser.errors import CorpusError, WriteError


def stored_size(file: Path) -> int:
    """How many bytes a file has on disk; 0 if that cannot be read."""
    try:
        return file.stat().st_size
    except OSError:
        return 0


def files_below(folder: Path) -> Iterator[Path]:
    """Every file below a folder, hidden ones skipped."""

    def fail(error: OSError) -> None:
        raise CorpusError(f"cannot read the folder {error.filename}: {error.strerror}") from error

    for parent, folders, files in os.walk(folder, onerror=fail):
        folders[:] = [name for name in folders if not name.startswith(".")]
        for name in files:
            file = Path(parent, name)
            if not name.startswith(".") and file.is_file():
                yield file


def make_folder(folder: Path, instead: str = "choose another") -> None:
    """Makes a folder, and those above it, unless it is there."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise WriteError(f"cannot make the folder {folder}: {error.strerror}; {instead}") from error


@contextmanager
def written_whole(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """A file to write to; it appears under `path` when the block ends, and only if nothing went wrong."""
    target = Path(path)
    # The name starts with a dot, so that a corpus folder never takes it for a document.
    temporary = target.with_name(f".{target.name}.{secrets.token_hex(4)}.tmp")
    try:
        with temporary.open("xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(target)
        _sync_folder(target.parent)
    except OSError as error:
        raise WriteError(
            f"cannot write {target}: {error.strerror or error}; nothing was left half-written, "
            "free some space or choose another place"
        ) from error
    finally:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)


def _sync_folder(folder: Path) -> None:
    """Makes the new name survive a power cut, where the system lets a folder be flushed."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
