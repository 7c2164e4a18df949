"""The storage that the nodes of a cluster share: a folder that all of them see, or a URL.

In a folder, files are written atomically. For a URL (`s3://…`, or any other that fsspec supports) they are
written to the node's own disk and uploaded, so an upload may be incomplete: only files named in a manifest
are valid. Manifests are small JSON files, written last.

Requests that fail are repeated after each of the `WAITS`, unless a repetition cannot help.
"""

import json
import os
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Protocol, TypeVar

from merganser.corpus.addresses import reason, redacted
from merganser.corpus.remote import PACKAGES, WAITS
from merganser.errors import CountsError, MerganserError, TokensError, WriteError
from merganser.extras import imported
from merganser.files import open_to_read, read_bytes, written_whole

_RESUME = "run it again to resume"

#: How to start over, and the error to raise if there is no other way.
_START_OVER: dict[str, tuple[str, type[MerganserError]]] = {
    "counts": ("start over with --no-resume (resume=False)", CountsError),
    "tokens": ("start over with --overwrite (overwrite=True)", TokensError),
}

#: Protocols without folders: a name may contain slashes.
_FLAT = {"s3", "s3a", "gs", "gcs", "abfs", "az", "memory"}

#: The bytes of a range that are in memory at a time.
_CHUNK = 1 << 24

T = TypeVar("T")


class Storage(Protocol):
    address: str

    def local_path(self, name: str, scratch: Path) -> Path:
        """Return the local path to which the file `name` is written."""

    def store(self, path: Path, name: str) -> None:
        """Store what was written to the local path of `name`."""

    def workspace(self) -> "TemporaryDirectory[str]":
        """Return a temporary folder for files that `publish` stores."""

    def publish(self, path: Path, name: str) -> None:
        """Move a file of the workspace to `name`, atomically."""

    def fetch(self, name: str, scratch: Path) -> Path:
        """Return a local path from which the file `name` can be read."""

    def fetch_range(self, name: str, start: int, end: int, scratch: Path) -> tuple[Path, int]:
        """Return a local file with the bytes of a range, and where in `name` that file begins."""

    def read_range(self, name: str, start: int, end: int) -> bytes: ...

    def write(self, name: str, manifest: dict[str, Any]) -> None: ...

    def write_bytes(self, name: str, data: bytes) -> None:
        """Write a small file, atomically."""

    def read(self, name: str) -> dict[str, Any] | None:
        """Return a manifest, or None if it is missing or incomplete."""

    def read_bytes(self, name: str) -> bytes | None:
        """Return the contents of a small file, or None if it is missing."""

    def manifests(self, folder: str) -> set[str]: ...

    def sizes(self) -> dict[str, int]:
        """Return the name and size of each file at the top level."""

    def remove(self, *names: str) -> None:
        """Remove files and folders, if they exist."""


def storage_at(address: str, of: str = "counts") -> Storage:
    """Return the storage at an address; `of` names what it holds, for messages: "counts" or "tokens"."""
    return UrlStorage(address, of) if "://" in address else SharedFolder(address, of)


class _Manifests:
    """Manifests, on top of small files."""

    def write(self, name: str, manifest: dict[str, Any]) -> None:
        self.write_bytes(name, (json.dumps(manifest, ensure_ascii=False) + "\n").encode())

    def read(self, name: str) -> dict[str, Any] | None:
        data = self.read_bytes(name)
        try:
            manifest = None if data is None else json.loads(data)
        except (ValueError, RecursionError):
            return None
        return manifest if isinstance(manifest, dict) else None

    def write_bytes(self, name: str, data: bytes) -> None:
        raise NotImplementedError

    def read_bytes(self, name: str) -> bytes | None:
        raise NotImplementedError


