"""Story: of what a token is made, and how a text was merged, move by move.

The moves of a text are those of its pre-tokens; of two pre-tokens, the one whose next merge was learned
earlier moves first, so that a text grows in the order of the training. Shown are the pre-tokens around one
place, because nobody follows a thousand moves: a tree takes microseconds, 400 bytes of text about a
millisecond.
"""

import heapq
from typing import Any

import numpy as np
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from merganser import _core
from merganser.studio.desk import Known, desk
from merganser.studio.messages import Body
from merganser.verification.parting import merges_by

#: How much text is told of, in bytes; a longer pre-token is told of whole, up to the second number.
WINDOW, LONGEST_PRETOKEN = 240, 4000


def asked(request: Request) -> tuple[Known, int]:
    """The tokenizer and the id that an address names."""
    known = desk(request).find(request.query_params.get("tokenizer", ""))
    try:
        id = int(request.query_params.get("id", ""))
    except ValueError:
        raise HTTPException(400, "id must be a number") from None
    if id not in known.tokens:
        raise HTTPException(404, f"there is no token {id}")
    return known, id


async def token(request: Request) -> Response:
    known, id = asked(request)
    return JSONResponse(await desk(request).work.run(known.facts, id))


async def tree(request: Request) -> Response:
    """Every token that a token is made of: its bytes from `start` to `end`, and its level from 0 on."""
    known, id = asked(request)
    return JSONResponse({"nodes": await desk(request).work.run(nodes_of, known, id)})


def nodes_of(known: Known, id: int) -> list[dict[str, Any]]:
    nodes: list[dict[str, Any]] = []

    def grow(id: int, start: int) -> int:
        """Adds a token and all below it, and gives the level that it stands on."""
        size = len(known.tokens[id])
        pair = known.merges.get(id)
        level = 0
        if pair is not None:
            left, right = pair
            level = 1 + max(grow(left, start), grow(right, start + len(known.tokens[left])))
        elif size > 1 and id not in known.specials:  # no merge makes it: it is taken whole
            level = 1
            for place, byte in enumerate(known.tokens[id]):
                grow(known.ranks[bytes([byte])], start + place)
        nodes.append(known.facts(id) | {"start": start, "end": start + size, "level": level})
        return level

    grow(id, 0)
    return nodes


async def steps(request: Request) -> Response:
    body = await Body.of(request)
    known = desk(request).find(body.get("tokenizer", str))
    told = await desk(request).work.run(
        told_of, known, body.text(), body.get("specials", bool, False), body.get("at", int, 0)
    )
    return JSONResponse(told)


def told_of(known: Known, text: str, specials: bool, at: int) -> dict[str, Any]:
    """The pre-tokens around the byte `at`, and the moves by which they became tokens.

    A move is [start, end, id]: what lies there becomes this token. Places are bytes of the text.
    """
    data = text.encode()
    cuts = _cuts(known, text, data, specials)
    nth = int(np.searchsorted(cuts, min(max(at, 0), len(data)), side="right")) - 1
    first = last = min(max(nth, 0), max(len(cuts) - 2, 0))
    if len(cuts) < 2:
        return {"start": 0, "bytes": "", "pretokens": [], "moves": [], "whole": True}
    # It grows to both sides for as long as there is room.
    while True:
        before = first > 0 and cuts[last + 1] - cuts[first - 1] <= WINDOW
        first -= before
        after = last + 2 < len(cuts) and cuts[last + 2] - cuts[first] <= WINDOW
        last += after
        if not before and not after:
            break
    pretokens = [(int(cuts[n]), int(cuts[n + 1])) for n in range(first, last + 1)]
    waiting: list[tuple[int, int, int, list[tuple[int, int, int]]]] = []
    for start, end in pretokens:
        if end - start > LONGEST_PRETOKEN:
            raise HTTPException(400, f"this pre-token has {end - start:,} bytes: too many moves to follow")
        moves = _moves(known, data[start:end], start, specials)
        if moves:
            waiting.append((known.rank.get(moves[0][2], 0), start, 0, moves))
    heapq.heapify(waiting)
    told = []
    while waiting:
        _, start, place, moves = heapq.heappop(waiting)
        told.append(moves[place])
        if place + 1 < len(moves):
            heapq.heappush(waiting, (known.rank.get(moves[place + 1][2], 0), start, place + 1, moves))
    start, end = pretokens[0][0], pretokens[-1][1]
    return {
        "start": start,
        "bytes": data[start:end].hex(),
        "pretokens": pretokens,
        "moves": told,
        "whole": (start, end) == (0, len(data)),
        "facts": {id: known.facts(id) for id in {id for _, _, id in told}},
    }


def _moves(known: Known, pretoken: bytes, start: int, specials: bool) -> list[tuple[int, int, int]]:
    special = known.tokenizer.special_tokens.get(pretoken.decode()) if specials else None
    if special is not None:
        return [(start, start + len(pretoken), special)]
    merges, _ = merges_by(pretoken, known.ranks)
    return [
        (start + at, start + at + sum(map(len, merge)), known.ranks[b"".join(merge)]) for at, merge in merges
    ]


def _cuts(known: Known, text: str, data: bytes, specials: bool) -> list[int]:
    """Byte offsets of the pre-tokens, and the end of the last; a special token is a pre-token of its own."""
    ids, _ = known.tokenizer.encode_flat(
        [text], allowed_special="all" if specials else (), disallowed_special=()
    )
    ends = np.cumsum(known.lengths[ids])
    special = np.flatnonzero(np.isin(ids, list(known.specials))) if specials else np.array([], np.int64)
    cuts = [0]
    pattern = known.tokenizer.pattern_name or known.tokenizer.pattern
    for n in (*special.tolist(), len(ids)):
        begin = int(ends[n - 1]) if n else 0
        for pretoken in _core.split(data[cuts[-1] : begin].decode(), pattern):
            cuts.append(cuts[-1] + len(pretoken.encode()))
        if n < len(ids):
            cuts.append(int(ends[n]))
    return cuts


routes = [
    Route("/token", token),
    Route("/tree", tree),
    Route("/steps", steps, methods=["POST"]),
]
