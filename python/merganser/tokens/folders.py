"""The folder of token files that a run writes, on this disk or at a URL.

On a disk, every file is written atomically. At a URL, the ids and bounds of a shard are uploaded first and
its `.json` last; without that they are not part of the result.
"""

import os
from contextlib import suppress
from pathlib import Path
from typing import Any, Protocol

from merganser.corpus.addresses import as_url, redacted
from merganser.engines.storage import storage_at
from merganser.errors import TokensError
from merganser.files import check_folder, make_folder, sealed, written_whole
from merganser.tokens.shards import (
    FILE_NAME,
    Shard,
    finished_shards,
    in_removal_order,
    parse_facts,
    parse_sidecar,
    read_facts,
    shard_files,
)


class TokenFolder(Protocol):
    """Where the files of a run are."""

    #: The path or URL.
    address: str

    def check(self) -> None:
        """Raise a `WriteError` unless files can be written: now rather than after an hour of encoding."""

    def create(self) -> None:
        """Create the folder; do nothing if it exists."""

    def discard_new(self) -> None:
        """Remove the folder, if `create` created it and it is empty."""

    def is_begun(self) -> bool:
        """Return whether there is a `tokens.json`."""

    def read_facts(self) -> dict[str, Any]: ...

    def write_facts(self, facts: dict[str, Any]) -> None: ...

    def finished(self) -> tuple[Shard, ...]:
        """Return the finished shards: those with a `.json` file, up to the first without."""

    def files(self) -> list[str]:
        """Return the names of shard files, in the order in which they may be removed."""

    def remove(self, name: str) -> None:
        """Remove a file, if it exists."""


def folder_at(out: str | os.PathLike[str]) -> TokenFolder:
    """Return the folder at a path or URL."""
    name = os.fspath(out)
    url = as_url(name)
    return _UrlFolder(url) if url else _LocalFolder(name)


class _LocalFolder:
    def __init__(self, address: str) -> None:
        self.address = address
        self._path = Path(address)
        self._is_new = False

    def check(self) -> None:
        check_folder(self._path, "choose another out=")

    def create(self) -> None:
        self._is_new = not self._path.exists()
        make_folder(self._path)

    def discard_new(self) -> None:
        if self._is_new:
            with suppress(OSError):  # not empty: it contains shards
                self._path.rmdir()

    def is_begun(self) -> bool:
        return (self._path / FILE_NAME).exists()

    def read_facts(self) -> dict[str, Any]:
        return read_facts(self._path)

    def write_facts(self, facts: dict[str, Any]) -> None:
        with written_whole(self._path / FILE_NAME) as file:
            file.write(sealed(facts))

    def finished(self) -> tuple[Shard, ...]:
        return finished_shards(self._path)

    def files(self) -> list[str]:
        return [file.name for file in shard_files(self._path)]

    def remove(self, name: str) -> None:
        (self._path / name).unlink(missing_ok=True)


class _UrlFolder:
    def __init__(self, url: str) -> None:
        self.address = url.rstrip("/")
        self._storage = storage_at(self.address, "tokens")

    def _name(self, file: str) -> str:
        return f"{redacted(self.address)}/{file}"

    def check(self) -> None:
        probe = ".merganser-probe"
        self._storage.write_bytes(probe, b"")
        self._storage.remove(probe)

    def create(self) -> None:
        pass  # object stores have no folders

    def discard_new(self) -> None:
        pass  # object stores have no folders

    def is_begun(self) -> bool:
        return self._storage.read_bytes(FILE_NAME) is not None

    def read_facts(self) -> dict[str, Any]:
        data = self._storage.read_bytes(FILE_NAME)
        if data is None:
            raise TokensError(f"there is no {self._name(FILE_NAME)}; check the URL")
        return parse_facts(data, self._name(FILE_NAME))

    def write_facts(self, facts: dict[str, Any]) -> None:
        self._storage.write_bytes(FILE_NAME, sealed(facts))

    def finished(self) -> tuple[Shard, ...]:
        sizes = self._storage.sizes()
        shards: list[Shard] = []
        while (file := f"shard-{len(shards):05}.json") in sizes:
            facts = parse_sidecar(self._storage.read_bytes(file) or b"", self._name(file))
            suffix = "npy" if facts["format"] == "npy" else "bin"
            shard = Shard(path=Path(self.address, f"shard-{len(shards):05}.{suffix}"), **facts)
            shard.check_sizes(lambda path: sizes.get(path.name))
            shards.append(shard)
        return tuple(shards)

    def files(self) -> list[str]:
        return in_removal_order(self._storage.sizes())

    def remove(self, name: str) -> None:
        self._storage.remove(name)
