"""Compare: one text by two to four tokenizers, with the tokens that not all of them have.

A token differs if another tokenizer has no token with the same first and last byte. A megabyte by four
tokenizers takes some 100 ms, most of it to find what they share.
"""

from functools import reduce
from typing import Any

import numpy as np
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from merganser.studio.desk import Known, desk
from merganser.studio.messages import Body, packed
from merganser.studio.playground import Numbers, encoded, located

MOST = 4


def compared(several: list[Known], text: str, specials: bool) -> tuple[list[dict[str, Any]], list[Numbers]]:
    """The figures of each; and of each four arrays: those of `located`, and 1 where a token differs."""
    data = text.encode()
    made = [encoded(known, text, data, specials) for known in several]
    places = [located(known, data, ids, 0, 0) for known, (_, ids) in zip(several, made, strict=True)]
    spans = []
    for _, ends, _ in places:
        starts = np.concatenate([np.zeros(1, np.uint32), ends[:-1]]) if len(ends) else ends
        spans.append(starts.astype(np.uint64) << np.uint64(32) | ends)
    shared = reduce(lambda a, b: np.intersect1d(a, b, assume_unique=True), spans)
    arrays: list[Numbers] = []
    for (figures, _), three, own in zip(made, places, spans, strict=True):
        differs = (~np.isin(own, shared, assume_unique=True)).astype(np.uint32)
        figures["differing"] = int(differs.sum())
        arrays += [*three, differs]
    return [figures for figures, _ in made], arrays


async def encode(request: Request) -> Response:
    body = await Body.of(request)
    names = body.get("tokenizers", list)
    if not 1 <= len(names) <= MOST or not all(isinstance(name, str) for name in names):
        raise HTTPException(400, f"'tokenizers' must be a list of one to {MOST} names")
    several = [desk(request).find(name) for name in names]
    figures, arrays = await desk(request).work.run(
        compared, several, body.text(), body.get("specials", bool, False)
    )
    return packed({"figures": figures}, arrays)


routes = [Route("/encode", encode, methods=["POST"])]
