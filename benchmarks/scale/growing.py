"""The generated text of the landmark run as files at URLs: `growing:///150` is 150 files of 1 GB.

An fsspec file system whose files are generated while they are read, by `crates/core/examples/growing_text.rs`
in a process of its own; nothing is stored. merganser reads them as it reads S3: as a stream, with the
position in its log, so that an interrupted run resumes in the middle of a file. Cost: about 1.6 core-seconds
per GB.
"""

from __future__ import annotations

import io
import os
import subprocess
from pathlib import Path
from typing import Any

import fsspec

FILE_SIZE = 10**9
GENERATOR = Path(__file__).resolve().parent.parent.parent / "target" / "release" / "examples" / "growing_text"

#: F_SETPIPE_SZ of Linux: fewer switches between the two processes.
_SET_PIPE_SIZE, _PIPE_SIZE = 1031, 1 << 20


class GrowingText(fsspec.AbstractFileSystem):  # type: ignore[misc]  # fsspec has no types
    """`growing:///N` has the files `00000.txt` to N - 1, each of which continues the one before."""

    protocol = "growing"
    cachable = False

    def info(self, path: str, **_: Any) -> dict[str, Any]:
        name = self._strip_protocol(path)
        if name.endswith(".txt"):
            return {"name": name, "size": FILE_SIZE, "type": "file"}
        return {"name": name, "size": 0, "type": "directory"}

    def find(self, path: str, *_: Any, **__: Any) -> dict[str, dict[str, Any]]:
        folder = self._strip_protocol(path)
        names = [f"{folder}/{number:05}.txt" for number in range(int(folder.strip("/")))]
        return {name: self.info(name) for name in names}

    def _open(self, path: str, *_: Any, **__: Any) -> io.RawIOBase:
        return GeneratedFile(int(Path(path).stem) * FILE_SIZE)


class GeneratedFile(io.RawIOBase):
    """One file: a pipe from the generator, started again after a seek."""

    def __init__(self, start: int) -> None:
        self._start = start
        self._at = 0
        self._process: subprocess.Popen[bytes] | None = None

    def tell(self) -> int:
        return self._at

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        self._stop()
        self._at = offset + (0, self._at, FILE_SIZE)[whence]
        return self._at

    def read(self, size: int = -1) -> bytes:
        left = FILE_SIZE - self._at
        wanted = left if size < 0 else min(size, left)
        if self._process is None:
            command = [
                os.environ.get("GROWING_TEXT", GENERATOR), str(self._start + self._at), str(left)
            ]  # fmt: skip
            self._process = subprocess.Popen(command, stdout=subprocess.PIPE, bufsize=0)
            if os.uname().sysname == "Linux":
                import fcntl

                fcntl.fcntl(self._process.stdout, _SET_PIPE_SIZE, _PIPE_SIZE)  # type: ignore[arg-type]
        assert self._process.stdout
        data: bytes = self._process.stdout.read(wanted)
        self._at += len(data)
        return data

    def _stop(self) -> None:
        if self._process is not None:
            assert self._process.stdout
            self._process.stdout.close()
            self._process.wait()
            self._process = None

    def close(self) -> None:
        self._stop()
        super().close()


def register() -> None:
    """Make `growing://` known to fsspec."""
    fsspec.register_implementation("growing", GrowingText, clobber=True)
