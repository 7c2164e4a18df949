r"""Read and write counts as lines of `pre-token<TAB>count`, for other programs.

Printable text is kept. A backslash is written as `\\`; tab, newline and carriage return as `\t`, `\n` and
`\r`; every other byte as `\xNN`. Each line is exactly one pre-token.
"""

import os
import re
from collections.abc import Iterable
from pathlib import Path

from merganser.errors import CorpusError, CountsError
from merganser.files import written_whole
from merganser.tokenizer.escaping import escape, unescape


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


def _parse(line: bytes, location: str) -> tuple[bytes, int]:
    try:
        pretoken, count = line.decode("utf-8").rstrip("\r\n").split("\t")
        if not re.fullmatch("[0-9]+", count):
            raise ValueError(f"{count!r} is not a count")
        return unescape(pretoken), int(count)
    except ValueError as error:
        raise CountsError(f"{location} must be pre-token<TAB>count, as to_tsv writes it: {error}") from error
