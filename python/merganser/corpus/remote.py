"""Read files from any URL that fsspec supports, such as `s3://`, `gs://`, `hf://`, `https://` and `memory://`.

Files are streamed in chunks of about 1 MB and never stored locally. A lost connection resumes at the byte it
had reached; if the server does not support that, or every retry fails, an error names the URL.

Web servers have no folders: a URL that ends in `/` means the files below it that its page links to.
"""

import io
import os
import re
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from glob import has_magic
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from merganser.corpus.addresses import WEB, reason, redacted
from merganser.errors import CorpusError, WriteError
from merganser.extras import imported

CHUNK = 1 << 20

#: Seconds to wait before each retry of a lost connection; every byte received restarts the series.
WAITS = (0.2, 1.0, 5.0)

#: The packages that implement protocols for fsspec.
PACKAGES = {
    "s3": "s3fs",
    "s3a": "s3fs",
    "gs": "gcsfs",
    "gcs": "gcsfs",
    "hf": "huggingface_hub",
    "abfs": "adlfs",
}
#: File system metadata that identifies a version of a file.
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
    """A file at a URL, located but not read."""

    fs: Any
    path: str
    #: The URL without secrets. It is displayed, and its suffix determines the format.
    name: str
    size: int | None
    version: str = ""
    #: Whether the file comes from a folder or glob, instead of being named explicitly.
    from_listing: bool = False

    @property
    def origin(self) -> str:
        """A string that identifies this version of the file."""
        return f"{self.name} {self.size} {self.version}"

    def open(self, *, sequential: bool) -> io.BufferedReader:
        return io.BufferedReader(_ReconnectingFile(self, sequential), CHUNK)

    def chunks(self) -> Iterator[bytes]:
        """Yield the bytes of the file in order. The next chunk is read while the caller uses one."""
        with self.open(sequential=True) as file, ThreadPoolExecutor(1) as pool:
            try:
                ahead = pool.submit(file.read, CHUNK)
            except RuntimeError:  # no thread can be started
                yield from iter(lambda: file.read(CHUNK), b"")
                return
            while chunk := ahead.result():
                ahead = pool.submit(file.read, CHUNK)
                yield chunk

    def is_seekable(self) -> bool:
        """Return whether the file can be read from the middle, which some web servers do not support."""
        if not self.path.startswith(WEB):
            return True
        try:
            with self.fs.open(self.path, "rb") as file:
                file.seek((self.size or 0) - 1)
                return len(file.read(1)) == 1
        except Exception:  # if it cannot be read at all, reading it raises the error
            return False

    @contextmanager
    def downloaded(self) -> Iterator[Path]:
        """Download the file to a temporary folder, which is removed when the block ends."""
        with TemporaryDirectory(prefix="merganser-") as folder:
            copy = Path(folder, Path(self.name).name)
            try:
                with copy.open("wb") as file:
                    file.writelines(self.chunks())
            except OSError as error:
                raise WriteError(
                    f"cannot copy {self} to {folder}: {error.strerror}; set TMPDIR to another folder"
                ) from error
            yield copy

    def __str__(self) -> str:
        return self.name


def find(url: str) -> list[RemoteFile]:
    """Return the file at a URL, or the files of a folder or glob, sorted and without hidden ones."""
    name = redacted(url)
    fsspec = imported("fsspec.core", "data", f"reading {name}")
    try:
        fs, path = fsspec.url_to_fs(url, **_options(url))
    except ImportError as error:
        package = PACKAGES.get(url.partition(":")[0])
        remedy = f"pip install {package}" if package else str(error)
        raise ImportError(f"reading {name} needs one more package: {remedy}") from error
    except Exception as error:  # such as an unknown protocol
        raise CorpusError(f"cannot open the URL {name}: {reason(error)}; check its protocol") from error
    try:
        fs.invalidate_cache()
        files = _list_files(fs, path, url)
    except FileNotFoundError as error:
        # The HTTP file system raises this for every failure, and sets the failure as its cause.
        if getattr(error.__cause__, "status", 404) == 404 and not isinstance(error.__cause__, OSError):
            raise CorpusError(f"{name} does not exist; check the URL") from error
        raise CorpusError(f"cannot read {name}: {reason(error.__cause__)}; check the URL") from error
    except Exception as error:
        raise CorpusError(f"cannot read {name}: {reason(error)}") from error
    if not files:
        raise CorpusError(f"there are no files at {name}; check the URL")
    return sorted(files, key=lambda file: file.path)


