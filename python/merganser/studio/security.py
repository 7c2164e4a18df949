"""Security: who may ask, what may be sent, and which files may be read.

A page on this machine can be reached by every site that the browser has open. So:

- the server listens on 127.0.0.1 alone, and answers only if it is called by that name (421): a foreign name
  that points here (DNS rebinding) is of no use;
- a request that another site sends has an Origin, or Sec-Fetch-Site, of its own, and is refused (403);
- every address begins with a random token (403 without). It is in the path and in no cookie, because cookies
  are sent to all ports of a machine;
- only GET, HEAD and POST (405); what is posted is JSON (415) of a limited size (413);
- scripts and styles come from here only, nothing inline, nothing from elsewhere; no page may frame this one;
- files are read below the folders that were named at the start, whatever `..` or links say.

Costs some microseconds a request.
"""

from collections.abc import Iterable, Mapping
from http import HTTPStatus
from pathlib import Path
from secrets import compare_digest

from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

#: What may be posted, in bytes: a megabyte of text, even if JSON needs six bytes for every one of them.
LARGEST_BODY = 8 << 20

#: By what the browser calls this machine.
NAMES = ("127.0.0.1", "localhost")

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


class _Refusal(Exception):
    def __init__(self, status: HTTPStatus, why: str) -> None:
        self.status = status
        self.why = why


class Guard:
    """Stands before the application: nothing that is refused reaches it."""

    def __init__(self, app: ASGIApp, token: str, largest_body: int = LARGEST_BODY) -> None:
        self.app = app
        self.token = token
        self.largest_body = largest_body

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        if scope["type"] != "http":  # a web socket: there are none here
            await send({"type": "websocket.close", "code": 1008})
            return
        started = False
        received = 0

        async def counted() -> Message:
            nonlocal received
            message = await receive()
            received += len(message.get("body", b""))
            if received > self.largest_body:
                raise self._too_large()
            return message

        async def guarded(message: Message) -> None:
            nonlocal started
            if message["type"] == "http.response.start":
                started = True
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        try:
            self._check(scope["method"], scope["path"], scope["server"][1], Headers(scope=scope))
            await self.app({**scope, "root_path": f"/{self.token}"}, counted, guarded)
        except _Refusal as refusal:
            if started:
                raise
            await JSONResponse({"error": refusal.why}, refusal.status)(scope, receive, guarded)

    def _check(self, method: str, path: str, port: int, headers: Headers) -> None:
        """Raises the reason why it is refused, if there is one."""
        here = {name if port == 80 else f"{name}:{port}" for name in NAMES}
        host = headers.get("host", "")
        if host not in here or len(headers.getlist("host")) > 1:
            raise _Refusal(HTTPStatus.MISDIRECTED_REQUEST, f"the studio is at 127.0.0.1:{port} only")
        # A link that somebody clicks may lead to the page, as it does no more than a bookmark would.
        is_link = method == "GET" and headers.get("sec-fetch-mode") == "navigate"
        is_ours = headers.get("sec-fetch-site", "none") in ("none", "same-origin")
        if any(origin != f"http://{host}" for origin in headers.getlist("origin")) or not (
            is_ours or is_link
        ):
            raise _Refusal(HTTPStatus.FORBIDDEN, "another site may not ask the studio")
        first, slash, _ = path.removeprefix("/").partition("/")
        if not slash or not compare_digest(first.encode(), self.token.encode()):
            raise _Refusal(
                HTTPStatus.FORBIDDEN, "open the address that `merganser studio` printed: it has a token"
            )
        if method not in ("GET", "HEAD", "POST"):
            raise _Refusal(HTTPStatus.METHOD_NOT_ALLOWED, f"{method} is of no use here")
        if method == "POST":
            if headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
                raise _Refusal(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "only JSON can be posted")
            if int(headers.get("content-length", 0)) > self.largest_body:
                raise self._too_large()

    def _too_large(self) -> "_Refusal":
        return _Refusal(
            HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
            f"at most {self.largest_body >> 20} MiB at once; take a part of it",
        )


class Folders:
    """The folders that may be read from.

    >>> Folders([Path("/usr")]).find("/usr/../etc/passwd")
    Traceback (most recent call last):
    starlette.exceptions.HTTPException: 403: /usr/../etc/passwd is not in a folder that was named at the \
start; add --folder
    """

    def __init__(self, folders: Iterable[Path]) -> None:
        self.roots = tuple(folder.resolve() for folder in folders)

    def find(self, name: str) -> Path:
        """The path, with all links followed, if it is in one of the folders; else a refusal.

        A relative one is looked for in each folder. Nothing is said of what lies outside.
        """
        refused = HTTPException(403, f"{name} is not in a folder that was named at the start; add --folder")
        if "\0" in name or "://" in name:
            raise refused
        may_be = False
        for root in self.roots:
            try:
                path = (root / name).resolve()
                if not path.is_relative_to(root):
                    continue
                may_be = True
                if path.exists():
                    return path
            except (OSError, RuntimeError):  # a name that is too long, or links in a circle
                continue
        if may_be:
            raise HTTPException(404, f"there is no {name} in the folders that were named at the start")
        raise refused
