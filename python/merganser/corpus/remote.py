"""Remote: files at any address that fsspec knows, such as `s3://`, `gs://`, `hf://`, `https://` and `memory://`.

They are read as streams, about a megabyte at a time, and not stored here. A connection that is lost is taken
up again at the byte it had reached; where the server cannot do that, or it fails time after time, the work
stops with an error that names the address.

A web server has no folders: an address that ends in `/` stands for what the page there links to below it.
"""

import io
import os
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from glob import has_magic
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from merganser.corpus.addresses import WEB, reason, shown
from merganser.errors import CorpusError, WriteError
from merganser.extras import imported

CHUNK = 1 << 20

#: Seconds to wait before a lost connection is tried again; a byte that arrives starts the series afresh.
WAITS = (0.2, 1.0, 5.0)

#: Who speaks a protocol, where fsspec itself does not.
_PACKAGES = {
    "s3": "s3fs",
    "s3a": "s3fs",
    "gs": "gcsfs",
    "gcs": "gcsfs",
    "hf": "huggingface_hub",
    "abfs": "adlfs",
}
#: What tells one version of a file from the next, as far as a file system says.
_VERSION = (
    "ETag",
    "etag",
    "md5Hash",
    "blob_id",
    "LastModified",
    "last_modified",
    "mtime",
    "updated",
    "created",
)


@dataclass(frozen=True)
class RemoteFile:
    """A file at an address, found but not read."""

    fs: Any
    path: str
    #: For people, and to tell the format from.
    name: str
    size: int | None
    version: str = ""
    #: Whether a folder or a glob has found it, and not the caller named it.
    found: bool = False

    @property
    def origin(self) -> str:
        """What tells this file from others, and from itself when it has changed."""
        return f"{self.name} {self.size} {self.version}"

    def opened(self, *, in_order: bool) -> io.BufferedReader:
        return io.BufferedReader(_Steady(self, in_order), CHUNK)

    def chunks(self) -> Iterator[bytes]:
        """The bytes of the file, from the first to the last."""
        with self.opened(in_order=True) as file:
            while chunk := file.read(CHUNK):
                yield chunk

    def allows_jumps(self) -> bool:
        """Whether it can be read from the middle, which some web servers do not offer."""
        if not self.path.startswith(WEB):
            return True
        try:
            with self.fs.open(self.path, "rb") as file:
                file.seek((self.size or 0) - 1)
                return len(file.read(1)) == 1
        except Exception:  # where it cannot be read at all, reading it says why
            return False

    @contextmanager
    def copied(self) -> Iterator[Path]:
        """A copy on this machine, for as long as the block lasts."""
        with TemporaryDirectory(prefix="merganser-") as folder:
            copy = Path(folder, Path(self.name).name)
            try:
                with copy.open("wb") as file:
                    file.writelines(self.chunks())
            except OSError as error:
                raise WriteError(
                    f"cannot copy {self} to {folder}: {error.strerror}; name another folder as TMPDIR"
                ) from error
            yield copy

    def __str__(self) -> str:
        return self.name


def find(address: str) -> list[RemoteFile]:
    """The file at an address; or those of a folder, sorted, hidden ones skipped; or those of a glob."""
    name = shown(address)
    fsspec = imported("fsspec.core", "data", f"reading {name}")
    try:
        fs, path = fsspec.url_to_fs(address, **_options(address))
    except ImportError as error:
        package = _PACKAGES.get(address.partition(":")[0])
        remedy = f"pip install {package}" if package else str(error)
        raise ImportError(f"reading {name} needs one more package: {remedy}") from error
    except Exception as error:  # such as a protocol that nobody speaks
        raise CorpusError(f"{name} is not an address that can be read: {reason(error)}") from error
    try:
        fs.invalidate_cache()
        found = _found(fs, path, address)
    except FileNotFoundError as error:
        # For the web it also stands for every other failure, which is then its cause.
        if getattr(error.__cause__, "status", 404) == 404 and not isinstance(error.__cause__, OSError):
            raise CorpusError(f"there is nothing at {name}; check the address") from error
        raise CorpusError(f"cannot read {name}: {reason(error.__cause__)}; check the address") from error
    except Exception as error:
        raise CorpusError(f"cannot read {name}: {reason(error)}") from error
    if not found:
        raise CorpusError(f"there are no files at {name}; check the address")
    return sorted(found, key=lambda file: file.path)


