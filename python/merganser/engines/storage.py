"""Storage: where the machines of a cluster leave what they have counted, a folder that all of them see or an
address.

In a folder, files are written where they belong, whole or not at all. To an address (`s3://…`, anything that
fsspec knows) they are made on the node's own disk and then put there; so a file may be torn, and none is
trusted that no manifest names. Manifests are small JSON files, written last.
"""

import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Protocol

from merganser.errors import CountsError, WriteError
from merganser.extras import imported
from merganser.files import written_whole


class Storage(Protocol):
    address: str

    def place(self, name: str, scratch: Path) -> Path:
        """Where to write a file that is to be kept under `name`."""

    def keep(self, path: Path, name: str) -> None:
        """Keeps what was written to the `place` of `name`."""

    def fetch(self, name: str, scratch: Path) -> Path:
        """A file as one on this machine."""

    def write(self, name: str, manifest: dict[str, Any]) -> None: ...

    def read(self, name: str) -> dict[str, Any] | None:
        """A manifest; none where there is none, or only a torn one."""

    def manifests(self, folder: str) -> set[str]: ...

    def remove(self, *names: str) -> None:
        """Removes files and folders, if they are there."""


def storage_at(address: str) -> Storage:
    return Bucket(address) if "://" in address else Folder(address)


class Folder:
    """A folder that all machines see under the same name."""

    def __init__(self, address: str) -> None:
        self.address = address

    def _path(self, name: str) -> Path:
        return Path(self.address, name)

    def place(self, name: str, scratch: Path) -> Path:
        path = self._path(name)
        with _writing(path):
            path.parent.mkdir(parents=True, exist_ok=True)
        return path

    def keep(self, path: Path, name: str) -> None:
        pass  # it is there

    def fetch(self, name: str, scratch: Path) -> Path:
        path = self._path(name)
        if not path.is_file():
            raise _gone(path)
        return path

    def write(self, name: str, manifest: dict[str, Any]) -> None:
        with written_whole(self.place(name, Path())) as file:
            file.write(_dumped(manifest))

    def read(self, name: str) -> dict[str, Any] | None:
        try:
            return _parsed(self._path(name).read_bytes())
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
        with suppress(OSError):  # as where there is still something in it
            Path(self.address).rmdir()


class Bucket:
    """An address of fsspec."""

    def __init__(self, address: str) -> None:
        fsspec = imported("fsspec", "ray", f"the storage {address}")
        self.address = address.rstrip("/")
        with _writing(self.address):
            self._files, self._root = fsspec.core.url_to_fs(self.address)

    def _path(self, name: str) -> str:
        return f"{self._root.rstrip('/')}/{name}"

    def _named(self, name: str) -> str:
        return f"{self.address}/{name}"

    def place(self, name: str, scratch: Path) -> Path:
        return scratch / name.replace("/", "-")

    def keep(self, path: Path, name: str) -> None:
        with _writing(self._named(name)):
            self._files.makedirs(self._path(name).rpartition("/")[0], exist_ok=True)
            self._files.put_file(str(path), self._path(name))
        path.unlink()

    def fetch(self, name: str, scratch: Path) -> Path:
        path = self.place(name, scratch)
        try:
            self._files.get_file(self._path(name), str(path))
        except FileNotFoundError:
            raise _gone(self._named(name)) from None
        except Exception as error:
            raise CountsError(f"cannot read {self._named(name)}: {error}; start again to go on") from error
        return path

    def write(self, name: str, manifest: dict[str, Any]) -> None:
        with _writing(self._named(name)):
            self._files.makedirs(self._path(name).rpartition("/")[0], exist_ok=True)
            self._files.pipe_file(self._path(name), _dumped(manifest))

    def read(self, name: str) -> dict[str, Any] | None:
        try:
            return _parsed(self._files.cat_file(self._path(name)))
        except FileNotFoundError:
            return None
        except Exception as error:
            raise CountsError(f"cannot read {self._named(name)}: {error}; start again to go on") from error

    def manifests(self, folder: str) -> set[str]:
        self._files.invalidate_cache()
        try:
            found = self._files.ls(self._path(folder), detail=False)
        except FileNotFoundError:
            return set()
        except Exception as error:
            raise CountsError(f"cannot list {self._named(folder)}: {error}; start again to go on") from error
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


def _gone(name: object) -> CountsError:
    return CountsError(f"{name} is not there any more; start afresh with --no-resume (resume=False)")


@contextmanager
def _writing(name: object) -> Iterator[None]:
    try:
        yield
    except Exception as error:  # file systems of fsspec raise what their libraries raise
        reason = getattr(error, "strerror", None) or error
        raise WriteError(
            f"cannot write {name}: {reason}; check the storage, and start again to go on"
        ) from error
