"""Playground: a text becomes ids, as it is typed. Packed numbers go out; the page draws what can be seen.

A megabyte takes about 10 ms, most of it to find where tokens end in the browser's text. To send it takes
longer than that, so the last long texts are kept here: an edit comes as an edit, is encoded with all the text
(what a change does to tokens far away is for nobody to guess), and goes back as what has changed, in 5 ms.
"""

from collections import OrderedDict
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from merganser.analyse import examples
from merganser.studio.desk import Known, desk
from merganser.studio.messages import Body, packed

#: Set in the numbers of `cuts` where a token ends in the middle of a character.
WITHIN = 1 << 31

Numbers = NDArray[np.uint32]


def encoded(known: Known, text: str, data: bytes, specials: bool) -> tuple[dict[str, Any], Numbers]:
    """The ids of a text, which in UTF-8 is `data`, and figures about them."""
    ids, _ = known.tokenizer.encode_flat(
        [text], allowed_special="all" if specials else (), disallowed_special=()
    )
    figures = {
        "tokens": len(ids),
        "characters": len(text),
        "bytes": len(data),
        "id_bytes": 2 if known.tokenizer.next_id <= 1 << 16 else 4,
        "different": int(np.count_nonzero(np.bincount(ids))) if len(ids) else 0,
    }
    return figures, ids


def located(known: Known, data: bytes, ids: Numbers, front: int, back: int) -> list[Numbers]:
    """Of every token but so many at the front and back: its id, its end in bytes, and in UTF-16.

    The end in UTF-16, as browsers count, is behind all characters that have begun; `WITHIN` is added where
    the last goes on.
    """
    begin = int(known.lengths[ids[:front]].sum())
    ids = ids[front : len(ids) - back]
    ends = np.cumsum(known.lengths[ids], dtype=np.uint32) + np.uint32(begin)
    if data.isascii() or not len(ids):
        return [ids, ends, ends]
    text = np.frombuffer(data, np.uint8)
    last = int(ends[-1])
    units = np.cumsum(_starts(text[begin:last]), dtype=np.uint32)
    units += np.cumsum(_pairs(text[begin:last]), dtype=np.uint32)
    before = np.count_nonzero(_starts(text[:begin])) + np.count_nonzero(_pairs(text[:begin]))
    cuts = units[ends - begin - 1] + np.uint32(before)
    following = np.append(_starts(text[begin : last + 1]), last == len(text))[ends - begin]
    cuts[~following] |= WITHIN
    return [ids, ends, cuts]


def _starts(data: NDArray[np.uint8]) -> NDArray[np.bool_]:
    """Where a character begins: the bytes inside one are 0x80 to 0xBF."""
    return data.view(np.int8) >= -64


def _pairs(data: NDArray[np.uint8]) -> NDArray[np.bool_]:
    """Where a character begins that takes two units of UTF-16: it is outside the basic plane."""
    return data >= 0xF0


@dataclass(frozen=True)
class Kept:
    """A long text as it was last sent, with its ids. Browsers count in UTF-16, and so does this."""

    version: int
    units: bytes
    ids: Numbers


def edited(units: bytes, start: int, end: int, insert: str) -> bytes:
    """The text after an edit; both are in UTF-16.

    >>> edited("a👍b".encode("utf-16-le"), 1, 3, "é").decode("utf-16-le")
    'aéb'
    """
    if not 0 <= start <= end <= len(units) // 2:
        raise HTTPException(400, "the edit lies outside of the text")
    return units[: 2 * start] + insert.encode("utf-16-le", "surrogatepass") + units[2 * end :]


def changes(before: Numbers, after: Numbers) -> tuple[int, int]:
    """How many ids are the same at the front, and how many more at the back."""
    least = min(len(before), len(after))
    differ = np.flatnonzero(before[:least] != after[:least])
    front = int(differ[0]) if len(differ) else least
    room = least - front
    differ = np.flatnonzero(before[len(before) - room :] != after[len(after) - room :])
    return front, room - 1 - int(differ[-1]) if len(differ) else room


#: The long texts of the pages that were used last, by a name that each page has chosen.
Shelf = OrderedDict[str, Kept]
SHELF, LONG = 8, 20_000


def answered(shelf: Shelf, known: Known, body: Body) -> Response:
    edit = body.get("edit", dict, {})
    page = body.get("page", str, "")
    kept = shelf.get(page) if edit else None
    if kept is not None and kept.version == edit.get("base"):
        change = Body(edit)
        units = edited(
            kept.units, change.get("start", int), change.get("end", int), change.get("insert", str)
        )
        try:
            text = units.decode("utf-16-le")
        except UnicodeDecodeError:
            raise HTTPException(400, "the edit leaves half a character") from None
    elif edit:
        raise HTTPException(409, "this text is not known any more; send all of it")
    else:
        text = body.text()
        units = text.encode("utf-16-le")
    data = text.encode()
    figures, ids = encoded(known, text, data, body.get("specials", bool, False))
    front, back = changes(kept.ids, ids) if kept is not None else (0, 0)
    if page and len(text) >= LONG:
        shelf[page] = Kept(body.get("version", int), units, ids)
        shelf.move_to_end(page)
        while len(shelf) > SHELF:
            shelf.popitem(last=False)
    return packed(figures | {"front": front, "back": back}, located(known, data, ids, front, back))


async def encode(request: Request) -> Response:
    body = await Body.of(request)
    known = desk(request).find(body.get("tokenizer", str))
    if "edit" not in body.fields and len(body.text()) < LONG:  # a thread would take longer than the text
        return answered(desk(request).shelf, known, body)
    return await desk(request).work.run(answered, desk(request).shelf, known, body)


async def presets(request: Request) -> Response:
    """Texts to try, among them those that tokenizers find hard."""
    languages = {name: "\n".join(lines) for name, lines in examples.PARALLEL.items()}
    groups = {"Samples": examples.DOMAINS, "Hard": examples.HARD, "Languages": languages}
    return JSONResponse({name: dict(texts) for name, texts in groups.items()})


routes = [Route("/encode", encode, methods=["POST"]), Route("/presets", presets)]
