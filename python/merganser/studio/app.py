"""App: the studio as a Starlette application. Views know nothing of each other.

A view NAME is `merganser/studio/NAME.py` with `routes`, mounted at `api/NAME/`, and `static/views/NAME.js`.
If the module has `attach(desk)`, it is called once at the start.
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
from merganser.studio.desk import Desk, desk
from merganser.studio.security import LARGEST_BODY, Folders, Guard
from merganser.tokenizer import Tokenizer

#: In the order of the menu.
VIEWS = ("playground", "compare", "vocabulary", "train", "charts", "embeddings", "ladder", "chat")
#: Routes without an entry in the menu: parts of several views.
PARTS = ("story",)

STATIC = Path(__file__).parent / "static"


def create(
    tokenizers: Mapping[str, Tokenizer],
    folders: Iterable[Path],
    token: str,
    *,
    embeddings: Mapping[str, Embeddings] | None = None,
    sources: Mapping[str, str] | None = None,
    largest_body: int = LARGEST_BODY,
) -> Starlette:
    """The application. It must be served on 127.0.0.1, and its addresses begin with `/TOKEN/`.

    folders: from where files may be read.
    embeddings: what `merganser.embed.load` gives, by name.
    token: a secret of some length; see `secrets.token_urlsafe`.
    sources: the Python that loads a tokenizer, by its name, for programs to copy.
    """
    shared = Desk(tokenizers, Folders(folders))
    shared.embeddings = embeddings or {}
    routes: list[BaseRoute] = [Route("/", _page), Route("/api/about", _about)]
    for name in (*VIEWS, *PARTS):
        module = import_module(f"merganser.studio.{name}")
        routes.append(Mount(f"/api/{name}", routes=module.routes))
        if hasattr(module, "attach"):
            module.attach(shared)
    routes.append(Mount("/static", StaticFiles(directory=STATIC)))
    app = Starlette(
        routes=routes,
        middleware=[Middleware(Guard, token=token, largest_body=largest_body)],
        exception_handlers={HTTPException: _refused, MerganserError: _failed},
    )
    app.router.redirect_slashes = False
    app.state.desk = shared
    app.state.sources = dict(sources or {})
    return app


async def _page(request: Request) -> Response:
    return FileResponse(STATIC / "index.html")


async def _about(request: Request) -> Response:
    """The views and the tokenizers; asked for again when a training has added one."""
    return JSONResponse(
        {
            "views": VIEWS,
            "tokenizers": [
                _described(name, known.tokenizer) | {"source": request.app.state.sources.get(name)}
                for name, known in desk(request).known.items()
            ],
            "folders": [str(root) for root in desk(request).folders.roots],
        }
    )


def _described(name: str, tokenizer: Tokenizer) -> dict[str, Any]:
    return {
        "name": name,
        "vocab_size": tokenizer.vocab_size,
        "pattern": tokenizer.pattern_name or tokenizer.pattern,
        "special_tokens": tokenizer.special_tokens,
        "has_counts": bool(tokenizer.merge_counts),
    }


async def _refused(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    return JSONResponse({"error": error.detail}, error.status_code, error.headers)


async def _failed(request: Request, error: Exception) -> Response:
    return JSONResponse({"error": str(error)}, 400)