class SharedFolder(_Manifests):
    """A folder that all nodes see under the same path."""

    def __init__(self, address: str, of: str = "counts") -> None:
        self.address = address
        self._start_over, self._error = _START_OVER[of]

    def _path(self, name: str) -> Path:
        return Path(self.address, name)

    def local_path(self, name: str, scratch: Path) -> Path:
        path = self._path(name)
        with _writing(path):
            path.parent.mkdir(parents=True, exist_ok=True)
        return path

    def store(self, path: Path, name: str) -> None:
        pass  # it was written in place

    def workspace(self) -> "TemporaryDirectory[str]":
        # In the folder itself, so that a file can be renamed; hidden, so that it is no part of a corpus.
        with _writing(self.address):
            return TemporaryDirectory(prefix=".merganser-", dir=self.address, ignore_cleanup_errors=True)

    def publish(self, path: Path, name: str) -> None:
        with _writing(self._path(name)):
            path.replace(self._path(name))

    def fetch(self, name: str, scratch: Path) -> Path:
        path = self._path(name)
        if not path.is_file():
            raise self._missing(path)
        return path

    def fetch_range(self, name: str, start: int, end: int, scratch: Path) -> tuple[Path, int]:
        return self.fetch(name, scratch), 0

    def read_range(self, name: str, start: int, end: int) -> bytes:
        path = self.fetch(name, Path())
        with self._reading(path), open_to_read(path) as file:
            file.seek(start)
            return file.read(end - start)

    def write_bytes(self, name: str, data: bytes) -> None:
        with written_whole(self.local_path(name, Path())) as file:
            file.write(data)

    def read_bytes(self, name: str) -> bytes | None:
        try:
            with self._reading(self._path(name)):
                return read_bytes(self._path(name))
        except FileNotFoundError:
            return None

    def manifests(self, folder: str) -> set[str]:
        return {file.name for file in self._path(folder).glob("*.json")}

    def sizes(self) -> dict[str, int]:
        with self._reading(self.address):
            return {file.name: file.stat().st_size for file in Path(self.address).iterdir() if file.is_file()}

    def remove(self, *names: str) -> None:
        for name in names:
            path = self._path(name)
            if path.is_dir():
                shutil.rmtree(path, ignore_errors=True)
            else:
                path.unlink(missing_ok=True)
        with suppress(OSError):  # not empty
            Path(self.address).rmdir()

    def _missing(self, path: Path) -> MerganserError:
        return self._error(f"{path} is missing; {self._start_over}")

    @contextmanager
    def _reading(self, path: object) -> Iterator[None]:
        try:
            yield
        except FileNotFoundError:
            raise
        except OSError as error:
            raise self._error(f"cannot read {path}: {error.strerror}") from error


