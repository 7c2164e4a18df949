"""A local web server that can be made to misbehave."""

import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import processes


@dataclass
class Page:
    body: bytes = b""
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    #: Whether range requests are supported.
    ranges: bool = True
    #: The number of responses, from now on, that are cut off halfway.
    cuts: int = 0


class Web:
    """`pages` by path, and `seen`, the requests so far."""

    def __init__(self, server: ThreadingHTTPServer) -> None:
        self.url = f"http://127.0.0.1:{server.server_port}"
        self.pages: dict[str, Page] = {}
        self.seen: list[str] = []


@contextmanager
def serving() -> Iterator[Web]:
    class Handler(BaseHTTPRequestHandler):
        def do_HEAD(self) -> None:
            self._answer(with_body=False)

        def do_GET(self) -> None:
            web.seen.append(f"{self.path} {self.headers.get('Range', '')}".strip())
            self._answer(with_body=True)

        def _answer(self, with_body: bool) -> None:
            path = self.path.partition("?")[0]
            page = web.pages.get(path, Page(status=404))
            if path not in web.pages and f"{path}/" in web.pages:
                page = Page(status=301, headers={"Location": f"{path}/"})
            body, status, headers = page.body, page.status, dict(page.headers)
            asked = re.fullmatch(r"bytes=(\d+)-(\d*)", self.headers.get("Range", ""))
            if asked and page.ranges:
                start, end = int(asked[1]), min(int(asked[2] or len(body)) + 1, len(body))
                headers["Content-Range"] = f"bytes {start}-{end - 1}/{len(body)}"
                body, status = body[start:end], 206
            self.send_response(status)
            if page.ranges:
                self.send_header("Accept-Ranges", "bytes")
            for name, value in {"Content-Length": str(len(body)), **headers}.items():
                self.send_header(name, value)
            self.end_headers()
            if with_body:
                if page.cuts:
                    page.cuts -= 1
                    body = body[: len(body) // 2]
                self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Log nothing."""

    class Server(ThreadingHTTPServer):
        def handle_error(self, *_: object) -> None:
            """Ignore clients that disconnect."""

    server = Server(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    web = Web(server)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield web
    finally:
        server.shutdown()
        server.server_close()
        processes.joined(thread)
