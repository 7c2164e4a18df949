"""GGUF metadata: key-value pairs at the start of the file, before the tensors of a model.

    "GGUF", version 2 or 3, number of tensors, number of entries, then the entries: key, type, value

All numbers are little-endian; a string is its length followed by UTF-8. Written files have no tensors, and
tensors in other files are not read.
"""

import struct
from collections.abc import Collection, Mapping
from typing import Any, TypeAlias

from merganser.formats import BadFile, native

Value: TypeAlias = str | bool | int | list[str] | list[int]

MAGIC = b"GGUF"
#: Far above the metadata of the largest models; the tensors that follow are not read.
MAX_HEADER_BYTES = 1 << 27
VERSION = 3
#: Version 1 has shorter numbers; files of version 2 and 3 are alike.
_READ = (2, 3)
_MAX_ENTRIES = 1 << 12

_UINT32, _INT32, _BOOL, _STRING, _ARRAY = 4, 5, 7, 8, 9
#: The `struct` format character of each numeric type.
_NUMBERS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}


def serialize(metadata: Mapping[str, Value]) -> bytes:
    """Return a file with this metadata; a number becomes uint32, or int32 inside a list."""
    parts = [MAGIC, struct.pack("<IQQ", VERSION, 0, len(metadata))]
    for key, value in metadata.items():
        kind, data = _value(value)
        parts += [_string(key), struct.pack("<I", kind), data]
    return b"".join(parts)


def _value(value: Value) -> tuple[int, bytes]:
    match value:
        case str():
            return _STRING, _string(value)
        case bool():
            return _BOOL, struct.pack("<?", value)
        case int():
            return _UINT32, struct.pack("<I", value)
    strings = [_string(item) for item in value if isinstance(item, str)]
    if len(strings) == len(value):
        return _ARRAY, struct.pack("<IQ", _STRING, len(value)) + b"".join(strings)
    return _ARRAY, struct.pack(f"<IQ{len(value)}i", _INT32, len(value), *value)


def _string(text: str) -> bytes:
    data = text.encode()
    return struct.pack("<Q", len(data)) + data


def parse(data: bytes, lists: Collection[str]) -> dict[str, Any]:
    """Return the metadata of a file or its prefix; lists, which may be long, only if named in `lists`."""
    return _Reader(data, lists).metadata()


class _Reader:
    """A cursor over the metadata that never allocates more than the data holds, whatever a length says."""

    def __init__(self, data: bytes, lists: Collection[str]) -> None:
        self.data = data
        self.offset = len(MAGIC)
        self.lists = lists

    def metadata(self) -> dict[str, Any]:
        version, _, number = self.numbers("IQQ")
        if version not in _READ:
            raise BadFile(
                f"has GGUF version {version}, but this merganser reads versions 2 and 3; convert the model "
                "again"
            )
        if number > _MAX_ENTRIES:
            raise _corrupt(f"it has more than {_MAX_ENTRIES} metadata entries")
        entries: dict[str, Any] = {}
        for _ in range(number):
            key = self.string()
            if key in entries:
                raise _corrupt(f"it has the key {key[:60]!r} twice")
            [kind] = self.numbers("I")
            entries[key] = self.value(kind, key in self.lists)
        return entries

    def value(self, kind: int, keep_list: bool) -> Any:
        if kind == _STRING:
            return self.string()
        if kind in _NUMBERS:
            return self.numbers(_NUMBERS[kind])[0]
        if kind != _ARRAY:
            raise _corrupt(f"the value at byte {self.offset} has the unknown type {kind}")
        kind, length = self.numbers("IQ")
        if length > native.MAX_TOKENS:
            raise _corrupt(f"it has a list of more than {native.MAX_TOKENS} values")
        if kind == _STRING and keep_list:
            return [self.string() for _ in range(length)]
        if kind == _STRING:
            for _ in range(length):
                self.take(self.numbers("Q")[0])
        elif kind in _NUMBERS and keep_list:
            return list(self.numbers(f"{length}{_NUMBERS[kind]}"))
        elif kind in _NUMBERS:
            self.take(length * struct.calcsize(f"<{_NUMBERS[kind]}"))
        else:
            raise _corrupt(f"the list at byte {self.offset} has values of type {kind}")
        return None

    def numbers(self, letters: str) -> tuple[Any, ...]:
        return struct.unpack(f"<{letters}", self.take(struct.calcsize(f"<{letters}")))

    def string(self) -> str:
        [length] = self.numbers("Q")
        start = self.offset
        try:
            return self.take(length).decode()
        except UnicodeDecodeError:
            raise _corrupt(f"the string at byte {start} is not UTF-8") from None

    def take(self, length: int) -> bytes:
        end = self.offset + length
        if end > len(self.data):
            raise _corrupt(f"it is truncated at byte {len(self.data)}")
        taken = self.data[self.offset : end]
        self.offset = end
        return taken


def _corrupt(reason: str) -> BadFile:
    return BadFile(f"is corrupt: {reason}; get a fresh copy")
