"""Read and write safetensors files, which contain arrays and no code, without the package.

The format as specified by its authors: eight bytes with the length of the header, little-endian; the header,
a JSON object with `dtype`, `shape` and `data_offsets` of every array and strings in `__metadata__`, padded
with spaces; then the arrays without gaps. The format has no checksums, so we add two to the metadata: of the
data, and of the header with zeros in its place. Each vouches for the presence of the other. Files of other
programs, which have neither, are read as well.
"""

import json
import os
import struct
import zlib
from collections.abc import Mapping
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from merganser.errors import EmbeddingsError
from merganser.files import open_to_read, written_whole

if TYPE_CHECKING:
    from numpy.typing import NDArray

_NAMES = {"F32": "<f4", "F64": "<f8", "F16": "<f2", "U8": "<u1", "U32": "<u4", "U64": "<u8", "I64": "<i8"}
_DTYPES = {np.dtype(dtype): name for name, dtype in _NAMES.items()}
#: The limit of the package.
_MAX_HEADER_BYTES = 100_000_000
_CHECKSUM = "crc32"
_HEADER_CHECKSUM = "header_crc32"
#: Metadata that other programs write.
_THEIRS = {"format"}


def write(
    path: str | os.PathLike[str], arrays: "Mapping[str, NDArray[Any]]", metadata: Mapping[str, str]
) -> None:
    """Write arrays and metadata to a file, atomically."""
    header: dict[str, Any] = {}
    parts = []
    offset, checksum = 0, 0
    for name, array in arrays.items():
        little = np.ascontiguousarray(array, array.dtype.newbyteorder("<"))
        part = little.tobytes()
        shape = list(array.shape)
        header[name] = {
            "dtype": _DTYPES[little.dtype],
            "shape": shape,
            "data_offsets": [offset, offset + len(part)],
        }
        offset += len(part)
        checksum = zlib.crc32(part, checksum)
        parts.append(part)
    checksums = {_CHECKSUM: f"{checksum:08x}", _HEADER_CHECKSUM: "0" * 8}
    header["__metadata__"] = {**metadata, **checksums}
    text = json.dumps(header, ensure_ascii=False, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    text = _with_checksum(text, "0" * 8, f"{zlib.crc32(text):08x}")
    with written_whole(path) as file:
        file.write(struct.pack("<Q", len(text)))
        file.write(text)
        for part in parts:
            file.write(part)


def read(
    path: str | os.PathLike[str], *, ours: bool = False
) -> "tuple[dict[str, NDArray[Any]], dict[str, str]]":
    """Return the arrays and the metadata of a file, after validating all of it.

    ours: whether merganser wrote the file, so that it has a checksum unless another program saved it again.
    """

    def corrupt(reason: str) -> EmbeddingsError:
        return EmbeddingsError(f"{os.fspath(path)} is corrupt: {reason}")

    try:
        with open_to_read(path) as file:
            size = os.fstat(file.fileno()).st_size
            start = file.read(8)
            length = struct.unpack("<Q", start)[0] if len(start) == 8 else 0
            if not 2 <= length <= min(size - 8, _MAX_HEADER_BYTES):
                raise corrupt("it has no header")
            text = file.read(length)
            header = _json(text)
            data = file.read()
    except OSError as error:
        raise EmbeddingsError(f"cannot read {os.fspath(path)}: {error.strerror}") from error
    if header is None:
        raise corrupt("its header is not a JSON object")
    metadata = header.pop("__metadata__", {})
    if not isinstance(metadata, dict) or not all(isinstance(value, str) for value in metadata.values()):
        raise corrupt("its metadata contains values that are not strings")
    arrays: dict[str, NDArray[Any]] = {}
    end = 0
    try:
        for name, entry in sorted(header.items(), key=lambda entry: entry[1]["data_offsets"]):
            dtype = np.dtype(_NAMES[entry["dtype"]])
            shape = [int(side) for side in entry["shape"]]
            first, last = entry["data_offsets"]
            if first != end or last - first != prod(shape) * dtype.itemsize or min(shape, default=0) < 0:
                raise ValueError
            arrays[name] = np.frombuffer(data, dtype, prod(shape), first).reshape(shape)
            end = last
    except (KeyError, TypeError, ValueError):
        raise corrupt("its header does not match its data") from None
    if end != len(data):
        raise corrupt(f"it has {len(data):,} bytes of data, but its header describes {end:,}")
    in_header = metadata.get(_HEADER_CHECKSUM)
    if _CHECKSUM not in metadata and (in_header is not None or (ours and metadata.keys() - _THEIRS)):
        raise corrupt("its checksum is missing")
    if in_header not in (None, f"{zlib.crc32(_with_checksum(text, in_header, '0' * 8)):08x}"):
        raise corrupt("the checksum of its header does not match")
    if metadata.get(_CHECKSUM, checksum := f"{zlib.crc32(data):08x}") != checksum:
        raise corrupt("its checksum does not match")
    return arrays, metadata


def _with_checksum(header: bytes, old: str | None, new: str) -> bytes:
    """Return a header with another checksum of itself."""
    entry = f'"{_HEADER_CHECKSUM}":"%s"'
    return header.replace((entry % old).encode(), (entry % new).encode())


def _json(text: bytes) -> dict[str, Any] | None:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None
