"""Desk: what all views share: the tokenizers, the folders, and the limits of what is done at once.

A tokenizer costs its arrays once: the bytes of every id and the order of the merges, some milliseconds for
100,000 tokens.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request

from merganser.embed import Embeddings
from merganser.studio.jobs import Jobs
from merganser.studio.security import Folders
from merganser.tokenizer import Tokenizer

T = TypeVar("T")

#: Work at once, and work that may wait for its turn.
AT_ONCE, WAITING = 4, 64


class Known:
    """A tokenizer, with what the views look up again and again."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self.tokenizer = tokenizer

    @property
    def ranks(self) -> dict[bytes, int]:
        return self.tokenizer.mergeable_ranks

    @cached_property
    def specials(self) -> dict[int, str]:
        return {id: token for token, id in self.tokenizer.special_tokens.items()}

    @cached_property
    def tokens(self) -> dict[int, bytes]:
        """The bytes of every token by its id, lowest first."""
        return {id: token for token, id in self.tokenizer.vocab.items()}

    @cached_property
    def lengths(self) -> NDArray[np.uint32]:
        """The length in bytes of every id; 0 where there is none."""
        lengths = np.zeros(self.tokenizer.next_id, np.uint32)
        lengths[list(self.tokens)] = [len(token) for token in self.tokens.values()]
        return lengths

    @cached_property
    def merges(self) -> dict[int, tuple[int, int]]:
        """The two tokens that a token is made of, where a merge makes it."""
        return {made: pair for pair, made in self.tokenizer.merges_as_ids.items()}

    @cached_property
    def rank(self) -> dict[int, int]:
        """Which merge makes a token, from 1 on; single bytes and special tokens have none."""
        made = sorted(id for token, id in self.ranks.items() if len(token) > 1)
        return {id: nth for nth, id in enumerate(made, 1)}

    def facts(self, id: int) -> dict[str, Any]:
        """What is known of one token."""
        return {
            "id": id,
            "bytes": self.tokens[id].hex(),
            "kind": "special" if id in self.specials else "byte" if len(self.tokens[id]) == 1 else "merge",
            "rank": self.rank.get(id),
            "count": self.tokenizer.merge_counts.get(id),
            "pair": self.merges.get(id),
        }


class Work:
    """Runs functions in threads, some at once; a few more wait, and what is too much is refused."""

    def __init__(self, at_once: int = AT_ONCE, waiting: int = WAITING) -> None:
        self._turn = asyncio.Semaphore(at_once)
        self._room = at_once + waiting

    async def run(self, function: Callable[..., T], *arguments: Any) -> T:
        if self._room == 0:
            raise HTTPException(503, "too much at once; try again", headers={"Retry-After": "1"})
        self._room -= 1
        try:
            async with self._turn:
                return await run_in_threadpool(function, *arguments)
        finally:
            self._room += 1


class Desk:
    """One for each studio; `desk(request)` finds it."""

    def __init__(self, tokenizers: Mapping[str, Tokenizer], folders: Folders) -> None:
        self.known: dict[str, Known] = {}
        self.folders = folders
        self.work = Work()
        self.jobs = Jobs()
        #: Long texts that are being edited; see playground.py.
        self.shelf: OrderedDict[str, Any] = OrderedDict()
        #: Set by whoever loads embeddings: the name of a tokenizer and an id, to (id, similarity) pairs.
        self.neighbours: Callable[[str, int], list[tuple[int, float]]] | None = None
        #: Embeddings by name, and what the view of that name makes of them, by the names of their tokenizers.
        self.embeddings: Mapping[str, Embeddings] = {}
        self.maps: dict[str, Any] = {}
        for name, tokenizer in tokenizers.items():
            self.add(name, tokenizer)

    def add(self, name: str, tokenizer: Tokenizer) -> str:
        """Makes a tokenizer known under this name, or this name and a number if there is one already."""
        free = name
        nth = 2
        while free in self.known:
            free, nth = f"{name} ({nth})", nth + 1
        self.known[free] = Known(tokenizer)
        return free

    def find(self, name: str) -> Known:
        try:
            return self.known[name]
        except KeyError:
            raise HTTPException(404, f"there is no tokenizer {name!r} here") from None


def desk(request: Request) -> Desk:
    found: Desk = request.app.state.desk
    return found
