"""Playground: encode text as it is typed. The response is binary; the page draws only the visible part.

A megabyte takes about 10 ms, most of it to convert byte offsets to UTF-16 offsets. Sending it takes longer,
so the server keeps the last long texts: the page sends an edit, and the server encodes the whole text (an
edit may change tokens far away) and returns only the tokens that changed, in 5 ms.
"""

from collections import OrderedDict
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from merganser.analyse import examples
from merganser.studio.messages import Body, packed
from merganser.studio.state import TokenizerEntry, state_of

#: Flag in UTF-16 offsets of tokens that end inside a character.
WITHIN = 1 << 31

Numbers = NDArray[np.uint32]


class Encoding(NamedTuple):
    """Figures about a text, its ids, and the end of each token in bytes unless the ids imply it."""

    figures: dict[str, Any]
    ids: Numbers
    ends: Numbers | None


def encoded(entry: TokenizerEntry, text: str, data: bytes, specials: bool) -> Encoding:
    """Encode a text. `data` is the text in UTF-8."""
    ids, _ = entry.tokenizer.encode_flat(
        [text], allowed_special="all" if specials else (), disallowed_special=()
    )
    figures = {
        "tokens": len(ids),
        "characters": len(text),
        "bytes": len(data),
        "id_bytes": 2 if entry.tokenizer.next_id <= 1 << 16 else 4,
        "different": int(np.count_nonzero(np.bincount(ids))) if len(ids) else 0,
    }
    is_plain = not entry.has_stages or b"".join(map(entry.tokens.__getitem__, ids.tolist())) == data
    return Encoding(figures, ids, None if is_plain else _ends(entry, text, len(data), specials))


def _ends(entry: TokenizerEntry, text: str, size: int, specials: bool) -> Numbers:
    """Return the end of each token in a text that stages have changed, in bytes of the original text.

    Text that no token covers, such as a space that was removed, belongs to the token after it. Tokens that
    share a character divide its bytes.
    """
    spans = entry.tokenizer.encode_with_offsets(
        text, allowed_special="all" if specials else (), disallowed_special=()
    )
    if not spans.ids:
        return np.zeros(0, np.uint32)
    bounds = np.array(spans.bytes, np.int64)
    ends = bounds[:, 1].copy()
    shared = np.flatnonzero(bounds[1:, 0] < bounds[:-1, 1])
    for k in shared.tolist():
        before = max(int(ends[k - 1]) if k else 0, int(bounds[k, 0]))
        ends[k] = min(int(bounds[k, 1]), before + int(entry.lengths[spans.ids[k]]))
    ends[-1] = size
    return np.maximum.accumulate(ends).astype(np.uint32)


def located(
    entry: TokenizerEntry, data: bytes, encoding: Encoding, front: int = 0, back: int = 0
) -> list[Numbers]:
    """Return ids, end offsets in bytes and end offsets in UTF-16 units.

    The first `front` and the last `back` tokens are left out. A UTF-16 offset counts every character that has
    started, and has the flag `WITHIN` if the last one continues in the next token.
    """
    ids = encoding.ids[front : len(encoding.ids) - back]
    if encoding.ends is None:
        begin = int(entry.lengths[encoding.ids[:front]].sum())
        ends = np.cumsum(entry.lengths[ids], dtype=np.uint32) + np.uint32(begin)
    else:
        begin = int(encoding.ends[front - 1]) if front else 0
        ends = encoding.ends[front : len(encoding.ends) - back]
    if data.isascii() or not len(ids):
        return [ids, ends, ends]
    text = np.frombuffer(data, np.uint8)
    last = int(ends[-1])
    units = np.cumsum(_starts(text[begin:last]), dtype=np.uint32)
    units += np.cumsum(_surrogate_pairs(text[begin:last]), dtype=np.uint32)
    before = np.count_nonzero(_starts(text[:begin])) + np.count_nonzero(_surrogate_pairs(text[:begin]))
    cuts = np.append(np.uint32(0), units)[ends - begin] + np.uint32(before)
    at_boundary = np.append(_starts(text[begin : last + 1]), last == len(text))[ends - begin]
    cuts[~at_boundary] |= WITHIN
    return [ids, ends, cuts]


