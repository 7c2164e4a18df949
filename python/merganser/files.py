"""List the files of a folder, check that a path is writable, read files, write them atomically, seal JSON.

New files are written to a temporary name, flushed, then renamed. Long-running work first checks that its
result can be written: `check_folder` and `check_file` leave no files behind. Tests can make every read,
write, flush and rename fail (`crates/core/src/faults.rs`).
"""

import errno
import io
import json
import os
import re
import stat
import zlib
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO

from merganser import _core
from merganser.errors import CorpusError, TokensError, WriteError

try:
    from fcntl import LOCK_EX, LOCK_NB, flock
except ImportError:  # Windows
    flock = None  # type: ignore[assignment]


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
    folder = _target(path, instead)[0].parent
    if not folder.exists():
        raise WriteError(f"cannot write {path}: the folder {folder} does not exist; create it, or {instead}")
    check_folder(folder, instead)


def _probe(existing: Path, folder: Path, instead: str) -> None:
    """Create and remove a file: permission bits alone do not show quotas, read-only mounts or ACLs."""
    _core.remove_stale(existing / "probe")
    file = existing / f".probe.{os.getpid()}-{os.urandom(4).hex()}.tmp"
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


def _target(path: Path, instead: str) -> tuple[Path, int | None]:
    """Return the file that a write to `path` replaces, behind all links, and its mode if it exists."""
    try:
        mode = path.stat().st_mode
    except (FileNotFoundError, NotADirectoryError):
        mode = None
    except OSError as error:
        raise WriteError(f"cannot write {path}: {error.strerror}; {_remedy(error, instead)}") from error
    if mode is not None and not stat.S_ISREG(mode):
        # A rename would replace a device or a pipe by a file.
        what = "a folder, not a file" if stat.S_ISDIR(mode) else "not a regular file"
        raise WriteError(f"cannot write {path}: it is {what}; {instead}")
    target = Path(os.path.realpath(path)) if path.is_symlink() else path
    return target, None if mode is None else stat.S_IMODE(mode)


@contextmanager
def locked_folder(folder: Path) -> Iterator[None]:
    """Lock a folder, as the core locks the folders that it writes to, until the block ends.

    Without effect where folders cannot be locked.
    """
    try:
        handle = os.open(folder, os.O_RDONLY) if flock is not None else None
    except OSError:
        handle = None
    if handle is None:
        yield
        return
    try:
        flock(handle, LOCK_EX | LOCK_NB)
        yield
    except BlockingIOError:
        raise TokensError(
            f"{folder} is locked by another process; wait for it to finish, or choose another folder"
        ) from None
    finally:
        os.close(handle)


@contextmanager
def written_whole(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Yield a file that is renamed to `path` when the block succeeds, and removed when it fails.

    A link stays, and the file behind it is replaced, with its mode.
    """
    path = Path(path)
    target, mode = _target(path, "choose another path")
    _core.remove_stale(target)
    # Hidden files are skipped, so a corpus never includes a temporary one.
    temporary = target.with_name(f".{target.name}.{os.getpid()}-{os.urandom(4).hex()}.tmp")
    try:
        with io.BufferedWriter(_File(temporary, "xb")) as file:
            if flock is not None:
                with suppress(OSError):  # shows other processes that it is in use, where files can be locked
                    flock(file, LOCK_EX | LOCK_NB)
            if mode is not None and hasattr(os, "fchmod"):
                os.fchmod(file.fileno(), mode)
            yield file
            file.flush()
            _core.course_of("sync")
            os.fsync(file.fileno())
        _core.course_of("rename")
        temporary.replace(target)
        _sync_folder(target.parent)
    except OSError as error:
        raise WriteError(
            f"cannot write {path}: {error.strerror or error}; nothing was left half-written; "
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


def open_to_read(path: str | os.PathLike[str]) -> io.BufferedReader:
    """Open a file for reading."""
    return io.BufferedReader(_File(os.fspath(path), "rb"))


def read_bytes(path: str | os.PathLike[str]) -> bytes:
    """Return the contents of a file; raise an `OSError` if it ends before its size."""
    with open_to_read(path) as file:
        size = os.fstat(file.fileno()).st_size
        data = file.read()
    if len(data) < size:
        raise OSError(errno.EIO, f"only {len(data):,} of {size:,} bytes could be read")
    return data


class _File(io.FileIO):
    """A file whose operations fail if a test asks for it."""

    def readall(self) -> bytes:
        try:
            course = _core.course_of("read")
        except InterruptedError:
            course = None  # `readall` itself repeats a read that is short or interrupted
        data = super().readall()
        return data[: len(data) // 2] if course == "torn" else data

    def readinto(self, buffer: Any) -> int | None:
        course = _core.course_of("read")
        if course == "torn":
            return 0
        view = memoryview(buffer)
        return super().readinto(view[: (len(view) + 1) // 2] if course == "short" else view)

    def write(self, data: Any) -> int:
        course = _core.course_of("write")
        if course is None:
            return super().write(data)
        view = memoryview(data).cast("B")
        written = super().write(view[: (len(view) + 1) // 2])
        if course == "torn":
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        if course == "crash":
            os.abort()
        return written


#: The last key of a sealed JSON object: the CRC-32 of all bytes before the comma in front of it.
SEAL = "json_crc32"
_SEALED = re.compile(rb'(.*),\s*"json_crc32": "([0-9a-f]{8})"\s*}\s*', re.DOTALL)


def sealed(facts: Mapping[str, Any]) -> bytes:
    """Return a JSON object, one key per line, that ends with its own checksum.

    >>> sealed({"a": 1})
    b'{\\n "a": 1,\\n "json_crc32": "c329b559"\\n}\\n'
    """
    text = json.dumps(facts, ensure_ascii=False, indent=1).removesuffix("\n}").encode()
    return text + b',\n "%s": "%08x"\n}\n' % (SEAL.encode(), zlib.crc32(text))


def seal_matches(data: bytes) -> bool:
    """Return whether a JSON object ends with its checksum, and matches it."""
    match = _SEALED.fullmatch(data)
    return match is not None and zlib.crc32(match[1]) == int(match[2], 16)
