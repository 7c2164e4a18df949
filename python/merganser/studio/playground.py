"""Playground: a text becomes ids, as it is typed. Packed numbers go out; the page draws what can be seen.

A megabyte takes about 10 ms: encoding is the smaller half of it, finding the characters the other. To send
it takes longer than that, so the last long texts are kept here: an edit comes as an edit, is encoded with all
the text (what a change does to tokens far away is for nobody to guess), and goes back as what has changed.
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


def encoded(known: Known, text: str, specials: bool) -> tuple[dict[str, Any], list[Numbers]]:
    """Figures, and of every token: its id, where it ends in bytes, and where in UTF-16 as browsers count.

    The end in UTF-16 counts characters that have begun; `WITHIN` is added where the last goes on.
    """
    ids, _ = known.tokenizer.encode_flat(
        [text], allowed_special="all" if specials else (), disallowed_special=()
    )
    data = np.frombuffer(text.encode(), np.uint8)
    ends = np.cumsum(known.lengths[ids], dtype=np.uint32)
    figures = {
        "tokens": len(ids),
        "characters": len(text),
        "bytes": len(data),
        "id_bytes": 2 if known.tokenizer.next_id <= 1 << 16 else 4,
        "different": int(np.count_nonzero(np.bincount(ids))) if len(ids) else 0,
    }
    return figures, [ids, ends, _cuts(data, ends)]


def _cuts(data: NDArray[np.uint8], ends: Numbers) -> Numbers:
    if not len(ends) or int(data.max()) < 0x80:
        return ends
    starts = (data & 0xC0) != 0x80
    units = np.cumsum(starts, dtype=np.uint32)
    units += np.cumsum(data >= 0xF0, dtype=np.uint32)  # those outside the basic plane take two
    cuts = units[ends - 1]
    following = np.append(starts, True)[ends]
    cuts[~following] |= WITHIN
    return cuts


@dataclass(frozen=True)
class Kept:
    """A long text as it was last sent, with its ids. Browsers count in UTF-16, and so does this."""

    version: int
    units: bytes
    ids: Numbers


def edited(kept: Kept, start: int, end: int, insert: str) -> str:
    """The text after an edit.

    >>> edited(Kept(1, "a👍b".encode("utf-16-le"), np.zeros(0, np.uint32)), 1, 3, "é")
    'aéb'
    """
    units = kept.units
    if not 0 <= start <= end <= len(units) // 2:
        raise HTTPException(400, "the edit lies outside of the text")
    inserted = insert.encode("utf-16-le", "surrogatepass")
    try:
        return (units[: 2 * start] + inserted + units[2 * end :]).decode("utf-16-le")
    except UnicodeDecodeError:
        raise HTTPException(400, "the edit leaves half a character") from None


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
    kept = shelf.get(body.get("page", str, ""))
    if not edit:
        text = body.text()
    elif kept is None or kept.version != edit.get("base"):
        raise HTTPException(409, "this text is not known any more; send all of it")
    else:
        change = Body(edit)
        text = edited(kept, change.get("start", int), change.get("end", int), change.get("insert", str))
    figures, arrays = encoded(known, text, body.get("specials", bool, False))
    ids = arrays[0]
    if edit and kept is not None:
        front, back = changes(kept.ids, ids)
        figures |= {"front": front, "back": back}
        arrays = [array[front : len(ids) - back] for array in arrays]
    if body.get("page", str, "") and len(text) >= LONG:
        page, version = body.get("page", str), body.get("version", int)
        shelf[page] = Kept(version, text.encode("utf-16-le"), ids)
        shelf.move_to_end(page)
        while len(shelf) > SHELF:
            shelf.popitem(last=False)
    return packed(figures, arrays)


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
