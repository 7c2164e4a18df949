"""Words, reading and ties: the same in every step.

A word is a run of characters other than whitespace, punctuation included, with one preceding space if there
is one; any other whitespace character is a word by itself. So a line break is always a separate word, and
reading line by line finds the same words as reading the whole text.

Only the six ASCII characters are whitespace. `re` and the Rust core differ on others (`re` treats \\x1c to
\\x1f as whitespace), and these six are single bytes in UTF-8, so that the pattern also works on bytes.

Ties: among equally frequent pairs, the smallest (left id, right id) wins, as with the core's
`tie_break="ids"`.
"""

import io
from collections.abc import Iterator
from typing import Literal

from merganser.learn.ladder.settings import LadderSettings, Source

WHITESPACE = " \t\n\r\f\v"
PATTERN = r" ?[^ \t\n\r\f\v]+|[ \t\n\r\f\v]"
TIE_BREAK: Literal["ids"] = "ids"

# GPT-2's alphabet: a visible character for each byte. A space becomes Ġ, a line break Ċ.
_VISIBLE = [*range(33, 127), *range(161, 173), *range(174, 256)]
_HIDDEN = [byte for byte in range(256) if byte not in _VISIBLE]
_TO_VISIBLE = {byte: chr(256 + nth) for nth, byte in enumerate(_HIDDEN)}
_TO_BYTE = {ord(visible): byte for byte, visible in _TO_VISIBLE.items()}


def visible(word: bytes) -> str:
    """Return one visible character for each byte.

    >>> visible(" naïve\\n".encode())
    'ĠnaÃ¯veĊ'
    """
    return word.decode("latin-1").translate(_TO_VISIBLE)


def as_bytes(text: str) -> bytes:
    """Return the bytes of `visible` text.

    >>> as_bytes("Ġlow")
    b' low'
    """
    return text.translate(_TO_BYTE).encode("latin-1")


def lines(source: Source, settings: LadderSettings) -> Iterator[bytes]:
    """Yield the text line by line, cut after `max_mb` at a whole character."""
    left = float("inf") if settings.max_mb is None else int(settings.max_mb * 1e6)
    for line in io.BytesIO(source.encode()) if isinstance(source, str) else source:
        if len(line) >= left:
            yield line[: int(left)].decode(errors="ignore").encode()
            return
        left -= len(line)
        yield line


def whole_text(source: Source, settings: LadderSettings) -> str:
    return b"".join(lines(source, settings)).decode()
