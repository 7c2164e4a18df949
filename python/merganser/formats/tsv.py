r"""TSV: a line `pre-token<TAB>count` for each pre-token, for other programs to read and write.

Printable text stands as it is. A backslash is `\\`; tab, newline and carriage return are `\t`, `\n` and `\r`;
every byte of anything else is `\xNN`. So every pre-token is one line, and every line is one pre-token.
"""

import os
import re
from collections.abc import Iterable
from pathlib import Path

from merganser.errors import CorpusError, CountsError
from merganser.files import written_whole


def write(pretokens: Iterable[tuple[bytes, int]], path: str | os.PathLike[str]) -> None:
    with written_whole(path) as file:
        for pretoken, count in pretokens:
            file.write(f"{escape(pretoken)}\t{count}\n".encode())


def read(path: str | os.PathLike[str]) -> dict[bytes, int]:
    pretokens: dict[bytes, int] = {}
    try:
        with Path(path).open("rb") as file:
            for number, line in enumerate(file, 1):
                if line.strip(b"\r\n"):
                    pretoken, count = _parse(line, f"{path}, line {number}")
                    pretokens[pretoken] = pretokens.get(pretoken, 0) + count
    except OSError as error:
        raise CorpusError(f"cannot read {path}: {error.strerror}") from error
    return pretokens


_NAMED = {"\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r"}
_BYTES = {f"\\{letter}": byte for letter, byte in (("\\", b"\\"), ("t", b"\t"), ("n", b"\n"), ("r", b"\r"))}
_ESCAPE = re.compile(r"\\(?:x([0-9a-f]{2})|.|\Z)", re.DOTALL)


def escape(pretoken: bytes) -> str:
    r"""Any bytes as one line of printable text.

    >>> print(escape(b"caf\xc3\xa9\tau lait\xff"))
    café\tau lait\xff
    """
    # surrogateescape keeps each invalid byte as one character, which is not printable and so escaped below.
    text = pretoken.decode("utf-8", "surrogateescape")
    return "".join(_NAMED.get(c) or (c if c.isprintable() else _as_bytes(c)) for c in text)


def _as_bytes(character: str) -> str:
    return "".join(f"\\x{byte:02x}" for byte in character.encode("utf-8", "surrogateescape"))


def unescape(text: str) -> bytes:
    r"""The bytes that `escape` wrote.

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
            raise ValueError(f"{match[0]!r} is not an escape")
        start = match.end()
    parts.append(text[start:].encode())
    return b"".join(parts)


def _parse(line: bytes, place: str) -> tuple[bytes, int]:
    try:
        pretoken, count = line.decode("utf-8").rstrip("\r\n").split("\t")
        if not re.fullmatch("[0-9]+", count):
            raise ValueError(f"{count!r} is not a count")
        return unescape(pretoken), int(count)
    except ValueError as error:
        raise CountsError(f"{place} is not pre-token<TAB>count as to_tsv writes it: {error}") from error
