"""The storage that the nodes of a cluster share: a folder that all of them see, or a URL.

In a folder, files are written atomically. For a URL (`s3://…`, or any other that fsspec supports) they are
written to the node's own disk and uploaded, so an upload may be incomplete: only files named in a manifest
are valid. Manifests are small JSON files, written last.
"""

import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Protocol

from merganser.errors import CountsError, WriteError
from merganser.extras import imported
from merganser.files import read_bytes, written_whole

_RESUME = "run it again to resume"


class Storage(Protocol):
    address: str

    def local_path(self, name: str, scratch: Path) -> Path:
        """Return the local path to which the file `name` is written."""

    def store(self, path: Path, name: str) -> None:
        """Store what was written to the local path of `name`."""

    def fetch(self, name: str, scratch: Path) -> Path:
        """Return a local path from which the file `name` can be read."""

    def write(self, name: str, manifest: dict[str, Any]) -> None: ...

    def read(self, name: str) -> dict[str, Any] | None:
        """Return a manifest, or None if it is missing or incomplete."""

    def manifests(self, folder: str) -> set[str]: ...

    def remove(self, *names: str) -> None:
        """Remove files and folders, if they exist."""


def storage_at(address: str) -> Storage:
    return UrlStorage(address) if "://" in address else SharedFolder(address)


class SharedFolder:
    """A folder that all nodes see under the same path."""

    def __init__(self, address: str) -> None:
        self.address = address

    def _path(self, name: str) -> Path:
        return Path(self.address, name)

    def local_path(self, name: str, scratch: Path) -> Path:
        path = self._path(name)
        with _writing(path):
            path.parent.mkdir(parents=True, exist_ok=True)
        return path

    def store(self, path: Path, name: str) -> None:
        pass  # it was written in place

    def fetch(self, name: str, scratch: Path) -> Path:
        path = self._path(name)
        if not path.is_file():
            raise _missing(path)
        return path

    def write(self, name: str, manifest: dict[str, Any]) -> None:
        with written_whole(self.local_path(name, Path())) as file:
            file.write(_dumped(manifest))

    def read(self, name: str) -> dict[str, Any] | None:
        try:
            return _parsed(read_bytes(self._path(name)))
        except FileNotFoundError:
            return None
        except OSError as error:
            raise CountsError(f"cannot read {self._path(name)}: {error.strerror}") from error

    def manifests(self, folder: str) -> set[str]:
        return {file.name for file in self._path(folder).glob("*.json")}

    def remove(self, *names: str) -> None:
        for name in names:
            path = self._path(name)
            if path.is_dir():
                shutil.rmtree(path, ignore_errors=True)
            else:
                path.unlink(missing_ok=True)
        with suppress(OSError):  # not empty
            Path(self.address).rmdir()


class UrlStorage:
    """A folder at a URL that fsspec supports."""

    def __init__(self, address: str) -> None:
        fsspec = imported("fsspec", "ray", f"the storage {address}")
        self.address = address.rstrip("/")
        with _writing(self.address):
            self._files, self._root = fsspec.core.url_to_fs(self.address)

    def _path(self, name: str) -> str:
        return f"{self._root.rstrip('/')}/{name}"

    def _url(self, name: str) -> str:
        return f"{self.address}/{name}"

    def local_path(self, name: str, scratch: Path) -> Path:
        return scratch / name.replace("/", "-")

    def store(self, path: Path, name: str) -> None:
        with _writing(self._url(name)):
            self._files.makedirs(self._path(name).rpartition("/")[0], exist_ok=True)
            self._files.put_file(str(path), self._path(name))
        path.unlink()

    def fetch(self, name: str, scratch: Path) -> Path:
        path = self.local_path(name, scratch)
        try:
            self._files.get_file(self._path(name), str(path))
        except FileNotFoundError:
            raise _missing(self._url(name)) from None
        except Exception as error:
            raise CountsError(f"cannot read {self._url(name)}: {error}; {_RESUME}") from error
        return path

    def write(self, name: str, manifest: dict[str, Any]) -> None:
        with _writing(self._url(name)):
            self._files.makedirs(self._path(name).rpartition("/")[0], exist_ok=True)
            self._files.pipe_file(self._path(name), _dumped(manifest))

    def read(self, name: str) -> dict[str, Any] | None:
        try:
            return _parsed(self._files.cat_file(self._path(name)))
        except FileNotFoundError:
            return None
        except Exception as error:
            raise CountsError(f"cannot read {self._url(name)}: {error}; {_RESUME}") from error

    def manifests(self, folder: str) -> set[str]:
        self._files.invalidate_cache()
        try:
            found = self._files.ls(self._path(folder), detail=False)
        except FileNotFoundError:
            return set()
        except Exception as error:
            raise CountsError(f"cannot list {self._url(folder)}: {error}; {_RESUME}") from error
        names = (str(name).rpartition("/")[2] for name in found)
        return {name for name in names if name.endswith(".json")}

    def remove(self, *names: str) -> None:
        with _writing(self.address):
            for name in names:
                if self._files.exists(self._path(name)):
                    self._files.rm(self._path(name), recursive=True)


def _dumped(manifest: dict[str, Any]) -> bytes:
    return (json.dumps(manifest, ensure_ascii=False) + "\n").encode()


def _parsed(data: bytes) -> dict[str, Any] | None:
    try:
        manifest = json.loads(data)
    except ValueError:
        return None
    return manifest if isinstance(manifest, dict) else None


def _missing(name: object) -> CountsError:
    return CountsError(f"{name} is missing; start over with --no-resume (resume=False)")


@contextmanager
def _writing(name: object) -> Iterator[None]:
    try:
        yield
    except Exception as error:  # each fsspec file system raises the errors of its own library
        reason = getattr(error, "strerror", None) or error
        raise WriteError(f"cannot write {name}: {reason}; check the storage, then {_RESUME}") from error
