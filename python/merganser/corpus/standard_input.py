"""Standard input, in chunks, with Ctrl-C noticed while it is silent."""

import os
import select
import sys
from collections.abc import Iterator

from merganser.errors import CorpusError

_CHUNK = 1 << 20
#: Seconds between checks for signals while waiting for input.
_POLL_SECONDS = 0.1


def stdin_chunks() -> Iterator[bytes]:
    """Yield the chunks of standard input; Ctrl-C ends the wait for the next one."""
    if sys.stdin is None:  # its descriptor may have become another file
        raise CorpusError("standard input is closed; pass a file, or connect it")
    try:
        while True:
            # A read is interrupted only by a signal that arrives during it. One that arrives just before
            # would go unnoticed until the next input, so read only when there is some.
            while not _has_input():
                pass
            chunk = os.read(0, _CHUNK)
            if not chunk:
                return
            yield chunk
    except OSError as error:
        raise CorpusError(f"cannot read standard input: {error.strerror}") from error


def _has_input() -> bool:
    """Wait briefly for standard input, so that a loop around this notices signals."""
    if sys.platform == "win32":  # select works only on sockets
        return True
    return bool(select.select([0], [], [], _POLL_SECONDS)[0])
