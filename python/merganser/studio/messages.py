"""Messages: JSON requests; JSON or binary responses.

A megabyte of text has about 250,000 tokens: writing them as JSON would take longer than encoding the text.
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
    """The JSON object in a request body, with type-checked access to its fields."""

    def __init__(self, fields: dict[str, Any]) -> None:
        self.fields = fields

    @classmethod
    async def of(cls, request: Request) -> "Body":
        try:
            fields = json.loads(await request.body())
        except (ValueError, RecursionError) as error:
            raise HTTPException(400, f"the request body is not valid JSON: {error}") from None
        if not isinstance(fields, dict):
            raise HTTPException(400, "the request body must be a JSON object")
        return cls(fields)

    def get(self, name: str, kind: type[T], default: T | None = None) -> T:
        value = self.fields.get(name, default)
        if type(value) is not kind:
            raise HTTPException(400, f"{name!r} must be of type {kind.__name__}")
        return value

    def text(self, name: str = "text", default: str | None = None) -> str:
        """Return a string that can be encoded as UTF-8; reject lone surrogates here, not in the core."""
        text = self.get(name, str, default)
        try:
            text.encode()
        except UnicodeEncodeError as error:
            raise HTTPException(
                400, f"{name!r} has a lone surrogate at index {error.start}; remove it"
            ) from None
        return text

    def texts(self, name: str) -> list[str]:
        """Return a list of strings that can be encoded as UTF-8; an empty list by default."""
        values = self.get(name, list, [])
        for value in values:
            if not isinstance(value, str):
                raise HTTPException(400, f"{name!r} must be a list of strings")
            try:
                value.encode()
            except UnicodeEncodeError:
                shown = value.encode("utf-8", "replace").decode()
                raise HTTPException(
                    400, f"{shown!r} in {name!r} has half a character (a lone surrogate); type it again"
                ) from None
        return values


def packed(header: dict[str, Any], arrays: Sequence[NDArray[np.uint32]]) -> Response:
    """Pack a JSON header, preceded by its length, and arrays of uint32; `unpack` in api.js reads it."""
    start = json.dumps(header | {"lengths": [len(array) for array in arrays]}).encode()
    start += b" " * (-len(start) % 4)  # a Uint32Array must start at a multiple of four bytes
    parts = [len(start).to_bytes(4, "little"), start, *(array.astype("<u4").tobytes() for array in arrays)]
    return Response(b"".join(parts), media_type="application/octet-stream")
