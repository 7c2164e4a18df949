"""Security: which requests are answered, how large they may be, and which files may be read.

Every site that is open in the browser can send requests to a server on this machine. Therefore:

- the server listens on 127.0.0.1 only and rejects other Host headers (421), which defeats DNS rebinding;
- requests from other sites, recognized by Origin or Sec-Fetch-Site, are rejected (403);
- every URL path starts with a random token (403 without it). The token is not a cookie, because browsers send
  cookies to every port of a host;
- only GET, HEAD and POST are allowed (405); POST bodies must be JSON (415) of limited size (413), and uploads
  of tokenizers application/octet-stream, which no form of another site can send;
- the Content-Security-Policy allows only scripts and styles from this server, no inline code and no framing;
- files are read only from the folders given at startup, after resolving `..` and symbolic links; a tokenizer
  is saved only there, and never over a file.

Costs a few microseconds per request.
"""

from collections.abc import Iterable, Mapping
from http import HTTPStatus
from pathlib import Path
from secrets import compare_digest

from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

#: In bytes: a megabyte of text, even if JSON escapes every byte as six.
LARGEST_BODY = 8 << 20

#: The path that takes the files of a tokenizer, and its largest body in bytes; files have up to 40 MB.
UPLOAD, LARGEST_UPLOAD = "/api/tokenizers/add", 160 << 20

#: Accepted host names.
HOSTS = ("127.0.0.1", "localhost")

HEADERS: Mapping[str, str] = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; "
        "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}


class _Rejected(Exception):
    def __init__(self, status: HTTPStatus, reason: str) -> None:
        self.status = status
        self.reason = reason


class Guard:
    """Middleware that rejects requests before they reach the application."""

    def __init__(self, app: ASGIApp, token: str, largest_body: int = LARGEST_BODY) -> None:
        self.app = app
        self.token = token
        self.largest_body = largest_body

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        if scope["type"] != "http":  # the studio has no web sockets
            await send({"type": "websocket.close", "code": 1008})
            return
        started = False
        received = 0
        largest = self._largest(scope["path"])

        async def receive_limited() -> Message:
            nonlocal received
            message = await receive()
            received += len(message.get("body", b""))
            if received > largest:
                raise self._too_large(largest)
            return message

        async def send_with_headers(message: Message) -> None:
            nonlocal started
            if message["type"] == "http.response.start":
                started = True
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        try:
            self._check(scope["method"], scope["path"], scope["server"][1], Headers(scope=scope))
            await self.app({**scope, "root_path": f"/{self.token}"}, receive_limited, send_with_headers)
        except _Rejected as rejected:
            if started:
                raise
            response = JSONResponse({"error": rejected.reason}, rejected.status)
            await response(scope, receive, send_with_headers)

    def _check(self, method: str, path: str, port: int, headers: Headers) -> None:
        """Raise `_Rejected` unless the request may pass."""
        allowed = {name if port == 80 else f"{name}:{port}" for name in HOSTS}
        host = headers.get("host", "")
        if host not in allowed or len(headers.getlist("host")) > 1:
            raise _Rejected(HTTPStatus.MISDIRECTED_REQUEST, f"wrong Host header; use 127.0.0.1:{port}")
        # A link on another site may open the page: that does no more than a bookmark.
        is_link = method == "GET" and headers.get("sec-fetch-mode") == "navigate"
        is_same_site = headers.get("sec-fetch-site", "none") in ("none", "same-origin")
        if any(origin != f"http://{host}" for origin in headers.getlist("origin")) or not (
            is_same_site or is_link
        ):
            raise _Rejected(
                HTTPStatus.FORBIDDEN, "requests from other sites are rejected; open the studio in its own tab"
            )
        first, slash, _ = path.removeprefix("/").partition("/")
        if not slash or not compare_digest(first.encode(), self.token.encode()):
            raise _Rejected(
                HTTPStatus.FORBIDDEN,
                "missing or wrong token; open the address that `merganser studio` printed",
            )
        if method not in ("GET", "HEAD", "POST"):
            raise _Rejected(
                HTTPStatus.METHOD_NOT_ALLOWED, f"method {method} is not allowed; use GET, HEAD or POST"
            )
        if method == "POST":
            kind = "application/octet-stream" if self._is_upload(path) else "application/json"
            if headers.get("content-type", "").partition(";")[0].strip().lower() != kind:
                raise _Rejected(
                    HTTPStatus.UNSUPPORTED_MEDIA_TYPE,
                    f"a POST body must be {kind.partition('/')[2]}; set Content-Type to {kind}",
                )
            if int(headers.get("content-length", 0)) > self._largest(path):
                raise self._too_large(self._largest(path))

    def _is_upload(self, path: str) -> bool:
        return path == f"/{self.token}{UPLOAD}"

    def _largest(self, path: str) -> int:
        return LARGEST_UPLOAD if self._is_upload(path) else self.largest_body

    def _too_large(self, largest: int) -> "_Rejected":
        return _Rejected(
            HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"the request is larger than {largest >> 20} MiB; send less"
        )


class Folders:
    """The folders that may be read from.

    >>> Folders([Path("/usr")]).find("/usr/../etc/passwd")
    Traceback (most recent call last):
    starlette.exceptions.HTTPException: 403: /usr/../etc/passwd is not in a folder that the studio may read; \
restart it with --folder
    """

    def __init__(self, folders: Iterable[Path]) -> None:
        self.roots = tuple(folder.resolve() for folder in folders)

    def find(self, name: str) -> Path:
        """Return the resolved path if it is inside one of the folders.

        A relative path is tried in each folder. Errors do not reveal whether a path outside exists.

        Raises
        ------
        HTTPException
            403 if the path is outside the folders, 404 if it is inside and does not exist.
        """
        outside = HTTPException(
            403, f"{name} is not in a folder that the studio may read; restart it with --folder"
        )
        if "\0" in name or "://" in name:
            raise outside
        is_inside = False
        for root in self.roots:
            try:
                path = (root / name).resolve()
                if not path.is_relative_to(root):
                    continue
                is_inside = True
                if path.exists():
                    return path
            except (OSError, RuntimeError):  # a name that is too long, or circular links
                continue
        if is_inside:
            raise HTTPException(404, f"{name} does not exist in the folders that the studio may read")
        raise outside

    def new(self, name: str) -> Path:
        """Return the path of a file to create inside one of the folders; its folder must exist.

        Raises
        ------
        HTTPException
            As `find` does for its folder; 400 without a file name, 409 if the file exists.
        """
        parent, _, last = name.rpartition("/")
        if last in ("", ".", ".."):
            raise HTTPException(400, "choose a file name, such as mine.merganser")
        if "\0" in last:
            raise HTTPException(400, "a file name cannot contain a zero byte; choose another name")
        folder = self.find(f"{parent}/" if name.startswith("/") else parent)
        if not folder.is_dir():
            raise HTTPException(400, f"{parent} is not a folder; choose one")
        try:
            exists = (folder / last).is_symlink() or (folder / last).exists()
        except OSError as error:  # such as a name that is too long
            raise HTTPException(400, f"cannot write {name}: {error.strerror}; choose another name") from None
        if exists:
            raise HTTPException(409, f"{name} exists already; choose another name")
        return folder / last
