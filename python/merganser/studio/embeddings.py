"""Embeddings: a map of all tokens, and the nearest neighbors of each.

The map shows the first two principal components (PCA), which take 0.1 s for 50,000 tokens. t-SNE, which keeps
neighbors together, takes 6 s for 5,000 tokens and a minute for 50,000; it runs as a job, whose plane can be
watched while it changes. Embeddings can be trained here, too: a megabyte of text takes some seconds.
"""

import threading
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from merganser import embed
from merganser.embed import Embeddings, EmbedSettings
from merganser.embed.clusters import clustered
from merganser.embed.projection import principal, tsne
from merganser.errors import SettingsError
from merganser.studio.jobs import Job
from merganser.studio.messages import Body, packed
from merganser.studio.state import StudioState, state_of
from merganser.studio.train import cancel, corpus_of, events
from merganser.tokenizer.glyphs import visible

#: How many of the most frequent tokens each kind of t-SNE places.
TSNE = {"tsne": 5000, "tsne-all": 1 << 30}
#: Tokens of a cluster that name it.
_NAMES = 3
MOST_EPOCHS = 100

Plane = NDArray[np.float64]


class TokenMap:
    """Embeddings of one tokenizer, projected to two dimensions."""

    def __init__(self, name: str, vectors: Embeddings) -> None:
        self.name = name
        self.vectors = vectors
        self.rows = {id: row for row, id in enumerate(vectors.ids.tolist())}
        #: Coordinates by method: PCA when first requested, t-SNE when its job is done.
        self.planes: dict[str, Plane] = {}
        #: Coordinates of a t-SNE that is being computed, by method.
        self.unfinished: dict[str, Plane] = {}
        self._clustering = threading.Lock()

    @cached_property
    def labels(self) -> list[str]:
        decode = self.vectors.tokenizer.decode_bytes
        return [label(decode([id])) for id in self.vectors.ids.tolist()]

    @cached_property
    def clusters(self) -> tuple[NDArray[np.uint32], list[str]]:
        """The cluster of each row, and the names of the clusters: the tokens nearest to their centers."""
        with self._clustering:  # two requests at once would compute it twice
            groups, centers = clustered(self.vectors.vectors)
            names = []
            for nth, center in enumerate(centers):
                rows = np.flatnonzero(groups == nth)[:2000]
                words = [row for row in rows.tolist() if len(self.labels[row].strip("·")) > 1]
                rows = np.array([row for row in words if self.labels[row].strip("·").isalpha()] or rows)
                nearest = rows[np.argsort(-(self.vectors.vectors[rows] @ center), kind="stable")]
                names.append(" ".join(self.labels[row] for row in nearest[:_NAMES].tolist()))
            return groups.astype(np.uint32), names

    def plane(self, method: str) -> Plane:
        if method == "pca" and method not in self.planes:
            self.planes[method] = principal(self.vectors.vectors)
        plane = self.planes.get(method, self.unfinished.get(method))
        if plane is None:
            raise HTTPException(
                404, f"the {method} map has not been computed; choose it under Map to compute it"
            )
        return plane

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
    state.neighbors = lambda name, id: maps[name].nearest(id, 12) if name in maps else None


def _find_map(request: Request, name: str) -> TokenMap:
    maps: dict[str, TokenMap] = state_of(request).maps
    if name not in maps:
        raise HTTPException(
            404, f"no embeddings for {name!r}; train them here, or start the studio with --embeddings FOLDER"
        )
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
            "most_for_tsne": TSNE["tsne"],
        }
    )


def _coordinates(plane: Plane, outside: float = 0) -> list[NDArray[np.uint32]]:
    """Return x and y, scaled to 0 … 2³²-1; this share of the points at each edge may be outside."""
    low, high = np.quantile(plane, [outside, 1 - outside], axis=0)
    scaled = (plane - (low + high) / 2) / max(float((high - low).max()), 1e-12) + 0.5
    coordinates = (np.clip(scaled, 0, 1) * (2**32 - 1)).astype(np.uint32)
    return [coordinates[:, 0], coordinates[:, 1]]


