"""App: the studio as a Starlette application. Views do not depend on each other.

A view NAME is `merganser/studio/NAME.py` with `routes`, mounted at `api/NAME/`, and `static/views/NAME.js`.
If the module defines `attach(state)`, it is called once at startup.
"""

from collections.abc import Iterable, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, Response
from starlette.routing import BaseRoute, Mount, Route
from starlette.staticfiles import StaticFiles

from merganser.embed import Embeddings
from merganser.errors import MerganserError
from merganser.studio.security import LARGEST_BODY, Folders, Guard
from merganser.studio.state import StudioState, state_of
from merganser.tokenizer import Tokenizer

#: In menu order.
VIEWS = ("playground", "compare", "vocabulary", "theatre", "train", "charts", "embeddings", "ladder", "chat")
#: Routes that several views use and that have no menu entry.
SHARED_ROUTES = ("merges", "tokenizers")

STATIC = Path(__file__).parent / "static"


def create(
    tokenizers: Mapping[str, Tokenizer],
    folders: Iterable[Path],
    token: str,
    *,
    embeddings: Mapping[str, Embeddings] | None = None,
    sources: Mapping[str, str] | None = None,
    start: Path | None = None,
    largest_body: int = LARGEST_BODY,
) -> Starlette:
    """Create the application. Serve it on 127.0.0.1 only; every URL path starts with `/TOKEN/`.

    Parameters
    ----------
    tokenizers
        Tokenizers by name.
    folders
        Folders that the page may read files from.
    token
        A long random secret, such as `secrets.token_urlsafe(24)`.
    embeddings
        Embeddings by name.
    sources
        Python expressions that load each tokenizer, by tokenizer name, used by "Copy Python".
    start
        The folder whose tokenizer files the page lists and may load, besides those of `folders`.
    largest_body
        The largest request body in bytes.
    """
    state = StudioState(tokenizers, Folders(folders), start)
    state.embeddings = embeddings or {}
    routes: list[BaseRoute] = [Route("/", _page), Route("/api/about", _about)]
    for name in (*VIEWS, *SHARED_ROUTES):
        module = import_module(f"merganser.studio.{name}")
        routes.append(Mount(f"/api/{name}", routes=module.routes))
        if hasattr(module, "attach"):
            module.attach(state)
    routes.append(Mount("/static", StaticFiles(directory=STATIC)))
    app = Starlette(
        routes=routes,
        middleware=[Middleware(Guard, token=token, largest_body=largest_body)],
        exception_handlers={HTTPException: _http_error, MerganserError: _merganser_error},
    )
    app.router.redirect_slashes = False
    app.state.studio = state
    app.state.sources = dict(sources or {})
    return app


async def _page(request: Request) -> Response:
    return FileResponse(STATIC / "index.html")


async def _about(request: Request) -> Response:
    """Return the views and tokenizers. The page requests this again after training a tokenizer."""
    state = state_of(request)
    return JSONResponse(
        {
            "views": VIEWS,
            "tokenizers": [
                _summary(name, entry.tokenizer) | {"source": request.app.state.sources.get(name)}
                for name, entry in state.entries.items()
            ],
            "folders": [str(root) for root in state.folders.roots],
        }
    )


def _summary(name: str, tokenizer: Tokenizer) -> dict[str, Any]:
    return {
        "name": name,
        "vocab_size": tokenizer.vocab_size,
        "pattern": tokenizer.pattern_name or tokenizer.pattern,
        "special_tokens": tokenizer.special_tokens,
        "has_counts": bool(tokenizer.merge_counts),
    }


async def _http_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    return JSONResponse({"error": error.detail}, error.status_code, error.headers)


async def _merganser_error(request: Request, error: Exception) -> Response:
    return JSONResponse({"error": str(error)}, 400)
