"""Vocabulary: tokens found by their text, bytes or id or by a regular expression, sorted, page by page.

100,000 tokens are searched in some 10 ms. A regular expression may take forever, and Python cannot stop it:
so it runs in a process of its own, which is ended after two seconds.
"""

import json
import re
import subprocess
import sys
from functools import lru_cache

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from merganser.studio.desk import Known, desk
from merganser.studio.messages import Body
from merganser.studio.story import asked

#: How long a regular expression may take, in seconds; and how many tokens are on a page at most.
PATIENCE, LONGEST_PAGE = 2.0, 500

_SEARCH = """
import json, re, sys
pattern, tokens = json.load(sys.stdin)
try:
    found = re.compile(pattern).search
except (re.error, RecursionError, OverflowError) as error:
    sys.exit(f"this is not a regular expression: {error}")
json.dump([n for n, token in enumerate(tokens) if found(token)], sys.stdout)
"""


class Unclear(Exception):
    """A query that says nothing yet: people are still typing, so that it is an answer and not an error."""


@lru_cache(maxsize=16)
def found(known: Known, by: str, query: str) -> list[int]:
    """The ids of all tokens that match, lowest first."""
    tokens = known.tokens
    if not query:
        return list(tokens)
    if by == "text":
        wanted = query.encode("utf-8", "surrogatepass")
        return [id for id, token in tokens.items() if wanted in token]
    if by == "bytes":
        try:
            wanted = bytes.fromhex(query)
        except ValueError:
            raise Unclear("bytes are pairs of hexadecimal digits, such as 20 74 68") from None
        return [id for id, token in tokens.items() if wanted in token]
    if by == "id":
        ends = re.fullmatch(r"\s*(\d{1,9})\s*(?:[-–]\s*(\d{1,9})\s*)?", query)
        if ends is None:
            raise Unclear("an id is a number, or two with a dash between them")
        low, high = int(ends[1]), int(ends[2] or ends[1])
        return [id for id in tokens if low <= id <= high]
    if by == "regex":
        return _matching(known, query)
    raise HTTPException(400, "'by' must be text, bytes, regex or id")


def _matching(known: Known, pattern: str) -> list[int]:
    """Tokens are matched as text; a byte that is no part of a character is U+FFFD."""
    texts = [token.decode("utf-8", "replace") for token in known.tokens.values()]
    try:
        done = subprocess.run(
            [sys.executable, "-I", "-S", "-c", _SEARCH],
            input=json.dumps([pattern, texts]),
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise Unclear(f"this regular expression takes more than {PATIENCE:.0f} s; make it simpler") from None
    if done.returncode:
        raise Unclear(done.stderr.strip().splitlines()[-1][:300])
    ids = list(known.tokens)
    return [ids[n] for n in json.loads(done.stdout)]


def arranged(known: Known, by: str, query: str, sort: str, falling: bool) -> list[int]:
    ids = found(known, by, query)
    counts = known.tokenizer.merge_counts
    if sort == "rank":
        return ids[::-1] if falling else ids
    if sort == "length":
        return sorted(ids, key=lambda id: len(known.tokens[id]), reverse=falling)
    if sort == "count":
        return sorted(ids, key=lambda id: counts.get(id, -1), reverse=falling)
    raise HTTPException(400, "'sort' must be rank, length or count")


async def search(request: Request) -> Response:
    body = await Body.of(request)
    known = desk(request).find(body.get("tokenizer", str))
    try:
        ids = await desk(request).work.run(
            arranged,
            known,
            body.get("by", str, "text"),
            body.get("query", str, ""),
            body.get("sort", str, "rank"),
            body.get("falling", bool, False),
        )
    except Unclear as unclear:
        return JSONResponse({"problem": str(unclear)})
    start = max(body.get("start", int, 0), 0)
    page = ids[start : start + min(max(body.get("size", int, 100), 1), LONGEST_PAGE)]
    return JSONResponse({"total": len(ids), "rows": [known.facts(id) for id in page]})


async def neighbours(request: Request) -> Response:
    """The nearest tokens by their embeddings, nearest first; null where no embeddings are loaded."""
    known, id = asked(request)
    ask = desk(request).neighbours
    if ask is None:
        return JSONResponse({"neighbours": None})
    near = await desk(request).work.run(ask, request.query_params["tokenizer"], id)
    return JSONResponse(
        {"neighbours": [known.facts(other) | {"similarity": similarity} for other, similarity in near]}
    )


routes = [Route("/search", search, methods=["POST"]), Route("/neighbours", neighbours)]
