"""Compare: one text by two to four tokenizers, with the tokens on which they differ.

A token differs if another tokenizer has no token with the same first and last byte. A megabyte by four
tokenizers takes about 100 ms, most of it to find the shared tokens.
"""

from functools import reduce

import numpy as np
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from merganser.studio.messages import Body, packed
from merganser.studio.playground import Numbers, encoded, located
from merganser.studio.state import TokenizerEntry, state_of

MOST = 4


def compared(entries: list[TokenizerEntry], text: str, specials: bool) -> Response:
    """Respond with figures and four arrays for each tokenizer.

    The arrays are the three that `located` returns, and one that is 1 where a token differs.
    """
    data = text.encode()
    encodings = [encoded(entry, text, data, specials) for entry in entries]
    locations = [located(entry, data, encoding) for entry, encoding in zip(entries, encodings, strict=True)]
    spans = []
    for _, ends, _ in locations:
        starts = np.concatenate([np.zeros(1, np.uint32), ends[:-1]]) if len(ends) else ends
        spans.append(starts.astype(np.uint64) << np.uint64(32) | ends)
    shared = reduce(np.intersect1d, spans)  # spans of tokens that cover no text are not unique
    arrays: list[Numbers] = []
    for (figures, _, _), location, own in zip(encodings, locations, spans, strict=True):
        differs = (~np.isin(own, shared)).astype(np.uint32)
        figures["differing"] = int(differs.sum())
        arrays += [*location, differs]
    return packed({"figures": [encoding.figures for encoding in encodings]}, arrays)


async def encode(request: Request) -> Response:
    body = await Body.of(request)
    names = body.get("tokenizers", list)
    if not 1 <= len(names) <= MOST or not all(isinstance(name, str) for name in names):
        raise HTTPException(400, f"'tokenizers' must be a list of 1 to {MOST} names, got {len(names)}")
    state = state_of(request)
    entries = [state.find(name) for name in names]
    return await state.pool_of(*entries).run(
        compared, entries, body.text(), body.get("specials", bool, False)
    )


routes = [Route("/encode", encode, methods=["POST"])]
