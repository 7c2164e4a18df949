"""Playground: a text becomes ids, as it is typed. Packed numbers go out; the page draws what can be seen.

A megabyte takes about 10 ms: encoding is the smaller half of it, finding the characters the other.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray
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
        "different": len(np.unique(ids)),
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


async def encode(request: Request) -> Response:
    body = await Body.of(request)
    known = desk(request).find(body.get("tokenizer", str))
    figures, arrays = await desk(request).work.run(
        encoded, known, body.text(), body.get("specials", bool, False)
    )
    return packed(figures, arrays)


async def presets(request: Request) -> Response:
    """Texts to try, among them those that tokenizers find hard."""
    languages = {name: "\n".join(lines) for name, lines in examples.PARALLEL.items()}
    groups = {"Samples": examples.DOMAINS, "Hard": examples.HARD, "Languages": languages}
    return JSONResponse({name: dict(texts) for name, texts in groups.items()})


routes = [Route("/encode", encode, methods=["POST"]), Route("/presets", presets)]
