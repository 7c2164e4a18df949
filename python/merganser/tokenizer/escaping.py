r"""Escape bytes as one line of printable text, and unescape them.

Printable text is kept. A backslash is written as `\\`; tab, newline and carriage return as `\t`, `\n` and
`\r`; every other byte as `\xNN`.
"""

import re

_NAMED = {"\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r"}
_BYTES = {f"\\{letter}": byte for letter, byte in (("\\", b"\\"), ("t", b"\t"), ("n", b"\n"), ("r", b"\r"))}
_ESCAPE = re.compile(r"\\(?:x([0-9a-f]{2})|.|\Z)", re.DOTALL)


def escape(pretoken: bytes) -> str:
    r"""Return bytes as one line of printable text.

    >>> print(escape(b"caf\xc3\xa9\tau lait\xff"))
    café\tau lait\xff
    """
    # surrogateescape maps each invalid byte to one unprintable character, which is escaped below.
    text = pretoken.decode("utf-8", "surrogateescape")
    return "".join(_NAMED.get(c) or (c if c.isprintable() else _as_bytes(c)) for c in text)


def _as_bytes(character: str) -> str:
    return "".join(f"\\x{byte:02x}" for byte in character.encode("utf-8", "surrogateescape"))


def unescape(text: str) -> bytes:
    r"""Return the bytes that `escape` wrote.

    >>> unescape(r"caf\xc3\xa9\tau lait\xff") == b"caf\xc3\xa9\tau lait\xff"
    True
    """
    parts: list[bytes] = []
    start = 0
    for match in _ESCAPE.finditer(text):
        parts.append(text[start : match.start()].encode())
        if match[1]:
            parts.append(bytes.fromhex(match[1]))
        elif match[0] in _BYTES:
            parts.append(_BYTES[match[0]])
        else:
            raise ValueError(f"{match[0]!r} is not a valid escape sequence")
        start = match.end()
    parts.append(text[start:].encode())
    return b"".join(parts)
