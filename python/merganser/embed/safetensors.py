"""Read and write safetensors files, which contain arrays and no code, without the package.

The format as specified by its authors: eight bytes with the length of the header, little-endian; the header,
a JSON object with `dtype`, `shape` and `data_offsets` of every array and strings in `__metadata__`, padded
with spaces; then the arrays without gaps. The format has no checksum, so we add one to the metadata; files
without it are read as well.
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
from merganser.files import written_whole

if TYPE_CHECKING:
    from numpy.typing import NDArray

_NAMES = {"F32": "<f4", "F64": "<f8", "F16": "<f2", "U8": "<u1", "U32": "<u4", "U64": "<u8", "I64": "<i8"}
_DTYPES = {np.dtype(dtype): name for name, dtype in _NAMES.items()}
#: The limit of the package.
_MAX_HEADER_BYTES = 100_000_000
_CHECKSUM = "crc32"


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
    header["__metadata__"] = {**metadata, _CHECKSUM: f"{checksum:08x}"}
    text = json.dumps(header, ensure_ascii=False, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    with written_whole(path) as file:
        file.write(struct.pack("<Q", len(text)))
        file.write(text)
        for part in parts:
            file.write(part)


def read(path: str | os.PathLike[str]) -> "tuple[dict[str, NDArray[Any]], dict[str, str]]":
    """Return the arrays and the metadata of a file, after validating all of it."""

    def corrupt(reason: str) -> EmbeddingsError:
        return EmbeddingsError(f"{os.fspath(path)} is corrupt: {reason}")

    try:
        with open(path, "rb") as file:  # noqa: PTH123  # a path of any kind
            size = os.fstat(file.fileno()).st_size
            start = file.read(8)
            length = struct.unpack("<Q", start)[0] if len(start) == 8 else 0
            if not 2 <= length <= min(size - 8, _MAX_HEADER_BYTES):
                raise corrupt("it has no header")
            header = _json(file.read(length))
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
    if _CHECKSUM in metadata and metadata[_CHECKSUM] != f"{zlib.crc32(data):08x}":
        raise corrupt("its checksum does not match")
    return arrays, metadata


def _json(text: bytes) -> dict[str, Any] | None:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None
