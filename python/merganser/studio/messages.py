"""Messages: JSON in; JSON, or numbers as they lie in memory, out.

A megabyte of text has a quarter of a million tokens: as JSON they would take longer than their encoding.
"""

import json
from collections.abc import Sequence
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

T = TypeVar("T")


class Body:
    """What was posted: an object, whose fields are asked for by name and kind."""

    def __init__(self, fields: dict[str, Any]) -> None:
        self.fields = fields

    @classmethod
    async def of(cls, request: Request) -> "Body":
        try:
            fields = json.loads(await request.body())
        except (ValueError, RecursionError) as error:
            raise HTTPException(400, f"this is not JSON: {error}") from None
        if not isinstance(fields, dict):
            raise HTTPException(400, "an object is expected")
        return cls(fields)

    def get(self, name: str, kind: type[T], default: T | None = None) -> T:
        value = self.fields.get(name, default)
        if type(value) is not kind:
            raise HTTPException(400, f"{name!r} must be of type {kind.__name__}")
        return value

    def text(self, name: str = "text", default: str | None = None) -> str:
        """A text that can be encoded: half a character is an error here, not in the core or in an answer."""
        text = self.get(name, str, default)
        try:
            text.encode()
        except UnicodeEncodeError as error:
            raise HTTPException(
                400, f"{name!r} has half a character (a lone surrogate) at {error.start}"
            ) from None
        return text


def packed(header: dict[str, Any], arrays: Sequence[NDArray[np.uint32]]) -> Response:
    """A header as JSON, its length before it, then the arrays one after the other; `unpack` in api.js."""
    start = json.dumps(header | {"lengths": [len(array) for array in arrays]}).encode()
    start += b" " * (-len(start) % 4)  # arrays begin where a number may lie
    parts = [len(start).to_bytes(4, "little"), start, *(array.astype("<u4").tobytes() for array in arrays)]
    return Response(b"".join(parts), media_type="application/octet-stream")
