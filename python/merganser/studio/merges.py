"""Merges: the merge tree of a token, and the steps in which a text was merged.

The steps of a text are the merges of its pre-tokens, interleaved in training order: of two pre-tokens, the
one whose next merge was learned earlier comes first. Only the pre-tokens around one token are shown, because
a thousand steps are too many to follow. If stages of another library change the text before it is merged, the
steps are those of the trees of its tokens. A tree takes microseconds, 400 bytes of text about a millisecond.
"""

import heapq
from collections.abc import Callable
from typing import Any, cast

import numpy as np
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from merganser import _core
from merganser.studio.messages import Body
from merganser.studio.playground import Numbers
from merganser.studio.state import TokenizerEntry, state_of
from merganser.verification.differences import merges_from_ranks

#: How many bytes of text are shown; a longer pre-token is shown whole, up to the second number.
WINDOW, LONGEST_PRETOKEN = 240, 4000

#: A token that appears in the text: start and end in bytes, and id.
Step = tuple[int, int, int]


async def answer_about_token(request: Request, answer: Callable[[TokenizerEntry, int], Any]) -> Response:
    """Respond with `answer(entry, id)` for the tokenizer and the id in the query string, as JSON."""
    entry = state_of(request).find(request.query_params.get("tokenizer", ""))
    try:
        id = int(request.query_params.get("id", ""))
    except ValueError:
        raise HTTPException(400, "id must be an integer") from None

    def respond() -> Response:
        if id not in entry.tokens:
            raise HTTPException(404, f"unknown token id {id}")
        return JSONResponse(answer(entry, id))

    return await state_of(request).quick.run(respond)


#: Tokens that `uses` lists.
MOST_USES = 24


async def uses(request: Request) -> Response:
    """Return the tokens that merge a token further, the first learned first."""

    def found(entry: TokenizerEntry, id: int) -> dict[str, Any]:
        ids = entry.uses.get(id, [])
        return {"total": len(ids), "tokens": [entry.facts(use) for use in ids[:MOST_USES]]}

    return await answer_about_token(request, found)


async def token(request: Request) -> Response:
    return await answer_about_token(request, TokenizerEntry.facts)


async def tree(request: Request) -> Response:
    """Return every token in the merge tree of a token: its bytes from `start` to `end`, and its level."""
    return await answer_about_token(request, lambda entry, id: {"nodes": nodes_of(entry, id)})


def nodes_of(entry: TokenizerEntry, id: int) -> list[dict[str, Any]]:
    nodes: list[dict[str, Any]] = []

    def add(id: int, start: int) -> int:
        """Add a token and all tokens below it; return its level (0 for bytes)."""
        size = len(entry.tokens[id])
        pair = entry.merges.get(id)
        level = 0
        if pair is not None:
            left, right = pair
            level = 1 + max(add(left, start), add(right, start + len(entry.tokens[left])))
        elif size > 1 and id not in entry.specials:  # no merge creates it: it matches only as a whole
            parts = [entry.ranks.get(bytes([byte])) for byte in entry.tokens[id]]
            if None not in parts:  # a vocabulary of characters may lack bytes
                level = 1
                for offset, part in enumerate(parts):
                    add(cast("int", part), start + offset)
        nodes.append(entry.facts(id) | {"start": start, "end": start + size, "level": level})
        return level

    add(id, 0)
    return nodes


async def steps(request: Request) -> Response:
    body = await Body.of(request)
    state = state_of(request)
    entry = state.find(body.get("tokenizer", str))
    found = await state.pool_of(entry).run(
        steps_around,
        entry,
        body.text(),
        body.get("specials", bool, False),
        max(body.get("token", int, 0), 0),
        max(body.get("tokens", int, 1), 1),
    )
    return JSONResponse(found)


def steps_around(
    entry: TokenizerEntry, text: str, specials: bool, first: int, count: int = 1
) -> dict[str, Any]:
    """Return the pre-tokens around `count` tokens from number `first`, and the steps that merge them."""
    ids, _ = entry.tokenizer.encode_flat(
        [text], allowed_special="all" if specials else (), disallowed_special=()
    )
    ends = np.cumsum(entry.lengths[ids], dtype=np.int64)
    first = min(first, max(len(ids) - 1, 0))
    last = min(first + count, len(ids))
    chosen = [int(ends[first - 1]) if first else 0, int(ends[last - 1]) if last else 0]
    around = _steps_of_tokens if entry.has_stages else _steps_of_pretokens
    return around(entry, text, specials, ids, chosen) | {"chosen": chosen}


