"""Integers: the two ranges that the library's arguments have, and the errors outside them."""

from operator import index
from typing import Any

_MAX_U32 = 2**32 - 1
_MAX_U64 = 2**64 - 1


def number(value: Any) -> int:
    """Return an id or a number of a word: an unsigned integer of 32 bits.

    >>> number(7)
    7
    """
    found = index(value)
    if 0 <= found <= _MAX_U32:
        return found
    raise OverflowError(f"number too {'small' if found < 0 else 'large'} to fit in target type")


def position(value: Any) -> int:
    """Return a position or a length: an unsigned integer of 64 bits.

    >>> position(7)
    7
    """
    found = index(value)
    if found < 0:
        raise OverflowError("can't convert negative int to unsigned")
    if found > _MAX_U64:
        raise OverflowError("int too big to convert")
    return found