def _options(url: str) -> dict[str, Any]:
    if not url.startswith(WEB):
        return {}
    aiohttp = imported("aiohttp", "data", f"reading {redacted(url)}")
    # The default limits a whole transfer to five minutes; limit only the wait for the next bytes.
    return {"client_kwargs": {"timeout": aiohttp.ClientTimeout(total=None, sock_connect=60, sock_read=60)}}


def _list_files(fs: Any, path: str, url: str) -> list[RemoteFile]:
    is_web = url.startswith(WEB)
    if is_web and path.endswith("/"):
        return _listed_files(fs, dict(_links(fs, path)), path)
    try:
        info = fs.info(path)
    except FileNotFoundError:
        # In a web URL, `?` starts the query.
        if not ("*" in path if is_web else has_magic(path)):
            raise
        return _listed_files(fs, fs.glob(path, detail=True), re.split(r"[^/]*[*?[]", path)[0])
    if info["type"] == "directory":
        return _listed_files(fs, fs.find(path, detail=True), path)
    return [_file(fs, path, info)]


def _links(fs: Any, page: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the links of a page and of the pages below it; fsspec's `find` ignores unreadable pages."""
    for info in fs.ls(page, detail=True):
        name = info["name"]
        if info["type"] != "directory":
            yield name, info
        elif name.startswith(page) and len(name) > len(page):
            yield from _links(fs, name)


def _listed_files(fs: Any, listing: dict[str, dict[str, Any]], folder: str) -> list[RemoteFile]:
    return [
        replace(_file(fs, path, info), from_listing=True)
        for path, info in listing.items()
        if info["type"] != "directory" and not _is_hidden(path.removeprefix(folder))
    ]


def _is_hidden(path: str) -> bool:
    return any(part.startswith(".") for part in path.split("/"))


def _file(fs: Any, path: str, info: dict[str, Any]) -> RemoteFile:
    version = " ".join(str(info[key]) for key in _VERSION if info.get(key))
    return RemoteFile(fs, path, redacted(fs.unstrip_protocol(path)), info.get("size"), version)


class ConnectionLost(CorpusError):
    """A connection was lost for good. The file may be fine, so `on_error="skip"` does not skip it."""


class _ReconnectingFile(io.RawIOBase):
    """A remote file that resumes after a lost connection, at the byte it had reached."""

    def __init__(self, remote: RemoteFile, sequential: bool) -> None:
        self._remote = remote
        #: Whether the file is read from start to end, so that the web needs a single request.
        self._sequential = sequential
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
            raise OSError(f"the size of {self._remote} is unknown")
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
                self._disconnect()
                continue
            if data or not wanted or size is None or self._at >= size:
                buffer[: len(data)] = data
                self._at += len(data)
                return len(data)
            failure = failure or EOFError(f"it ended early, at byte {self._at:,} of {size:,}")
            self._disconnect()
        raise ConnectionLost(
            f"lost the connection to {self._remote} at byte {self._at:,} and could not resume in "
            f"{1 + len(WAITS)} attempts: {reason(failure)}; try again later, or download the file first"
        ) from failure

    def _read(self, size: int) -> bytes:
        if self._file is None:
            self._file = self._connect()
        if self._file.tell() != self._at:
            self._file.seek(self._at)
        data: bytes = self._file.read(size)
        return data

    def _connect(self) -> Any:
        remote = self._remote
        if self._sequential and self._at == 0 and remote.path.startswith(WEB):
            # A response that the server compresses has a different length from the file.
            uncompressed = {"Accept-Encoding": "identity"}
            return remote.fs.open(remote.path, "rb", block_size=0, headers=uncompressed)
        return remote.fs.open(remote.path, "rb")

    def _disconnect(self) -> None:
        with suppress(Exception):
            self._file.close()
        self._file = None

    def close(self) -> None:
        self._disconnect()
        super().close()
