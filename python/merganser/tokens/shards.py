"""The files of a folder of tokens: `tokens.json`, and shards with their `.json`.

docs/format.md specifies every byte.
"""

import json
import re
import zlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from merganser.corpus.addresses import as_url
from merganser.errors import TokensError
from merganser.files import SEAL, open_to_read, read_bytes, seal_matches, stored_size
from merganser.tokens.layouts import load_npy, megatron_index

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

FILE_NAME = "tokens.json"
VERSION = 2

ENCODE_AGAIN = "encode the corpus again"

SHARD = re.compile(r"(\.?)shard-([0-9]{5,})\.(bin|npy|idx|json|docs\.npy)(\.tmp)?")
LLMC_HEADER = 256 * 4
#: The length of the numpy header that merganser writes.
_NPY_HEADER = 128
#: The keys of a shard's `.json`; version 1 had no checksums of the boundaries and of the `.json` itself.
_KEYS = {"format", "dtype", "tokens", "documents", "bytes", "invalid_bytes", "crc32", "next"}
_NEW_KEYS = {"bounds_crc32", SEAL}
#: The number of bounds that are checked at a time.
_CHUNK = 1 << 20


@dataclass(frozen=True)
class Shard:
    """One file of ids.

    Attributes
    ----------
    path : Path
        The file.
    format : str
        "bin", "npy", "llmc" or "megatron".
    dtype : str
        The integer type of the ids.
    tokens : int
        The number of ids.
    documents : int or None
        The number of documents; None if their boundaries are not recorded.
    bytes : int or None
        The number of bytes of text; None if not recorded.
    invalid_bytes : int or None
        The number of bytes that were not valid UTF-8; None if not recorded.
    crc32 : str or None
        The checksum; None if not recorded.
    bounds_crc32 : str or None
        The checksum of the file of document boundaries; None if not recorded.
    next : dict
        Where in the corpus the next shard begins: a file or document, and an offset in it.
    """

    path: Path
    format: str
    dtype: str
    tokens: int
    documents: int | None = None
    bytes: int | None = None
    invalid_bytes: int | None = None
    crc32: str | None = None
    bounds_crc32: str | None = field(default=None, repr=False)
    next: dict[str, int] = field(default_factory=dict, repr=False)

    def ids(self) -> "NDArray[np.integer[Any]]":
        """Return the ids of the shard as a memory-mapped array."""
        import numpy as np

        dtype = np.dtype(self.dtype).newbyteorder("<")
        self._check_local()
        header = _header_bytes(self)
        size = self.path.stat().st_size
        if size != header + self.tokens * dtype.itemsize:
            raise _wrong_size(self.path, f"{self.tokens:,} tokens")
        return np.memmap(self.path, dtype, "r", header, (self.tokens,)) if self.tokens else np.empty(0, dtype)

    def bounds(self, check: bool = True) -> "NDArray[np.integer[Any]]":
        """Return the start of each document in `ids()`, followed by the end of the last one.

        `check` compares the checksum and the order, for which the whole file is read.
        """
        import numpy as np

        if self.documents is None:
            raise TokensError(
                f"{self.path} does not record where its documents end; read it as a whole with ids()"
            )
        self._check_local()
        file = self._bounds_file
        if check:
            self._check_sum(file, self.bounds_crc32)
        bounds = megatron_index(self.path)[1] if self.format == "megatron" else load_npy(file)
        if (
            bounds.shape != (self.documents + 1,)
            or bounds.dtype != np.int64
            or bounds[0] != 0
            or bounds[-1] != self.tokens
            or (check and any((part[1:] < part[:-1]).any() for part in _overlapping(bounds)))
        ):
            raise TokensError(f"{file} is corrupt: it does not match {self.path}; {ENCODE_AGAIN}")
        return bounds

    def _check_local(self) -> None:
        if url := as_url(str(self.path)):
            raise TokensError(f"{url} is not on this disk; download the folder, then open the copy")

    @property
    def _bounds_file(self) -> Path:
        if self.format == "megatron":
            return self.path.with_suffix(".idx")
        return self.path.with_name(f"{self.path.stem}.docs.npy")

    def check_sizes(self, size_of: Callable[[Path], int | None]) -> None:
        """Raise a `TokensError` unless the files have the sizes that the `.json` implies.

        `size_of` returns the size of a file, or None if there is none.
        """
        header = {"npy": _NPY_HEADER, "llmc": LLMC_HEADER}.get(self.format, 0)
        if size_of(self.path) != header + self.tokens * (2 if self.dtype == "uint16" else 4):
            raise _wrong_size(self.path, f"{self.tokens:,} tokens")
        documents = self.documents or 0
        if self.format == "megatron":
            expected = 34 + 12 * documents + 8 * (documents + 1)
        else:
            expected = _NPY_HEADER + 8 * (documents + 1)
        if size_of(self._bounds_file) is None:
            raise TokensError(f"{self._bounds_file} is missing; {ENCODE_AGAIN}")
        if size_of(self._bounds_file) != expected:
            raise _wrong_size(self._bounds_file, f"{documents:,} documents")

    def each_document(self) -> "Iterator[NDArray[np.integer[Any]]]":
        """Yield the ids of each document in order."""
        ids, bounds = self.ids(), self.bounds()
        for start in range(0, len(bounds) - 1, _CHUNK):
            for begin, end in pairwise(bounds[start : start + _CHUNK + 1].tolist()):
                yield ids[begin:end]

    def check(self) -> None:
        """Raise a `TokensError` if the checksum of a file does not match. Reads the whole files."""
        self._check_sum(self.path, self.crc32)
        self._check_sum(self._bounds_file, self.bounds_crc32)

    def _check_sum(self, path: Path, expected: str | None) -> None:
        if expected is None:
            return
        self._check_local()
        value = 0
        try:
            with open_to_read(path) as file:
                while chunk := file.read(1 << 22):
                    value = zlib.crc32(chunk, value)
        except OSError as error:
            raise TokensError(f"cannot read {path}: {error.strerror}; {ENCODE_AGAIN}") from error
        if f"{value:08x}" != expected:
            raise TokensError(f"{path} is corrupt: its checksum does not match; {ENCODE_AGAIN}")