class UrlStorage(_Manifests):
    """A folder at a URL that fsspec supports."""

    def __init__(self, address: str, of: str = "counts") -> None:
        name = redacted(address)
        fsspec = imported("fsspec", "ray", f"the storage {name}")
        self.address = address.rstrip("/")
        self._start_over, self._error = _START_OVER[of]
        try:
            self._files, self._root = fsspec.core.url_to_fs(self.address)
        except ImportError as error:
            package = PACKAGES.get(address.partition(":")[0])
            remedy = f"pip install {package}" if package else str(error)
            raise ImportError(f"the storage {name} needs one more package: {remedy}") from error
        except Exception as error:
            raise WriteError(
                f"cannot open the storage {name}: {reason(error)}; check its protocol"
            ) from error
        protocols = self._files.protocol
        self._is_flat = bool(_FLAT & ({protocols} if isinstance(protocols, str) else set(protocols)))

    def _path(self, name: str) -> str:
        return f"{self._root.rstrip('/')}/{name}".rstrip("/")

    def _url(self, name: str) -> str:
        return f"{redacted(self.address)}/{name}"

    def local_path(self, name: str, scratch: Path) -> Path:
        path = scratch / name
        with _writing(path):
            path.parent.mkdir(parents=True, exist_ok=True)
        return path

    def store(self, path: Path, name: str) -> None:
        self.publish(path, name)
        path.unlink()

    def workspace(self) -> "TemporaryDirectory[str]":
        return TemporaryDirectory(prefix="merganser-")

    def publish(self, path: Path, name: str) -> None:
        self._upload(name, lambda to: self._files.put_file(str(path), to))

    def fetch(self, name: str, scratch: Path) -> Path:
        path = self.local_path(name, scratch)

        def download() -> None:
            self._files.get_file(self._path(name), str(path))
            size = self._files.info(self._path(name))["size"]
            if path.stat().st_size != size:
                raise EOFError(f"it ended early, at byte {path.stat().st_size:,} of {size:,}")

        self._download(name, download)
        return path

    def fetch_range(self, name: str, start: int, end: int, scratch: Path) -> tuple[Path, int]:
        path = self.local_path(f"{name}.{start}", scratch)
        with path.open("wb") as file:
            for at in range(start, end, _CHUNK):
                file.write(self.read_range(name, at, min(at + _CHUNK, end)))
        return path, start

    def read_range(self, name: str, start: int, end: int) -> bytes:
        def download() -> bytes:
            data: bytes = self._files.cat_file(self._path(name), start=start, end=end)
            if len(data) != end - start:
                raise EOFError(f"got {len(data):,} of {end - start:,} bytes")
            return data

        return self._download(name, download)

    def write_bytes(self, name: str, data: bytes) -> None:
        self._upload(name, lambda to: self._files.pipe_file(to, data))

    def read_bytes(self, name: str) -> bytes | None:
        try:
            data: bytes = _repeated(lambda: self._files.cat_file(self._path(name)))
        except FileNotFoundError:
            return None
        except Exception as error:
            raise self._unreadable(name, error) from error
        return data

    def manifests(self, folder: str) -> set[str]:
        return {name for name in self._list(folder) if name.endswith(".json")}

    def sizes(self) -> dict[str, int]:
        return self._list("")

    def _list(self, folder: str) -> dict[str, int]:
        def found() -> list[dict[str, Any]]:
            self._files.invalidate_cache()
            return list(self._files.ls(self._path(folder), detail=True))

        try:
            files = _repeated(found)
        except FileNotFoundError:
            return {}
        except Exception as error:
            raise self._unreadable(folder, error) from error
        return {
            str(file["name"]).rpartition("/")[2]: file["size"] for file in files if file["type"] == "file"
        }

    def remove(self, *names: str) -> None:
        def delete(name: str) -> None:
            self._files.invalidate_cache()
            with suppress(FileNotFoundError):
                self._files.rm(self._path(name), recursive=True)

        for name in names:
            with _writing(self._url(name)):
                _repeated(lambda name=name: delete(name))  # type: ignore[misc]

    def _upload(self, name: str, put: Callable[[str], None]) -> None:
        path = self._path(name)
        with _writing(self._url(name)):
            if not self._is_flat:
                self._files.makedirs(path.rpartition("/")[0], exist_ok=True)
            _repeated(lambda: put(path))

    def _download(self, name: str, get: Callable[[], T]) -> T:
        try:
            return _repeated(get)
        except FileNotFoundError:
            raise self._error(f"{self._url(name)} is missing; {self._start_over}") from None
        except Exception as error:
            raise self._unreadable(name, error) from error

    def _unreadable(self, name: str, error: Exception) -> MerganserError:
        return self._error(f"cannot read {self._url(name)}: {reason(error)}; {_RESUME}")


def _repeated(request: Callable[[], T]) -> T:
    """Return the result of a request, repeated while it fails."""
    for wait in WAITS:
        try:
            return request()
        except (FileNotFoundError, PermissionError):
            raise
        except Exception as error:  # each fsspec file system raises the errors of its own library
            if "Credentials" in type(error).__name__:
                raise
        time.sleep(wait)
    return request()


@contextmanager
def _writing(name: object) -> Iterator[None]:
    try:
        yield
    except Exception as error:
        why = os.strerror(error.errno) if isinstance(error, OSError) and error.errno else reason(error)
        raise WriteError(f"cannot write {name}: {why}; check the storage, then {_RESUME}") from error