def _options(address: str) -> dict[str, Any]:
    if not address.startswith(WEB):
        return {}
    aiohttp = imported("aiohttp", "data", f"reading {shown(address)}")
    # By default a transfer may take five minutes in all; but it may take as long as it is alive.
    return {"client_kwargs": {"timeout": aiohttp.ClientTimeout(total=None, sock_connect=60, sock_read=60)}}


def _found(fs: Any, path: str, address: str) -> list[RemoteFile]:
    is_web = address.startswith(WEB)
    if is_web and path.endswith("/"):
        return _all(fs, dict(_linked(fs, path)), path)
    try:
        facts = fs.info(path)
    except FileNotFoundError:
        # In an address of the web, `?` begins the query.
        if not ("*" in path if is_web else has_magic(path)):
            raise
        return _all(fs, fs.glob(path, detail=True), re.split(r"[^/]*[*?[]", path)[0])
    if facts["type"] == "directory":
        return _all(fs, fs.find(path, detail=True), path)
    return [_file(fs, path, facts)]


def _linked(fs: Any, page: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """What a page and those below it link to; fsspec's own walk passes over pages that cannot be read."""
    for facts in fs.ls(page, detail=True):
        name = facts["name"]
        if facts["type"] != "directory":
            yield name, facts
        elif name.startswith(page) and len(name) > len(page):
            yield from _linked(fs, name)


def _all(fs: Any, found: dict[str, dict[str, Any]], folder: str) -> list[RemoteFile]:
    return [
        replace(_file(fs, path, facts), found=True)
        for path, facts in found.items()
        if facts["type"] != "directory" and not _is_hidden(path.removeprefix(folder))
    ]


def _is_hidden(path: str) -> bool:
    return any(part.startswith(".") for part in path.split("/"))


def _file(fs: Any, path: str, facts: dict[str, Any]) -> RemoteFile:
    version = " ".join(str(facts[key]) for key in _VERSION if facts.get(key))
    return RemoteFile(fs, path, shown(fs.unstrip_protocol(path)), facts.get("size"), version)


class Lost(CorpusError):
    """A connection that could not be taken up again: no fault of the file, which is never skipped for it."""


class _Steady(io.RawIOBase):
    """A remote file that goes on after a lost connection, at the byte it had reached."""

    def __init__(self, remote: RemoteFile, in_order: bool) -> None:
        self._remote = remote
        #: Whether it will be read from its first byte to its last: then one request is enough for the web.
        self._in_order = in_order
        self._file: Any = None
        self._at = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._at

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        size = self._remote.size
        if whence == os.SEEK_END and size is None:
            raise OSError(f"{self._remote} does not say how long it is")
        self._at = offset + (0, self._at, size or 0)[whence]
        return self._at

    def readinto(self, buffer: Any) -> int:
        wanted = len(buffer)
        size = self._remote.size
        failure: Exception | None = None
        for wait in (0.0, *WAITS):
            time.sleep(wait)
            try:
                data = self._read(wanted)
            except (FileNotFoundError, PermissionError) as error:
                raise CorpusError(f"cannot read {self._remote}: {reason(error)}") from error
            except Exception as error:
                failure = failure or error
                self._hang_up()
                continue
            if data or not wanted or size is None or self._at >= size:
                buffer[: len(data)] = data
                self._at += len(data)
                return len(data)
            failure = failure or EOFError(f"it ended early, at byte {self._at:,} of {size:,}")
            self._hang_up()
        raise Lost(
            f"lost {self._remote} at byte {self._at:,} and could not go on there, in {1 + len(WAITS)} tries: "
            f"{reason(failure)}; try again later, or copy it to this machine"
        ) from failure

    def _read(self, size: int) -> bytes:
        if self._file is None:
            self._file = self._opened()
        if self._file.tell() != self._at:
            self._file.seek(self._at)
        data: bytes = self._file.read(size)
        return data

    def _opened(self) -> Any:
        remote = self._remote
        if self._in_order and self._at == 0 and remote.path.startswith(WEB):
            # What a server compresses by itself would have another length than the file.
            as_it_is = {"Accept-Encoding": "identity"}
            return remote.fs.open(remote.path, "rb", block_size=0, headers=as_it_is)
        return remote.fs.open(remote.path, "rb")

    def _hang_up(self) -> None:
        with suppress(Exception):
            self._file.close()
        self._file = None

    def close(self) -> None:
        self._hang_up()
        super().close()
