"""Find out quickly whether a server can be reached, before a library retries for half a minute.

Name resolution has no timeout of its own, and a firewall that drops packets never refuses a connection. The
attempt therefore runs in a thread that is abandoned after `MERGANSER_CONNECT_TIMEOUT` seconds (default: 1.2).
"""

import math
import os
import socket
import threading
import time
from collections.abc import Callable
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

from merganser.errors import ArgumentError

_VARIABLE = "MERGANSER_CONNECT_TIMEOUT"
#: Seconds. With the start of the interpreter and the import of `datasets`, a failure takes under two seconds.
_DEFAULT = 1.2


def connecting(url: str) -> Callable[[], str | None]:
    """Start to connect to the server of a URL, or to its proxy.

    Returns a function that waits for the connection, and returns why there is none or None.

    >>> connecting("http://127.0.0.1:9/")()
    'Connection refused'
    """
    seconds = _timeout()
    host, port = _server(url)
    deadline = time.monotonic() + seconds
    outcome: list[str | None] = []
    no_answer = f"no answer from {host} within {seconds:g} s (set {_VARIABLE} to wait longer)"

    def connect() -> None:
        try:
            socket.create_connection((host, port), timeout=seconds).close()
        except OSError as error:
            outcome.append(error.strerror or no_answer)
        else:
            outcome.append(None)

    thread = threading.Thread(target=connect, daemon=True)
    thread.start()

    def wait() -> str | None:
        thread.join(max(0.0, deadline - time.monotonic()))
        return outcome[0] if outcome else no_answer

    return wait


def _timeout() -> float:
    value = os.environ.get(_VARIABLE) or str(_DEFAULT)
    try:
        seconds = float(value)
    except ValueError:
        seconds = math.nan
    if not 0 < seconds < math.inf:
        raise ArgumentError(f"{_VARIABLE} must be a positive number of seconds, got {value!r}")
    return seconds


def _server(url: str) -> tuple[str, int]:
    """Return host and port of a URL's server, or of the proxy that the environment sets for it."""
    parts = urlsplit(url)
    proxy = getproxies().get(parts.scheme)
    if proxy and not proxy_bypass(parts.netloc):
        parts = urlsplit(proxy if "://" in proxy else f"http://{proxy}")
    return parts.hostname or "", parts.port or (443 if parts.scheme == "https" else 80)
