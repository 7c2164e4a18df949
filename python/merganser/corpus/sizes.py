"""Parse sizes: a number of bytes, or a string with a unit ("2GB" is 2·10⁹ bytes, "2GiB" is 2·2³⁰)."""

import re

from merganser.errors import SettingsError

_UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12}
_BINARY = {"k": 2**10, "m": 2**20, "g": 2**30, "t": 2**40}


def size_of(given: int | str, what: str) -> int:
    """Parse a size into bytes; `what` names the setting in error messages.

    >>> size_of("1.5GB", "max_size"), size_of("2 KiB", "max_size"), size_of(7, "max_size")
    (1500000000, 2048, 7)
    """
    if not isinstance(given, str):
        return given
    match = re.fullmatch(r"\s*([0-9]+(?:\.[0-9]+)?)\s*([kmgt]?)(i?)b?\s*", given, re.IGNORECASE)
    if not match or (match[3] and not match[2]):
        raise SettingsError(
            f'{what} must be a number of bytes or a size such as "2GB" or "512MiB", got {given!r}'
        )
    return int(float(match[1]) * (_BINARY if match[3] else _UNITS)[match[2].lower()])