def _starts(data: NDArray[np.uint8]) -> NDArray[np.bool_]:
    """Mark the first byte of every character: continuation bytes are 0x80 to 0xBF."""
    return data.view(np.int8) >= -64


def _surrogate_pairs(data: NDArray[np.uint8]) -> NDArray[np.bool_]:
    """Mark the first byte of every character that takes two UTF-16 units."""
    return data >= 0xF0


@dataclass(frozen=True)
class CachedText:
    """The last version of a long text in UTF-16, as browsers count, with its ids."""

    version: int
    units: bytes
    ids: Numbers


def edited(units: bytes, start: int, end: int, insert: str) -> bytes:
    """Apply an edit to a text in UTF-16.

    >>> edited("a👍b".encode("utf-16-le"), 1, 3, "é").decode("utf-16-le")
    'aéb'
    """
    if not 0 <= start <= end <= len(units) // 2:
        raise HTTPException(400, "the edit is outside the text; send the whole text")
    return units[: 2 * start] + insert.encode("utf-16-le", "surrogatepass") + units[2 * end :]


def changes(before: Numbers, after: Numbers) -> tuple[int, int]:
    """Return the lengths of the common prefix and of the common suffix after it."""
    least = min(len(before), len(after))
    differ = np.flatnonzero(before[:least] != after[:least])
    front = int(differ[0]) if len(differ) else least
    room = least - front
    differ = np.flatnonzero(before[len(before) - room :] != after[len(after) - room :])
    return front, room - 1 - int(differ[-1]) if len(differ) else room


#: The most recent long texts, by a random name that each page chooses.
RecentTexts = OrderedDict[str, CachedText]
MAX_RECENT, LONG_TEXT = 8, 20_000


def answer(recent: RecentTexts, entry: TokenizerEntry, body: Body) -> Response:
    edit = body.get("edit", dict, {})
    page = body.get("page", str, "")
    cached = recent.get(page) if edit else None
    if cached is not None and cached.version == edit.get("base"):
        change = Body(edit)
        units = edited(
            cached.units, change.get("start", int), change.get("end", int), change.get("insert", str)
        )
        try:
            text = units.decode("utf-16-le")
        except UnicodeDecodeError:
            raise HTTPException(400, "the edit leaves a lone surrogate; send the whole text") from None
    elif edit:
        raise HTTPException(409, "this version of the text is no longer cached; send the whole text")
    else:
        text = body.text()
        units = text.encode("utf-16-le")
    data = text.encode()
    encoding = encoded(entry, text, data, body.get("specials", bool, False))
    ids = encoding.ids
    # The same ids after an edit may cover other bytes if stages change the text.
    front, back = changes(cached.ids, ids) if cached is not None and not entry.has_stages else (0, 0)
    if page and len(text) >= LONG_TEXT:
        recent.pop(page, None)  # not `move_to_end`: another thread may remove it first
        recent[page] = CachedText(body.get("version", int), units, ids)
        while len(recent) > MAX_RECENT:
            recent.popitem(last=False)
    figures = encoding.figures | {"front": front, "back": back}
    return packed(figures, located(entry, data, encoding, front, back))


async def encode(request: Request) -> Response:
    body = await Body.of(request)
    state = state_of(request)
    entry = state.find(body.get("tokenizer", str))
    is_short = "edit" not in body.fields and len(body.text()) < LONG_TEXT
    if is_short and entry.is_linear and "lengths" in vars(entry):  # 0.1 ms at most; a thread would delay it
        return answer(state.recent_texts, entry, body)
    return await state.pool_of(entry).run(answer, state.recent_texts, entry, body)


#: By the label of their button.
EXAMPLES = {
    "English": examples.DOMAINS["English prose"],
    "Python": examples.DOMAINS["Python code"],
    "中文": "\n".join(examples.PARALLEL["Chinese"]),
    "العربية": "\n".join(examples.PARALLEL["Arabic"]),
    "Emoji": "\n".join(examples.HARD[name] for name in ("emoji with skin tones", "zero-width joiners")),
    "Numbers": examples.DOMAINS["numbers"],
    "White space": examples.HARD["white space"],
    "Hostile": examples.HARD["hostile text"],
}


async def sample_texts(request: Request) -> Response:
    return JSONResponse(EXAMPLES)


routes = [Route("/encode", encode, methods=["POST"]), Route("/examples", sample_texts)]
