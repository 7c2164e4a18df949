"""List the files of a folder, check that a path is writable, and write files atomically.

New files are written to a temporary name, flushed, then renamed. Long-running work first checks that its
result can be written: `check_folder` and `check_file` leave no files behind.
"""

import errno
import os
import secrets
import stat
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from merganser.errors import CorpusError, WriteError


def stored_size(file: Path) -> int:
    """Return the size of a file in bytes, or 0 if it cannot be determined."""
    try:
        return file.stat().st_size
    except OSError:
        return 0


def files_below(folder: Path, without: Collection[str] = ()) -> Iterator[Path]:
    """Yield every file below a folder, except hidden files and the subfolders named in `without`."""

    def fail(error: OSError) -> None:
        raise CorpusError(f"cannot read the folder {error.filename}: {error.strerror}") from error

    for parent, folders, files in os.walk(folder, onerror=fail):
        folders[:] = [name for name in folders if not name.startswith(".") and name not in without]
        for name in files:
            file = Path(parent, name)
            if not name.startswith(".") and file.is_file():
                yield file


def make_folder(folder: Path, instead: str = "choose another path") -> None:
    """Create a folder and its parents; do nothing if it exists."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise WriteError(
            f"cannot create the folder {folder}: {error.strerror}; {_remedy(error, instead)}"
        ) from error


def check_folder(folder: Path, instead: str = "choose another path") -> None:
    """Raise a `WriteError` unless files can be written to a folder, which may not exist yet."""
    for existing in (folder, *folder.parents):
        try:
            mode = existing.stat().st_mode
        except (FileNotFoundError, NotADirectoryError):
            if not existing.is_symlink():
                continue
            raise WriteError(f"cannot write to {folder}: {existing} is a broken link; {instead}") from None
        except OSError as error:
            raise _unwritable(folder, error, instead) from error
        if not stat.S_ISDIR(mode):
            raise WriteError(f"cannot write to {folder}: {existing} is a file, not a folder; {instead}")
        _probe(existing, folder, instead)
        return


def check_file(path: Path, instead: str = "choose another path") -> None:
    """Raise a `WriteError` unless a file can be written to `path`; its folder must exist."""
    if path.is_dir():
        raise WriteError(f"cannot write {path}: it is a folder, not a file; {instead}")
    if not path.parent.exists():
        raise WriteError(
            f"cannot write {path}: the folder {path.parent} does not exist; create it, or {instead}"
        )
    check_folder(path.parent, instead)


def _probe(existing: Path, folder: Path, instead: str) -> None:
    """Create and remove a file: permission bits alone do not show quotas, read-only mounts or ACLs."""
    file = existing / f".{secrets.token_hex(8)}.tmp"
    try:
        file.touch(exist_ok=False)
        file.unlink()
    except OSError as error:
        raise _unwritable(folder, error, instead) from error


def _unwritable(folder: Path, error: OSError, instead: str) -> WriteError:
    return WriteError(f"cannot write to {folder}: {error.strerror}; {_remedy(error, instead)}")


def _remedy(error: OSError, instead: str) -> str:
    """Return the remedy for a failed write, in the words of the core's `error.rs`."""
    if error.errno in (errno.EACCES, errno.EPERM):
        return f"get write permission, or {instead}"
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return f"free some space, or {instead}"
    return instead


@contextmanager
def written_whole(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Yield a file that is renamed to `path` when the block succeeds, and removed when it fails."""
    target = Path(path)
    # Hidden files are skipped, so a corpus never includes a temporary one.
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
            f"cannot write {target}: {error.strerror or error}; nothing was left half-written; "
            f"{_remedy(error, 'choose another path')}"
        ) from error
    finally:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)


def _sync_folder(folder: Path) -> None:
    """Make the rename survive a power failure, on systems that can flush a folder."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