async def points(request: Request) -> Response:
    """Return all points of a map: ids, counts, lengths in bytes, clusters, and coordinates."""
    token_map = _find_map(request, request.query_params.get("tokenizer", ""))
    method = request.query_params.get("method", "pca")

    def pack_points() -> Response:
        vectors = token_map.vectors
        plane = token_map.plane(method)
        shown = slice(len(plane))
        decode = vectors.tokenizer.decode_bytes
        clusters, names = token_map.clusters
        arrays = [
            vectors.ids[shown].astype(np.uint32),
            np.minimum(vectors.counts[shown], 2**32 - 1).astype(np.uint32),
            np.array([len(decode([id])) for id in vectors.ids[shown].tolist()], np.uint32),
            clusters[shown],
        ]
        header = {"labels": token_map.labels[shown], "clusters": names}
        return packed(header, [*arrays, *_coordinates(plane)])

    return await state_of(request).slow.run(pack_points)


async def plane(request: Request) -> Response:
    """Return the coordinates alone, also of a t-SNE that is being computed."""
    token_map = _find_map(request, request.query_params.get("tokenizer", ""))
    method = request.query_params.get("method", "pca")
    # While t-SNE runs, single points are far off.
    outside = 0.003 if method in token_map.unfinished else 0
    return await state_of(request).quick.run(
        lambda: packed({}, _coordinates(token_map.plane(method), outside))
    )


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


async def compute(request: Request) -> Response:
    """Start a job that computes a t-SNE map. Request: {tokenizer, method}; response: {job}."""
    body = await Body.of(request)
    token_map = _find_map(request, body.get("tokenizer", str))
    method = body.get("method", str, "tsne")
    if method not in TSNE:
        raise HTTPException(400, f"method must be one of {', '.join(TSNE)}")

    def work(job: Job) -> dict[str, Any]:
        def check(done: float) -> None:
            job.check()
            job.progress = {"done": round(done, 3)}

        try:
            for done, plane in tsne(token_map.vectors.vectors[: TSNE[method]], check):
                token_map.unfinished[method] = plane
                check(done)
            token_map.planes[method] = plane
        finally:
            token_map.unfinished.pop(method, None)
        return {"method": method}

    return JSONResponse({"job": state_of(request).jobs.start(work).id}, 202)


async def train(request: Request) -> Response:
    """Start a job that trains embeddings for a tokenizer.

    Request: {tokenizer, epochs, and text or paths}; response: {job}.
    """
    body = await Body.of(request)
    state = state_of(request)
    name = body.get("tokenizer", str)
    tokenizer = state.find(name).tokenizer
    epochs = body.get("epochs", int, 10)
    if not 1 <= epochs <= MOST_EPOCHS:
        raise SettingsError(f"epochs must be 1 to {MOST_EPOCHS} here, got {epochs}")
    source = await corpus_of(state, body)
    settings = EmbedSettings(epochs=epochs, threads=1)

    def work(job: Job) -> dict[str, Any]:
        def progress(stage: str, done: int, total: int) -> None:
            job.check()
            job.progress = {"stage": stage, "done": done, "total": total}

        vectors = embed.train(source, tokenizer, settings, progress=progress)
        state.maps[name] = TokenMap(name, vectors)
        return {"tokenizer": name, "tokens": len(vectors.ids)}

    return JSONResponse({"job": state.jobs.start(work).id}, 202)


routes = [
    Route("/about", about),
    Route("/points", points),
    Route("/plane", plane),
    Route("/neighbors", neighbors),
    Route("/tsne", compute, methods=["POST"]),
    Route("/train", train, methods=["POST"]),
    Route("/events", events),
    Route("/cancel", cancel, methods=["POST"]),
]
