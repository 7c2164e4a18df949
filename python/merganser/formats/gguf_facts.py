"""GGUF's facts: names with values at the front of the file, before the tensors of a model.

    "GGUF", version 3, number of tensors, number of facts, then the facts: name, type, value

All numbers are little-endian; a string is its length and its UTF-8. What is written has no tensors, and those
of others are not read.
"""

import struct
from collections.abc import Collection, Mapping
from typing import Any, TypeAlias

from merganser.formats import BadFile, native

Fact: TypeAlias = str | bool | int | list[str] | list[int]

MAGIC = b"GGUF"
VERSION = 3
_MAX_FACTS = 1 << 12

_UINT32, _INT32, _BOOL, _STRING, _ARRAY = 4, 5, 7, 8, 9
#: Of each type of numbers its letter in `struct`.
_NUMBERS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}


def written(facts: Mapping[str, Fact]) -> bytes:
    """A file of these facts; a number is an unsigned one, but signed in a list."""
    parts = [MAGIC, struct.pack("<IQQ", VERSION, 0, len(facts))]
    for name, value in facts.items():
        kind, data = _value(value)
        parts += [_string(name), struct.pack("<I", kind), data]
    return b"".join(parts)


def _value(value: Fact) -> tuple[int, bytes]:
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


def read(data: bytes, lists: Collection[str]) -> dict[str, Any]:
    """The facts of a file, or of its beginning. Of lists, which may be long, only those named are kept."""
    return _Reader(data, lists).facts()


class _Reader:
    """Goes through the facts. Whatever a length says, no more is made than there are bytes."""

    def __init__(self, data: bytes, lists: Collection[str]) -> None:
        self.data = data
        self.at = len(MAGIC)
        self.lists = lists

    def facts(self) -> dict[str, Any]:
        version, _, number = self.numbers("IQQ")
        if version != VERSION:
            raise BadFile(
                f"has GGUF's version {version}, and this merganser reads {VERSION}; convert it again"
            )
        if number > _MAX_FACTS:
            raise BadFile(f"is damaged: it has more than {_MAX_FACTS} facts")
        facts: dict[str, Any] = {}
        for _ in range(number):
            name = self.string()
            if name in facts:
                raise BadFile(f"is damaged: it says {name[:60]!r} twice; get a fresh copy")
            [kind] = self.numbers("I")
            facts[name] = self.value(kind, name in self.lists)
        return facts

    def value(self, kind: int, keep_list: bool) -> Any:
        if kind == _STRING:
            return self.string()
        if kind in _NUMBERS:
            return self.numbers(_NUMBERS[kind])[0]
        if kind != _ARRAY:
            raise BadFile(f"is damaged: at byte {self.at} is a value of the unknown type {kind}")
        kind, length = self.numbers("IQ")
        if length > native.MAX_TOKENS:
            raise BadFile(f"is damaged: it has a list of more than {native.MAX_TOKENS} values")
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
            raise BadFile(f"is damaged: at byte {self.at} is a list of values of the type {kind}")
        return None

    def numbers(self, letters: str) -> tuple[Any, ...]:
        return struct.unpack(f"<{letters}", self.take(struct.calcsize(f"<{letters}")))

    def string(self) -> str:
        [length] = self.numbers("Q")
        start = self.at
        try:
            return self.take(length).decode()
        except UnicodeDecodeError:
            raise BadFile(f"is damaged: at byte {start} is a string that is not UTF-8") from None

    def take(self, length: int) -> bytes:
        end = self.at + length
        if end > len(self.data):
            raise BadFile(f"is damaged: it ends at byte {len(self.data)}, in the middle; get a fresh copy")
        taken = self.data[self.at : end]
        self.at = end
        return taken
