"""State: what the views share: tokenizers, folders, the thread pools and the job queue.

Lookup tables of a tokenizer (the bytes of every id, the merge order) are built once, in a few milliseconds
for 100,000 tokens.
"""

from collections import OrderedDict
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from starlette.exceptions import HTTPException
from starlette.requests import Request

from merganser.counts import Counts
from merganser.embed import Embeddings
from merganser.errors import MerganserError
from merganser.studio.jobs import Jobs
from merganser.studio.nearby import Nearby
from merganser.studio.pool import SLOW_TIME_LIMIT, BoundedPool
from merganser.studio.security import Folders
from merganser.tokenizer import Tokenizer


class TokenizerEntry:
    """A tokenizer with the lookup tables that the views need."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self.tokenizer = tokenizer

    @property
    def is_linear(self) -> bool:
        """Whether splitting takes linear time; a custom pattern may take quadratic time."""
        return self.tokenizer.pattern_name is not None

    @property
    def ranks(self) -> dict[bytes, int]:
        return self.tokenizer.mergeable_ranks

    @cached_property
    def specials(self) -> dict[int, str]:
        return {id: token for token, id in self.tokenizer.special_tokens.items()}

    @cached_property
    def tokens(self) -> dict[int, bytes]:
        """Token bytes by id, in ascending order of id."""
        tokens = {id: token for token, id in self.tokenizer.vocab.items()}
        if not self.has_stages or len(tokens) == self.tokenizer.vocab_size:
            return tokens
        for id in range(self.tokenizer.next_id):  # ids with the bytes of another
            with suppress(MerganserError):
                tokens[id] = self.tokenizer.token_bytes(id)
        return dict(sorted(tokens.items()))

    @cached_property
    def lengths(self) -> NDArray[np.uint32]:
        """Token length in bytes by id; 0 for ids that are not used."""
        lengths = np.zeros(self.tokenizer.next_id, np.uint32)
        lengths[list(self.tokens)] = [len(token) for token in self.tokens.values()]
        return lengths

    @cached_property
    def merges(self) -> dict[int, tuple[int, int]]:
        """The pair of ids that each merge joins, by the id of the result."""
        return {id: pair for pair, id in self.tokenizer.merges_as_ids.items()}

    @cached_property
    def rank(self) -> dict[int, int]:
        """The 1-based number of the merge that creates each id; single bytes and special tokens have none."""
        merged = sorted(id for token, id in self.ranks.items() if len(token) > 1)
        return {id: nth for nth, id in enumerate(merged, 1)}

    @cached_property
    def has_stages(self) -> bool:
        """Whether it has stages of another library, which may change a text before it is merged."""
        return self.tokenizer.definition is not None

    @cached_property
    def uses(self) -> dict[int, list[int]]:
        """The merges that use each id, in the order in which they were learned."""
        uses: dict[int, list[int]] = {}
        for id in sorted(self.merges, key=lambda id: self.rank.get(id, id)):
            for part in dict.fromkeys(self.merges[id]):
                uses.setdefault(part, []).append(id)
        return uses

    def facts(self, id: int) -> dict[str, Any]:
        """Describe one token."""
        return {
            "id": id,
            "bytes": self.tokens[id].hex(),
            "kind": "special" if id in self.specials else "byte" if len(self.tokens[id]) == 1 else "merge",
            "rank": self.rank.get(id),
            "count": self.tokenizer.merge_counts.get(id),
            "pair": self.merges.get(id),
        }


class TrainingRecord(NamedTuple):
    """What a tokenizer was trained on in the page: the counts, and the first characters of the corpus."""

    counts: Counts
    beginning: str


#: How many trainings are kept, and the most unique pre-tokens of each: about 100 MB.
MOST_RECORDS, MOST_PRETOKENS = 8, 500_000


class StudioState:
    """The state of one studio; `state_of(request)` returns it."""

    def __init__(
        self, tokenizers: Mapping[str, Tokenizer], folders: Folders, start: Path | None = None
    ) -> None:
        self.entries: dict[str, TokenizerEntry] = {}
        self.folders = folders
        self.nearby = Nearby([*folders.roots, *([start] if start else [])])
        self.quick, self.custom = BoundedPool(4), BoundedPool(2)
        self.slow = BoundedPool(2, seconds=SLOW_TIME_LIMIT)
        self.jobs = Jobs()
        #: Whether a tokenizer is being uploaded; see tokenizers.py.
        self.is_uploading = False
        #: Long texts that are being edited, by page; see playground.py.
        self.recent_texts: OrderedDict[str, Any] = OrderedDict()
        #: The last trainings of the page, by tokenizer name; see theatre.py.
        self.trainings: OrderedDict[str, TrainingRecord] = OrderedDict()
        #: Returns (id, similarity) pairs for a tokenizer name and an id; None without embeddings.
        self.neighbors: Callable[[str, int], list[tuple[int, float]] | None] | None = None
        #: Embeddings by name, and the maps that embeddings.py builds from them, by tokenizer name.
        self.embeddings: Mapping[str, Embeddings] = {}
        self.maps: dict[str, Any] = {}
        for name, tokenizer in tokenizers.items():
            self.add(name, tokenizer)

    def add(self, name: str, tokenizer: Tokenizer) -> str:
        """Add a tokenizer and return its name, with a number appended if the name is taken."""
        unique = name
        nth = 2
        while unique in self.entries:
            unique, nth = f"{name} ({nth})", nth + 1
        self.entries[unique] = TokenizerEntry(tokenizer)
        return unique

    def remember(self, name: str, training: TrainingRecord) -> None:
        """Keep a training, unless it is large, and drop the oldest."""
        if len(training.counts) <= MOST_PRETOKENS:
            self.trainings[name] = training
            while len(self.trainings) > MOST_RECORDS:
                self.trainings.popitem(last=False)

    def pool_of(self, *entries: TokenizerEntry) -> BoundedPool:
        """Return the pool in which these tokenizers encode a text."""
        return self.quick if all(entry.is_linear for entry in entries) else self.custom

    def close(self, seconds: float = 1.0) -> bool:
        """End all jobs and calls; return False if some of them still run."""
        self.jobs.close()
        pools = (self.quick, self.custom, self.slow)
        return all(pool.close(seconds / len(pools)) for pool in pools) and not self.jobs.is_busy

    def find(self, name: str) -> TokenizerEntry:
        try:
            return self.entries[name]
        except KeyError:
            raise HTTPException(
                404, f"unknown tokenizer {name!r}; reload the page and choose another"
            ) from None


def state_of(request: Request) -> StudioState:
    state: StudioState = request.app.state.studio
    return state
