"""Vocabulary: tokens searched by text, bytes, id or regular expression, sorted, and returned in pages.

Searching 100,000 tokens takes about 10 ms. A regular expression may take forever and Python cannot interrupt
it, so it runs in a separate process that is killed after two seconds.
"""

import json
import re
import subprocess
import sys
from functools import lru_cache
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from merganser.studio.merges import answer_about_token
from merganser.studio.messages import Body
from merganser.studio.state import TokenizerEntry, state_of

#: Time limit of a regular expression in seconds, and the largest page in tokens.
REGEX_TIMEOUT, LARGEST_PAGE = 2.0, 500

_SEARCH = """
import json, re, sys
pattern, tokens = json.load(sys.stdin)
try:
    search = re.compile(pattern).search
except (re.error, RecursionError, OverflowError) as error:
    sys.exit(f"invalid regular expression: {error}")
json.dump([n for n, token in enumerate(tokens) if search(token)], sys.stdout)
"""


class InvalidQuery(Exception):
    """A query that cannot be run. It is sent as an answer, because the user may still be typing."""


@lru_cache(maxsize=16)
def matching_ids(entry: TokenizerEntry, by: str, query: str) -> list[int]:
    """Return the ids of all matching tokens, in ascending order."""
    tokens = entry.tokens
    if not query:
        return list(tokens)
    if by == "text":
        wanted = query.encode("utf-8", "surrogatepass")
        return [id for id, token in tokens.items() if wanted in token]
    if by == "bytes":
        try:
            wanted = bytes.fromhex(query)
        except ValueError:
            raise InvalidQuery("bytes must be pairs of hexadecimal digits, such as 20 74 68") from None
        return [id for id, token in tokens.items() if wanted in token]
    if by == "id":
        bounds = re.fullmatch(r"\s*(\d{1,9})\s*(?:[-–]\s*(\d{1,9})\s*)?", query)
        if bounds is None:
            raise InvalidQuery("an id must be a number or a range, such as 1000 or 256-300")
        low, high = int(bounds[1]), int(bounds[2] or bounds[1])
        return [id for id in tokens if low <= id <= high]
    if by == "regex":
        return _matching_regex(entry, query)
    raise HTTPException(400, "'by' must be text, bytes, regex or id")


def _matching_regex(entry: TokenizerEntry, pattern: str) -> list[int]:
    """Match tokens as text; bytes that are not valid UTF-8 become U+FFFD."""
    texts = [token.decode("utf-8", "replace") for token in entry.tokens.values()]
    try:
        done = subprocess.run(
            [sys.executable, "-I", "-S", "-c", _SEARCH],
            input=json.dumps([pattern, texts]),
            capture_output=True,
            text=True,
            timeout=REGEX_TIMEOUT,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise InvalidQuery(
            f"the regular expression took more than {REGEX_TIMEOUT:.0f} s; simplify it"
        ) from None
    if done.returncode:
        raise InvalidQuery(done.stderr.strip().splitlines()[-1][:300])
    ids = list(entry.tokens)
    return [ids[n] for n in json.loads(done.stdout)]


def sorted_ids(entry: TokenizerEntry, by: str, query: str, sort: str, descending: bool) -> list[int]:
    ids = matching_ids(entry, by, query)
    counts = entry.tokenizer.merge_counts
    if sort == "rank":
        return ids[::-1] if descending else ids
    if sort == "length":
        return sorted(ids, key=lambda id: len(entry.tokens[id]), reverse=descending)
    if sort == "count":
        return sorted(ids, key=lambda id: counts.get(id, -1), reverse=descending)
    raise HTTPException(400, "'sort' must be rank, length or count")


def found_page(entry: TokenizerEntry, body: Body) -> Response:
    try:
        ids = sorted_ids(
            entry,
            body.get("by", str, "text"),
            body.get("query", str, ""),
            body.get("sort", str, "rank"),
            body.get("descending", bool, False),
        )
    except InvalidQuery as error:
        return JSONResponse({"problem": str(error)})
    start = max(body.get("start", int, 0), 0)
    page = ids[start : start + min(max(body.get("size", int, 100), 1), LARGEST_PAGE)]
    return JSONResponse({"total": len(ids), "rows": [entry.facts(id) for id in page]})


async def search(request: Request) -> Response:
    body = await Body.of(request)
    state = state_of(request)
    pool = state.slow if body.fields.get("by") == "regex" else state.quick
    return await pool.run(found_page, state.find(body.get("tokenizer", str)), body)


async def neighbors(request: Request) -> Response:
    """Return the tokens with the most similar embeddings; null if no embeddings are loaded."""
    find = state_of(request).neighbors
    name = request.query_params.get("tokenizer", "")

    def found(entry: TokenizerEntry, id: int) -> dict[str, Any]:
        near = None if find is None else find(name, id)
        if near is None:
            return {"neighbors": None}
        return {"neighbors": [entry.facts(other) | {"similarity": similarity} for other, similarity in near]}

    return await answer_about_token(request, found)


routes = [Route("/search", search, methods=["POST"]), Route("/neighbors", neighbors)]
