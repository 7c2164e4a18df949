"""Embeddings: a map of all tokens, and the nearest neighbors of each.

The map shows the first two principal components (PCA), which take 0.1 s for 50,000 tokens. t-SNE, which keeps
neighbors together, takes 20 s for 5,000 tokens; it runs as a job on request if scikit-learn is installed.
"""

from functools import cached_property
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from merganser.embed import Embeddings
from merganser.embed.projection import project
from merganser.studio.jobs import Job
from merganser.studio.messages import Body, packed
from merganser.studio.state import StudioState, state_of
from merganser.studio.train import cancel, events
from merganser.tokenizer.glyphs import visible

#: t-SNE places this many of the most frequent tokens.
MOST_FOR_TSNE = 5000

Plane = NDArray[np.float64]


class TokenMap:
    """Embeddings of one tokenizer, projected to two dimensions."""

    def __init__(self, name: str, vectors: Embeddings) -> None:
        self.name = name
        self.vectors = vectors
        self.rows = {id: row for row, id in enumerate(vectors.ids.tolist())}
        #: Coordinates by method: PCA when first requested, t-SNE when its job is done.
        self.planes: dict[str, Plane] = {}

    @cached_property
    def labels(self) -> list[str]:
        decode = self.vectors.tokenizer.decode_bytes
        return [label(decode([id])) for id in self.vectors.ids.tolist()]

    def plane(self, method: str) -> Plane:
        if method == "pca" and method not in self.planes:
            self.planes[method] = principal(self.vectors.vectors)
        try:
            return self.planes[method]
        except KeyError:
            raise HTTPException(
                404, f"the {method} map has not been computed; choose it under Map to compute it"
            ) from None

    def nearest(self, id: int, n: int) -> list[tuple[int, float]]:
        """Return the ids of the `n` nearest tokens with their cosine similarities."""
        if id not in self.rows:
            return []
        found = self.vectors.most_similar(self.vectors.vectors[self.rows[id]], n + 1, only_words=False)
        return [(other.id, other.similarity) for other in found if other.id != id][:n]


def label(token: bytes) -> str:
    """Return a printable label: white space becomes visible, and invalid UTF-8 is escaped.

    >>> label(b" cat"), label(b"\\xc3")
    ('·cat', '\\\\xc3')
    """
    return visible(token.decode("utf-8", "backslashreplace"))


def principal(vectors: NDArray[np.float32]) -> Plane:
    """Project vectors on their first two principal components.

    >>> principal(np.array([[0, 0, 1], [0, 3, 1], [0, 6, 1]], np.float32)).round(6)[:, 0].tolist()
    [-3.0, 0.0, 3.0]
    """
    centered = vectors - vectors.mean(axis=0)
    _, directions = np.linalg.eigh((centered.T @ centered).astype(np.float64))
    chosen = directions[:, ::-1][:, :2]
    if chosen.shape[1] < 2:
        chosen = np.column_stack([chosen, np.zeros(len(chosen))])
    # The sign of a component is arbitrary: make its largest coefficient positive.
    chosen = chosen * np.where(chosen[np.abs(chosen).argmax(axis=0), [0, 1]] < 0, -1, 1)
    plane: Plane = centered @ chosen
    return plane


def attach(state: StudioState) -> None:
    """Offer neighbors to the other views, and add the tokenizers of the embeddings if they are missing."""
    maps: dict[str, TokenMap] = {}
    for name, vectors in state.embeddings.items():
        # A tokenizer that has a map already is added again, under the name of the embeddings.
        without_map = [
            existing
            for existing, entry in state.entries.items()
            if existing not in maps and entry.tokenizer == vectors.tokenizer
        ]
        tokenizer = without_map[0] if without_map else state.add(name, vectors.tokenizer)
        maps[tokenizer] = TokenMap(name, vectors)
    state.maps = maps
    if maps:
        state.neighbors = lambda name, id: maps[name].nearest(id, 12) if name in maps else []


def _find_map(request: Request, name: str) -> TokenMap:
    maps: dict[str, TokenMap] = state_of(request).maps
    if name not in maps:
        raise HTTPException(404, f"no embeddings for {name!r}; start the studio with --embeddings FOLDER")
    return maps[name]


async def about(request: Request) -> Response:
    maps: dict[str, TokenMap] = state_of(request).maps
    return JSONResponse(
        {
            "maps": [
                {
                    "tokenizer": name,
                    "name": token_map.name,
                    "tokens": len(token_map.vectors.ids),
                    "dimension": int(token_map.vectors.vectors.shape[1]),
                    "computed": ["pca", *(method for method in token_map.planes if method != "pca")],
                }
                for name, token_map in maps.items()
            ],
            "tsne": find_spec("sklearn") is not None,
            "most_for_tsne": MOST_FOR_TSNE,
        }
    )


async def points(request: Request) -> Response:
    """Return all points of a map: ids, counts, and coordinates scaled to 0 … 2³²-1."""
    token_map = _find_map(request, request.query_params.get("tokenizer", ""))
    method = request.query_params.get("method", "pca")

    def pack_points() -> Response:
        plane = token_map.plane(method)
        low, high = plane.min(axis=0), plane.max(axis=0)
        scaled = (plane - (low + high) / 2) / max(float((high - low).max()), 1e-12) + 0.5
        coordinates = (np.clip(scaled, 0, 1) * (2**32 - 1)).astype(np.uint32)
        ids = token_map.vectors.ids[: len(plane)].astype(np.uint32)
        counts = np.minimum(token_map.vectors.counts[: len(plane)], 2**32 - 1).astype(np.uint32)
        labels = token_map.labels[: len(plane)]
        return packed({"labels": labels}, [ids, counts, coordinates[:, 0], coordinates[:, 1]])

    return await state_of(request).slow.run(pack_points)


async def neighbors(request: Request) -> Response:
    token_map = _find_map(request, request.query_params.get("tokenizer", ""))
    value = request.query_params.get("id", "")
    id = int(value) if value.isdecimal() and len(value) < 10 else -1
    if id not in token_map.rows:
        raise HTTPException(404, f"token {value!r} has no vector; choose a token on the map")

    def labeled() -> list[dict[str, Any]]:
        return [
            {"id": id, "label": token_map.labels[token_map.rows[id]], "similarity": round(similarity, 4)}
            for id, similarity in token_map.nearest(id, 16)
        ]

    return JSONResponse({"neighbors": await state_of(request).quick.run(labeled)})


async def tsne(request: Request) -> Response:
    """Start a job that computes the t-SNE map. Request: {tokenizer}; response: {job}."""
    body = await Body.of(request)
    token_map = _find_map(request, body.get("tokenizer", str))

    def work(job: Job) -> dict[str, Any]:
        token_map.planes["tsne"] = project(token_map.vectors.vectors[:MOST_FOR_TSNE])
        return {"method": "tsne"}

    return JSONResponse({"job": state_of(request).jobs.start(work).id}, 202)


routes = [
    Route("/about", about),
    Route("/points", points),
    Route("/neighbors", neighbors),
    Route("/tsne", tsne, methods=["POST"]),
    Route("/events", events),
    Route("/cancel", cancel, methods=["POST"]),
]