def read_facts(folder: Path) -> dict[str, Any]:
    """Read `tokens.json`."""
    return parse_facts(_read(folder / FILE_NAME), str(folder / FILE_NAME))


def parse_facts(data: bytes, file: str) -> dict[str, Any]:
    """Return the contents of `tokens.json`; `file` is its name in messages."""
    facts = _parse_json(data, file)
    if "merganser_tokens" not in facts:
        raise TokensError(f"{file} was not written by merganser; check the path")
    version = facts["merganser_tokens"]
    if type(version) is not int or not 1 <= version <= VERSION:
        raise TokensError(
            f"{file} has version {version!r:.40}, but this merganser reads versions up to {VERSION}; "
            "upgrade merganser"
        )
    if version > 1 and SEAL not in facts:
        raise TokensError(f"{file} is corrupt: its checksum is missing; {ENCODE_AGAIN}")
    is_valid = (
        isinstance(facts.get("complete"), bool)
        and (not facts["complete"] or type(facts.get("shards")) is int)
        and isinstance(facts.get("tokenizer"), str)
        and isinstance(facts.get("separator"), str | None)
        and all(facts.get(name) is None or type(facts[name]) is int for name in ("prepend", "append"))
    )
    if not is_valid:
        raise TokensError(f"{file} is corrupt: a field is missing or invalid; {ENCODE_AGAIN}")
    return facts


def finished_shards(folder: Path) -> tuple[Shard, ...]:
    """Return the finished shards: those with a `.json` file, up to the first without."""
    shards: list[Shard] = []
    while (sidecar := folder / f"shard-{len(shards):05}.json").is_file():
        shards.append(read_sidecar(sidecar))
    return tuple(shards)