def _steps_of_tokens(
    entry: TokenizerEntry, text: str, specials: bool, ids: Numbers, chosen: list[int]
) -> dict[str, Any]:
    """Return the steps of the tokens around the chosen ones; offsets are those of the joined tokens."""
    ends = np.cumsum(entry.lengths[ids], dtype=np.int64)
    starts = ends - entry.lengths[ids]
    middle = sum(chosen) // 2
    inside = np.flatnonzero((starts >= middle - WINDOW // 2) & (ends <= middle + WINDOW // 2))
    shown = inside if len(inside) else np.flatnonzero((starts <= middle) & (ends >= middle))[:1]
    steps = []
    for k in shown.tolist():
        if int(ids[k]) in entry.specials:
            steps.append((int(starts[k]), int(ends[k]), int(ids[k])))
            continue
        steps += [
            (int(starts[k]) + node["start"], int(starts[k]) + node["end"], node["id"])
            for node in nodes_of(entry, int(ids[k]))
            if node["kind"] == "merge"
        ]
    steps.sort(key=lambda step: (entry.rank.get(step[2], 0), step[0]))
    whole = b"".join(entry.tokens[id] for id in ids[shown].tolist())
    return {
        "start": int(starts[shown[0]]) if len(shown) else 0,
        "bytes": whole.hex(),
        "pretokens": [(int(starts[k]), int(ends[k])) for k in shown.tolist()],
        "steps": steps,
        "whole": len(shown) == len(ids),
        "facts": {id: entry.facts(id) for id in {id for _, _, id in steps}},
    }


def _steps_of_pretokens(
    entry: TokenizerEntry, text: str, specials: bool, ids: Numbers, chosen: list[int]
) -> dict[str, Any]:
    """Return the pre-tokens around the chosen tokens, and the steps that merge them into tokens."""
    data = text.encode()
    at = chosen[0]
    boundaries = pretoken_boundaries(entry, text, data, specials)
    nth = int(np.searchsorted(boundaries, min(max(at, 0), len(data)), side="right")) - 1
    first = last = min(max(nth, 0), max(len(boundaries) - 2, 0))
    if len(boundaries) < 2:
        return {"start": 0, "bytes": "", "pretokens": [], "steps": [], "whole": True}
    # Extend the window on both sides while it fits.
    while True:
        before = first > 0 and boundaries[last + 1] - boundaries[first - 1] <= WINDOW
        first -= before
        after = last + 2 < len(boundaries) and boundaries[last + 2] - boundaries[first] <= WINDOW
        last += after
        if not before and not after:
            break
    pretokens = [(int(boundaries[n]), int(boundaries[n + 1])) for n in range(first, last + 1)]
    steps = merge_steps(entry, data, pretokens, specials)
    start, end = pretokens[0][0], pretokens[-1][1]
    return {
        "start": start,
        "bytes": data[start:end].hex(),
        "pretokens": pretokens,
        "steps": steps,
        "whole": (start, end) == (0, len(data)),
        "facts": {id: entry.facts(id) for id in {id for _, _, id in steps}},
    }


def merge_steps(
    entry: TokenizerEntry, data: bytes, pretokens: list[tuple[int, int]], specials: bool = False
) -> list[Step]:
    """Return the steps of all pre-tokens, in the order in which their merges were learned."""
    waiting: list[tuple[int, int, int, list[Step]]] = []
    for start, end in pretokens:
        if end - start > LONGEST_PRETOKEN:
            raise HTTPException(
                400,
                f"this pre-token has {end - start:,} bytes; steps are shown for up to {LONGEST_PRETOKEN:,}",
            )
        steps = _steps(entry, data[start:end], start, specials)
        if steps:
            waiting.append((entry.rank.get(steps[0][2], 0), start, 0, steps))
    heapq.heapify(waiting)
    ordered = []
    while waiting:
        _, start, nth, steps = heapq.heappop(waiting)
        ordered.append(steps[nth])
        if nth + 1 < len(steps):
            heapq.heappush(waiting, (entry.rank.get(steps[nth + 1][2], 0), start, nth + 1, steps))
    return ordered


def _steps(entry: TokenizerEntry, pretoken: bytes, start: int, specials: bool) -> list[Step]:
    special = entry.tokenizer.special_tokens.get(pretoken.decode()) if specials else None
    if special is not None:
        return [(start, start + len(pretoken), special)]
    merges, _ = merges_from_ranks(pretoken, entry.ranks)
    return [
        (start + at, start + at + sum(map(len, merge)), entry.ranks[b"".join(merge)]) for at, merge in merges
    ]


def pretoken_boundaries(entry: TokenizerEntry, text: str, data: bytes, specials: bool = False) -> list[int]:
    """Return the byte offsets of the pre-tokens and the end of the last; a special token counts as one."""
    ids, _ = entry.tokenizer.encode_flat(
        [text], allowed_special="all" if specials else (), disallowed_special=()
    )
    ends = np.cumsum(entry.lengths[ids])
    special = np.flatnonzero(np.isin(ids, list(entry.specials))) if specials else np.array([], np.int64)
    boundaries = [0]
    pattern = entry.tokenizer.pattern_name or entry.tokenizer.pattern
    for n in (*special.tolist(), len(ids)):
        end = int(ends[n - 1]) if n else 0
        for pretoken in _core.split(data[boundaries[-1] : end].decode(), pattern):
            boundaries.append(boundaries[-1] + len(pretoken.encode()))
        if n < len(ids):
            boundaries.append(int(ends[n]))
    return boundaries


routes = [
    Route("/token", token),
    Route("/tree", tree),
    Route("/uses", uses),
    Route("/steps", steps, methods=["POST"]),
]
