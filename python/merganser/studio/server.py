"""Server: uvicorn with limits on connections, on their time and on the log.

uvicorn waits for the headers and the body of a request without a time limit, and for a client that does not
read. Here, a connection has 10 s to send the headers of a request, and 60 s each to send the body and to read
what was sent. Beyond 128 connections, the one that has waited longest without sending a request is closed.

Connections are checked twice a second, which costs a microsecond for each and nothing for a request.
"""

import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from socket import socket
from typing import Any, ClassVar

import h11
import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol


@dataclass(frozen=True)
class Limits:
    """Limits of a server: open connections, times in seconds, and log messages per minute."""

    connections: int = 128
    headers: float = 10.0
    body: float = 60.0
    reading: float = 60.0
    messages: int = 20


#: The graceful shutdown is short: a page that follows a training must not keep the server running. With a
#: longer backlog, asyncio reports a full descriptor table thousands of times a second.
_SETTINGS: dict[str, Any] = {
    "log_level": "error",
    "access_log": False,
    "lifespan": "off",
    "ws": "none",
    "backlog": 128,
    "timeout_graceful_shutdown": 1,
}


class Server(uvicorn.Server):
    """Serves an application, and closes connections that are too slow."""

    def __init__(self, app: ASGIApp, limits: Limits | None = None) -> None:
        self.limits = limits or Limits()
        super().__init__(uvicorn.Config(app, http=_connection(self.limits.connections), **_SETTINGS))
        #: The phase of each connection, the request that it belongs to, and when it was first seen.
        self._phases: dict[H11Protocol, tuple[str, object, float]] = {}

    async def serve(self, sockets: list[socket] | None = None) -> None:
        with _limited_log(self.limits.messages):
            await super().serve(sockets)

    async def on_tick(self, counter: int) -> bool:
        """Called by uvicorn ten times a second."""
        if counter % 5 == 0:
            self._close_overdue()
        return await super().on_tick(counter)

    def _close_overdue(self) -> None:
        now = time.monotonic()
        seen = self._phases
        self._phases = {}
        for connection in tuple(self.server_state.connections):
            assert isinstance(connection, H11Protocol)
            phase = _phase(connection)
            if phase is None:
                continue
            before = seen.get(connection)
            is_same = before is not None and before[:2] == (phase, connection.cycle)
            since = before[2] if before is not None and is_same else now
            if now - since >= getattr(self.limits, phase):
                connection.transport.abort()
            else:
                self._phases[connection] = (phase, connection.cycle, since)


def _phase(connection: H11Protocol) -> str | None:
    """Return the name of the limit that applies, or None while the application works."""
    if connection.transport.is_closing() or connection.flow.write_paused:
        return "reading"
    return {h11.IDLE: "headers", h11.SEND_BODY: "body"}.get(connection.conn.their_state)


class _Connection(H11Protocol):
    """Makes room for itself if there are more connections than `most`."""

    most: ClassVar[int]

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self.accepted = time.monotonic()
        if len(self.connections) > self.most:
            others = (other for other in self.connections if isinstance(other, _Connection))
            waiting = [other for other in others if _phase(other) == "headers"]  # this one at least
            oldest = min(waiting, key=lambda other: other.accepted)
            self.connections.discard(oldest)
            oldest.transport.abort()


def _connection(most: int) -> type[_Connection]:
    return type("Connection", (_Connection,), {"most": most})


class _MessageLimit(logging.Filter):
    """Passes a limited number of messages per minute; the last one says that others are left out."""

    def __init__(self, most: int) -> None:
        super().__init__()
        self.most = most
        self.minute = -1
        self.seen = 0

    def filter(self, record: logging.LogRecord) -> bool:
        minute = int(time.monotonic() // 60)
        if minute != self.minute:
            self.minute, self.seen = minute, 0
        self.seen += 1
        if self.seen == self.most:
            record.msg, record.args = (
                "%s (further messages of this minute are left out)",
                (record.getMessage(),),
            )
        return self.seen <= self.most


@contextmanager
def _limited_log(messages: int) -> Iterator[None]:
    limit = _MessageLimit(messages)
    loggers = [logging.getLogger(name) for name in ("asyncio", "uvicorn.error")]
    for logger in loggers:
        logger.addFilter(limit)
    try:
        yield
    finally:
        for logger in loggers:
            logger.removeFilter(limit)
