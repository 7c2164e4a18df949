"""Embeddings: every token as a point of a map, and which are near it.

The map is the plane of the two directions in which the vectors differ most (PCA), a tenth of a second for
50,000 tokens. t-SNE, which keeps neighbours together, takes 20 s for 5,000, and is made in the queue when
somebody asks for it, where scikit-learn is installed.
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
from merganser.studio.desk import Desk, desk
from merganser.studio.jobs import Job
from merganser.studio.messages import Body, packed
from merganser.studio.train import cancel, events
from merganser.tokenizer.glyphs import visible

#: How many of the most frequent tokens t-SNE is asked to place.
MOST_FOR_TSNE = 5000

Plane = NDArray[np.float64]


class Map:
    """Embeddings of one tokenizer, laid out."""

    def __init__(self, name: str, vectors: Embeddings) -> None:
        self.name = name
        self.vectors = vectors
        self.rows = {id: row for row, id in enumerate(vectors.ids.tolist())}
        #: By the name of the method. PCA when it is first asked for, t-SNE when its job is done.
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
            raise HTTPException(404, f"there is no map by {method} yet") from None

    def near(self, id: int, n: int) -> list[tuple[int, float]]:
        """The nearest tokens: their ids and cosines."""
        if id not in self.rows:
            return []
        found = self.vectors.most_similar(self.vectors.vectors[self.rows[id]], n + 1, only_words=False)
        return [(other.id, other.similarity) for other in found if other.id != id][:n]


def label(token: bytes) -> str:
    """A token for people; spaces are seen, and what is no text is written in hexadecimal.

    >>> label(b" cat"), label(b"\\xc3")
    ('·cat', '\\\\xc3')
    """
    return visible(token.decode("utf-8", "backslashreplace"))


def principal(vectors: NDArray[np.float32]) -> Plane:
    """Two numbers for each vector: how far it goes in the two directions in which most of them differ.

    >>> principal(np.array([[0, 0, 1], [0, 3, 1], [0, 6, 1]], np.float32)).round(6)[:, 0].tolist()
    [-3.0, 0.0, 3.0]
    """
    centred = vectors - vectors.mean(axis=0)
    _, directions = np.linalg.eigh((centred.T @ centred).astype(np.float64))
    chosen = directions[:, ::-1][:, :2]
    if chosen.shape[1] < 2:
        chosen = np.column_stack([chosen, np.zeros(len(chosen))])
    # A direction and its opposite are the same to the method: the larger part is made positive.
    chosen = chosen * np.where(chosen[np.abs(chosen).argmax(axis=0), [0, 1]] < 0, -1, 1)
    plane: Plane = centred @ chosen
    return plane


def attach(shared: Desk) -> None:
    """Makes the neighbours known to the other views, and the tokenizers of the embeddings as well."""
    maps: dict[str, Map] = {}
    for name, vectors in shared.embeddings.items():
        # A tokenizer whose map is taken already is added once more, under the name of the embeddings.
        free = [
            known
            for known, held in shared.known.items()
            if known not in maps and held.tokenizer == vectors.tokenizer
        ]
        tokenizer = free[0] if free else shared.add(name, vectors.tokenizer)
        maps[tokenizer] = Map(name, vectors)
    shared.maps = maps
    if maps:
        shared.neighbours = lambda name, id: maps[name].near(id, 12) if name in maps else []


def _map(request: Request, name: str) -> Map:
    maps: dict[str, Map] = desk(request).maps
    if name not in maps:
        raise HTTPException(404, f"no embeddings of {name!r} were given; start with --embeddings FOLDER")
    return maps[name]


async def about(request: Request) -> Response:
    maps: dict[str, Map] = desk(request).maps
    return JSONResponse(
        {
            "maps": [
                {
                    "tokenizer": name,
                    "name": known.name,
                    "tokens": len(known.vectors.ids),
                    "dimension": int(known.vectors.vectors.shape[1]),
                    "made": ["pca", *(method for method in known.planes if method != "pca")],
                }
                for name, known in maps.items()
            ],
            "tsne": find_spec("sklearn") is not None,
            "most_for_tsne": MOST_FOR_TSNE,
        }
    )


async def points(request: Request) -> Response:
    """All points of a map: ids, counts, and places, as parts of the width and height in 2³² steps."""
    known = _map(request, request.query_params.get("tokenizer", ""))
    method = request.query_params.get("method", "pca")

    def laid_out() -> Response:
        plane = known.plane(method)
        low, high = plane.min(axis=0), plane.max(axis=0)
        scaled = (plane - (low + high) / 2) / max(float((high - low).max()), 1e-12) + 0.5
        places = (np.clip(scaled, 0, 1) * (2**32 - 1)).astype(np.uint32)
        ids = known.vectors.ids[: len(plane)].astype(np.uint32)
        counts = np.minimum(known.vectors.counts[: len(plane)], 2**32 - 1).astype(np.uint32)
        return packed({"labels": known.labels[: len(plane)]}, [ids, counts, places[:, 0], places[:, 1]])

    return await desk(request).work.run(laid_out)


async def neighbours(request: Request) -> Response:
    known = _map(request, request.query_params.get("tokenizer", ""))
    asked = request.query_params.get("id", "")
    id = int(asked) if asked.isdecimal() and len(asked) < 10 else -1
    if id not in known.rows:
        raise HTTPException(404, f"token {asked!r} has no vector")
    found = await desk(request).work.run(known.near, id, 16)
    shown = [(id, known.labels[known.rows[id]], round(similarity, 4)) for id, similarity in found]
    return JSONResponse(
        {"neighbours": [{"id": id, "label": text, "similarity": near} for id, text, near in shown]}
    )


async def tsne(request: Request) -> Response:
    """{tokenizer}; the answer names the job that makes the map by t-SNE."""
    body = await Body.of(request)
    known = _map(request, body.get("tokenizer", str))

    def work(job: Job) -> dict[str, Any]:
        known.planes["tsne"] = project(known.vectors.vectors[:MOST_FOR_TSNE])
        return {"method": "tsne"}

    return JSONResponse({"job": desk(request).jobs.start(work).id}, 202)


routes = [
    Route("/about", about),
    Route("/points", points),
    Route("/neighbours", neighbours),
    Route("/tsne", tsne, methods=["POST"]),
    Route("/events", events),
    Route("/cancel", cancel, methods=["POST"]),
]