def shard_files(folder: Path) -> list[Path]:
    """Return the files of all shards, the last shard first, and each `.json` before its other files."""
    return [folder / name for name in in_removal_order(file.name for file in folder.iterdir())]


def in_removal_order(names: Iterable[str]) -> list[str]:
    """Return the names of shard files, so that removing them one by one leaves a valid beginning."""
    matches = [match for name in names if (match := SHARD.fullmatch(name))]
    matches.sort(key=lambda match: (-int(match[2]), match[3] != "json", match[0]))
    return [match[0] for match in matches]


def _read(file: Path) -> bytes:
    try:
        return read_bytes(file)
    except OSError as error:
        raise TokensError(
            f"cannot read {file}: {error.strerror}; check that this is a folder of token files"
        ) from error


def _parse_json(data: bytes, file: str) -> dict[str, Any]:
    try:
        value = json.loads(data)
    except (ValueError, RecursionError):
        raise TokensError(f"{file} is corrupt: it is not JSON; {ENCODE_AGAIN}") from None
    if not isinstance(value, dict):
        raise TokensError(f"{file} is corrupt: it is not a JSON object; {ENCODE_AGAIN}")
    if SEAL in value and not seal_matches(data):
        raise TokensError(f"{file} is corrupt: its checksum does not match; {ENCODE_AGAIN}")
    return value


def read_sidecar(file: Path) -> Shard:
    """Return the shard that a `.json` describes, after checking that its files exist."""
    facts = parse_sidecar(_read(file), str(file))
    path = file.with_suffix(".npy" if facts["format"] == "npy" else ".bin")
    if not path.is_file():
        raise TokensError(f"{path} is missing, although {file.name} describes it; {ENCODE_AGAIN}")
    shard = Shard(path=path, **facts)
    shard.check_sizes(lambda path: stored_size(path) if path.is_file() else None)
    return shard


def parse_sidecar(data: bytes, file: str) -> dict[str, Any]:
    """Return the fields of a `Shard`; `file` is the name of its `.json` in messages."""
    facts = _parse_json(data, file)
    numbers = [facts.get(name) for name in ("tokens", "documents", "bytes", "invalid_bytes")]
    position = facts.get("next")
    if isinstance(position, dict):
        numbers += [position.get(name) for name in ("part", "offset", "within")]
    is_valid = (
        # Exact, so that a damaged name of a key does not switch a check off.
        facts.keys() in (_KEYS, _KEYS | _NEW_KEYS)
        and facts.get("format") in ("bin", "npy", "llmc", "megatron")
        and facts.get("dtype") in ("uint16", "uint32", "int32")
        and isinstance(facts.get("crc32"), str)
        and isinstance(facts.get("bounds_crc32"), str | None)
        and isinstance(position, dict)
        and all(type(n) is int and n >= 0 for n in numbers)
    )
    if not is_valid:
        raise TokensError(f"{file} is corrupt: a field is missing or invalid; {ENCODE_AGAIN}")
    facts.pop(SEAL, None)
    return facts


def _wrong_size(path: Path, of: str) -> TokensError:
    return TokensError(f"{path} is corrupt: its size is not that of {of}; {ENCODE_AGAIN}")


def _overlapping(bounds: "NDArray[np.integer[Any]]") -> "Iterator[NDArray[np.integer[Any]]]":
    """Yield parts of an array, each with the first value of the next, so that a check takes little memory."""
    for start in range(0, len(bounds) - 1, _CHUNK):
        yield bounds[start : start + _CHUNK + 1]


def _header_bytes(shard: Shard) -> int:
    if shard.format == "llmc":
        return LLMC_HEADER
    if shard.format != "npy":
        return 0
    array = load_npy(shard.path)
    if array.shape != (shard.tokens,) or array.dtype.newbyteorder("<") != shard.dtype:
        raise TokensError(f"{shard.path} is corrupt: its header does not match its .json; {ENCODE_AGAIN}")
    return int(array.offset)
