"""What a word is, how text is read, and which of equally frequent pairs goes first: the same in every step.

A word is a run of anything but white space, punctuation and all, with the blank before it if there is one;
white space that begins no word stands alone. So a line break is always a word of its own, and a text may be
cut behind it: reading line by line finds the same words as reading everything at once.

Only the six ASCII characters count as white space. `re` and the Rust core differ on others (`re` takes \\x1c
to \\x1f for white space), and these six are single bytes in UTF-8, so that the pattern also works on bytes.

Ties: of equally frequent pairs the one with the smallest (left id, right id), the core's `tie_break="ids"`.
"""

import io
from collections.abc import Iterator
from typing import Literal

from merganser.learn.ladder.settings import Settings, Source

WHITE_SPACE = " \t\n\r\f\v"
PATTERN = r" ?[^ \t\n\r\f\v]+|[ \t\n\r\f\v]"
TIE_BREAK: Literal["ids"] = "ids"

# GPT-2's alphabet: a character that can be seen for each byte. A blank becomes Ġ, a line break Ċ.
_VISIBLE = [*range(33, 127), *range(161, 173), *range(174, 256)]
_HIDDEN = [byte for byte in range(256) if byte not in _VISIBLE]
_TO_VISIBLE = {byte: chr(256 + nth) for nth, byte in enumerate(_HIDDEN)}
_TO_BYTE = {ord(visible): byte for byte, visible in _TO_VISIBLE.items()}


def visible(word: bytes) -> str:
    """One character for each byte, all of them such as can be seen.

    >>> visible(" naïve\\n".encode())
    'ĠnaÃ¯veĊ'
    """
    return word.decode("latin-1").translate(_TO_VISIBLE)


def as_bytes(shown: str) -> bytes:
    """The way back.

    >>> as_bytes("Ġlow")
    b' low'
    """
    return shown.translate(_TO_BYTE).encode("latin-1")


def lines(source: Source, settings: Settings) -> Iterator[bytes]:
    """The text line by line, up to `max_mb`; what is cut off there ends with a whole character."""
    left = float("inf") if settings.max_mb is None else int(settings.max_mb * 1e6)
    for line in io.BytesIO(source.encode()) if isinstance(source, str) else source:
        if len(line) >= left:
            yield line[: int(left)].decode(errors="ignore").encode()
            return
        left -= len(line)
        yield line


def whole_text(source: Source, settings: Settings) -> str:
    return b"".join(lines(source, settings)).decode()
