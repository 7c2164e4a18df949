"""The wire format of protocol buffers, as far as SentencePiece models need it.

A message is a series of fields: a number and a kind in a varint, then the value. Values are slices of the
data, so memory is bounded by the file whatever a length says. A field that the caller does not know is
skipped.
"""

import struct
from collections.abc import Iterable, Iterator
from typing import TypeAlias

from merganser.formats import BadFile

Value: TypeAlias = "int | bytes"

_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
#: Ten bytes of seven bits hold any 64-bit number.
_MAX_VARINT = 10


def fields(data: bytes) -> Iterator[tuple[int, Value]]:
    """Yield the number and value of each field of a message: a varint as an int, all else as bytes.

    >>> list(fields(b"\\x08\\x96\\x01\\x12\\x02hi"))
    [(1, 150), (2, b'hi')]
    """
    at, size = 0, len(data)
    while at < size:
        tag = data[at]
        at += 1
        if tag >= 0x80:
            tag, at = _varint(data, at - 1)
        number, kind = tag >> 3, tag & 7
        if kind == _VARINT:
            value, at = _varint(data, at)
            yield number, value
            continue
        if kind == _BYTES:
            length, at = _varint(data, at)
        elif kind in (_FIXED32, _FIXED64):
            length = 4 if kind == _FIXED32 else 8
        else:
            raise _corrupt(f"a field at byte {at} has the unknown kind {kind}")
        if at + length > size or number == 0:
            raise _corrupt(f"a field is truncated at byte {at}")
        yield number, data[at : at + length]
        at += length


def message(fields: Iterable[tuple[int, "Value | float | str"]]) -> bytes:
    """Return a message with these fields: ints as varints, floats in 32 bits, bytes and texts with a length.

    >>> message([(1, 150), (2, "hi"), (3, -0.5)])
    b'\\x08\\x96\\x01\\x12\\x02hi\\x1d\\x00\\x00\\x00\\xbf'
    """
    data = bytearray()
    for number, value in fields:
        if isinstance(value, int):
            data += _as_varint(number << 3 | _VARINT) + _as_varint(value)
        elif isinstance(value, float):
            data += _as_varint(number << 3 | _FIXED32) + struct.pack("<f", value)
        else:
            content = value.encode() if isinstance(value, str) else value
            data += _as_varint(number << 3 | _BYTES) + _as_varint(len(content)) + content
    return bytes(data)


def _as_varint(value: int) -> bytes:
    """Return a number of seven bits per byte; negative ones have 64 bits."""
    value &= 0xFFFF_FFFF_FFFF_FFFF
    data = bytearray()
    while value >= 0x80:
        data.append(value & 0x7F | 0x80)
        value >>= 7
    data.append(value)
    return bytes(data)


def _varint(data: bytes, at: int) -> tuple[int, int]:
    """Return the number at an offset, and the offset after it."""
    value = 0
    for index, byte in enumerate(data[at : at + _MAX_VARINT]):
        value |= (byte & 0x7F) << 7 * index
        if byte < 0x80:
            return value & 0xFFFF_FFFF_FFFF_FFFF, at + index + 1
    raise _corrupt(f"a number is truncated at byte {at}")


def _corrupt(reason: str) -> BadFile:
    return BadFile(f"is corrupt: {reason}; get a fresh copy")
