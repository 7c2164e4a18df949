"""A real S3 server on this machine (moto's, in a process of its own), and a proxy in front of it that fails.

The server is filled directly, since 10,000 requests would take longer than all tests of it.
"""

import http.client
import os
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import processes
import pytest

_SERVER = """
import logging, os, sys, threading
from pathlib import Path
from moto.core import DEFAULT_ACCOUNT_ID
from moto.s3.models import s3_backends
from moto.server import DomainDispatcherApplication, create_backend_app
from werkzeug.serving import make_server

logging.disable()
backend = s3_backends[DEFAULT_ACCOUNT_ID]["aws"]
backend.create_bucket("bucket", "us-east-1")
folder, many = Path(sys.argv[1]), int(sys.argv[2])
for file in sorted(folder.rglob("*")):
    if file.is_file():
        backend.put_object("bucket", f"texts/{file.relative_to(folder)}", file.read_bytes())
for n in range(many):
    backend.put_object("bucket", f"many/{n:05}.txt", b"the cat %d" % n)
server = make_server("127.0.0.1", 0, DomainDispatcherApplication(create_backend_app), threaded=True)
print(server.server_port, flush=True)
# Ends with the test, even if that is killed.
threading.Thread(target=lambda: (sys.stdin.read(), os._exit(0)), daemon=True).start()
server.serve_forever()
"""


@contextmanager
def started_server(texts: Path, many: int) -> Iterator[int]:
    """Yield the port of a server whose bucket has the files below `texts`, and `many` small ones."""
    command = [sys.executable, "-W", "ignore", "-c", _SERVER, str(texts), str(many)]
    with processes.started(command, stdin=processes.PIPE) as server:
        line = server.stdout.readline()
        assert line, server.stderr.read()
        yield int(line)


#: Returns how a request fails, or None: "500", "reset", "slow" or "truncated".
Fault = Callable[[str, str], str | None]


class Proxy(ThreadingHTTPServer):
    """Passes requests on to the server, except for those that fail."""

    daemon_threads = True

    def __init__(self, port: int) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.target = port
        self.fault: Fault = lambda method, path: None
        self.failed: list[tuple[str, str, str]] = []
        threading.Thread(target=self.serve_forever, daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def handle_error(self, request: object, client_address: object) -> None:
        pass  # clients that were cut off


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Proxy

    def log_message(self, *_: object) -> None:
        pass

    def _pass_on(self) -> None:
        body = self._body()
        fault = self.server.fault(self.command, self.path)
        if fault is not None:
            self.server.failed.append((fault, self.command, self.path))
        if fault == "reset":
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
            self.connection.close()
            self.close_connection = True
            return
        if fault == "500":
            message = b"<Error><Code>InternalError</Code><Message>try again</Message></Error>"
            self._answer(500, [("Content-Type", "application/xml")], message, len(message))
            return
        connection = http.client.HTTPConnection("127.0.0.1", self.server.target, timeout=60)
        connection.request(self.command, self.path, body, dict(self.headers.items()))
        response = connection.getresponse()
        data = response.read()
        if fault == "slow":
            time.sleep(1)
        kept = len(data) // 2 if fault == "truncated" else len(data)
        self._answer(response.status, response.getheaders(), data[:kept], len(data))
        connection.close()
        self.close_connection = self.close_connection or fault == "truncated"

    def _body(self) -> bytes:
        if self.headers.get("Transfer-Encoding", "").lower() == "chunked":
            parts = []
            while size := int(self.rfile.readline().partition(b";")[0], 16):
                parts.append(self.rfile.read(size))
                self.rfile.readline()
            while self.rfile.readline().strip():
                pass  # trailers
            del self.headers["Transfer-Encoding"]
            return b"".join(parts)
        return self.rfile.read(int(self.headers.get("Content-Length") or 0))

    def _answer(self, status: int, headers: list[tuple[str, str]], data: bytes, length: int) -> None:
        self.send_response(status)
        for name, value in headers:
            if name.lower() not in ("content-length", "connection", "transfer-encoding", "date", "server"):
                self.send_header(name, value)
        if self.command != "HEAD":
            self.send_header("Content-Length", str(length))
        else:
            self.send_header("Content-Length", next(v for n, v in headers if n.lower() == "content-length"))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)

    do_GET = do_PUT = do_POST = do_DELETE = do_HEAD = _pass_on


def settings(url: str) -> dict[str, str]:
    """Return environment variables for a client of the server at `url`."""
    return {
        "AWS_ENDPOINT_URL": url,
        "AWS_ACCESS_KEY_ID": "a",
        "AWS_SECRET_ACCESS_KEY": "b",
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_EC2_METADATA_DISABLED": "true",
        "AWS_CONFIG_FILE": os.devnull,
        "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
    }


@contextmanager
def environment(url: str, credentials: bool = True) -> Iterator[None]:
    """Make this process a client of the server at `url`."""
    import s3fs

    with pytest.MonkeyPatch.context() as patched:
        for name, value in settings(url).items():
            patched.setenv(name, value)
        for name in ("AWS_PROFILE", "AWS_SESSION_TOKEN"):
            patched.delenv(name, raising=False)
        if not credentials:
            patched.delenv("AWS_ACCESS_KEY_ID")
            patched.delenv("AWS_SECRET_ACCESS_KEY")
        s3fs.S3FileSystem.clear_instance_cache()
        yield
        s3fs.S3FileSystem.clear_instance_cache()
