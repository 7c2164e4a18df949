"""Batches of token files, to train a language model on.

The ids of all shards, one after the other, are divided into windows:

    window i: inputs ids[i · length : (i + 1) · length], targets the same, shifted by one

Each epoch visits every window once, in an order that a seed chooses, and the next epoch follows without a
gap, so all batches are full. Of every `world_size · batch_size` windows, each rank has `batch_size`. How many
windows were visited by all ranks together is the whole state, so a run may also resume with another number of
ranks or another batch size.

Cost: the ids are mapped into memory, and copied once. The order is computed (`shuffling.py`), not stored, so
the memory does not depend on the size of the corpus; at most 256 shards are open at a time.
"""

import hashlib
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import accumulate
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol, TypeAlias

from merganser.engines.arguments import as_int
from merganser.errors import SettingsError, TokensError
from merganser.extras import imported
from merganser.tokens.shuffling import Shuffle

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Ids: TypeAlias = NDArray[np.integer[Any]]

VERSION = 1
_KEY = "merganser_batches"
#: Every open file counts against the limit of the operating system.
_MAX_OPEN = 256

#: What to record about the documents of a batch.
Documents: TypeAlias = Literal["positions", "cu_seqlens"]
Framework: TypeAlias = Literal["numpy", "torch"]


class _Shard(Protocol):
    """One file of ids: `merganser.tokens.shards.Shard`."""

    @property
    def tokens(self) -> int: ...
    @property
    def dtype(self) -> str: ...
    @property
    def crc32(self) -> str | None: ...
    @property
    def documents(self) -> int | None: ...
    def ids(self) -> "Ids": ...
    def bounds(self, check: bool = ...) -> "Ids": ...


class Batch(NamedTuple):
    """One batch of one rank, as numpy arrays or torch tensors.

    Attributes
    ----------
    inputs : array of int64, (batch_size, length)
        The ids.
    targets : array of int64, (batch_size, length)
        The id after each input.
    positions : array of int64, (batch_size, length), or None
        With `documents="positions"`: how far each input is from the beginning of its document or, if that is
        later, of its row.
    cu_seqlens : array of int32, or None
        With `documents="cu_seqlens"`: where the documents begin in the flattened inputs, and their end, as
        attention over variable lengths takes it. A row begins a document in any case.
    """

    inputs: Any
    targets: Any
    positions: Any = None
    cu_seqlens: Any = None


class Batches(Iterator[Batch]):
    """An iterator over batches of token files, which `Tokens.batches` returns.

    Attributes
    ----------
    windows : int
        The number of windows, and thereby of rows, in one epoch.
    remainder : int
        The number of ids at the end of the corpus that are the input of no window: fewer than `length`, and
        the last, which has no target.

    Examples
    --------
    >>> import merganser, tempfile
    >>> tokenizer = merganser.train(["low lower lowest"] * 9, 260)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     tokens = tokenizer.encode_corpus(["lowest low", "slow slower"], out=folder)
    ...     batches = tokens.batches(length=4, batch_size=1, seed=None)
    ...     batch = next(batches)
    ...     batch.inputs.tolist(), batch.targets.tolist(), batches.windows, batches.remainder
    ([[257, 101, 115, 116]], [[101, 115, 116, 258]], 2, 4)
    """

    windows: int
    remainder: int

    def __init__(
        self,
        shards: Sequence[_Shard],
        *,
        length: int,
        batch_size: int,
        rank: int,
        world_size: int,
        seed: int | None,
        epochs: int | None,
        drop_last: bool,
        documents: Documents | None,
        ignore_index: int | None,
        framework: Framework,
        resume: Mapping[str, object] | None,
    ) -> None:
        self._length = _at_least_1(length, "length")
        self._batch_size = _at_least_1(batch_size, "batch_size")
        self._world_size = _at_least_1(world_size, "world_size")
        self._rank = as_int(rank, "rank")
        if not 0 <= self._rank < self._world_size:
            raise SettingsError(
                f"rank must be from 0 to {self._world_size - 1}, because world_size is {self._world_size}, "
                f"got {self._rank}"
            )
        self._seed = None if seed is None else as_int(seed, "seed")
        self._epochs = None if epochs is None else _at_least_1(epochs, "epochs")
        self._drop_last = drop_last
        if documents not in (None, "positions", "cu_seqlens"):
            raise SettingsError(f"documents must be 'positions', 'cu_seqlens' or None, got {documents!r}")
        self._documents = documents
        self._ignore_index = None if ignore_index is None else as_int(ignore_index, "ignore_index")
        if framework not in ("numpy", "torch"):
            raise SettingsError(f"framework must be 'numpy' or 'torch', got {framework!r}")
        self._as_tensor = _as_tensor if framework == "torch" else _as_array
        if framework == "torch":
            imported("torch", "torch", "framework='torch'")
        self._shards = shards
        #: The offset of each shard in the whole, and the end of the last.
        self._starts = [0, *accumulate(shard.tokens for shard in shards)]
        total = self._starts[-1]
        self.windows = max(total - 1, 0) // self._length
        self.remainder = total - self.windows * self._length
        if not self.windows:
            raise TokensError(
                f"the corpus has {total:,} ids, but a window of length {self._length:,} and its targets need "
                f"{self._length + 1:,}; pass a smaller length"
            )
        self._ids = lru_cache(_MAX_OPEN)(lambda nth: self._shards[nth].ids())
        self._bounds = lru_cache(_MAX_OPEN)(lambda nth: self._shards[nth].bounds(check=False))
        if self._apart and any(shard.documents is None for shard in shards):
            shards[0].bounds()  # raises
        self._order = lru_cache(2)(lambda epoch: Shuffle(self.windows, self._seed or 0, epoch))
        #: How many windows all ranks together have visited.
        self._visited = 0 if resume is None else self._resumed(resume)

    @property
    def step(self) -> int:
        """The number of batches that each rank has had, if neither world_size nor batch_size has changed."""
        return -(-self._visited // (self._world_size * self._batch_size))

    @property
    def epoch(self) -> int:
        """The epoch that the next batch begins in, counted from 0."""
        return self._visited // self.windows

    def state(self) -> dict[str, object]:
        """Return what `resume` needs to continue after the last batch: a small dict that JSON can hold.

        It is the same for all ranks, if they have had the same number of batches.

        Examples
        --------
        >>> import merganser, tempfile
        >>> tokenizer = merganser.train(["low lower lowest"] * 9, 260)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     tokens = tokenizer.encode_corpus(["lowest low", "slow slower"], out=folder)
        ...     batches = tokens.batches(length=2, batch_size=1)
        ...     _ = next(batches)
        ...     resumed = tokens.batches(length=2, batch_size=1, resume=batches.state())
        ...     (next(batches).inputs == next(resumed).inputs).all().item()
        True
        """
        return {_KEY: VERSION, "windows": self._visited, **self._identity()}

    def __len__(self) -> int:
        """Return how many batches are left; raises a `TypeError` if there is no end."""
        if self._epochs is None:
            raise TypeError("these batches have no end; pass epochs=")
        left = self._epochs * self.windows - self._visited
        each = self._world_size * self._batch_size
        full, rest = divmod(max(left, 0), each)
        return full + int(not self._drop_last and rest > self._rank * -(-rest // self._world_size))

    def __iter__(self) -> "Batches":
        return self

    def __next__(self) -> Batch:
        first, rows, each = self._visited, self._batch_size, self._world_size * self._batch_size
        if self._epochs is not None and (left := self._epochs * self.windows - first) < each:
            if self._drop_last or left <= 0:
                raise StopIteration
            # The last windows are shared as evenly as possible; the last ranks may have none.
            each, rows = left, -(-left // self._world_size)
        mine = range(first + min(self._rank * rows, each), first + min((self._rank + 1) * rows, each))
        self._visited += each
        if not mine:
            raise StopIteration
        return self._batch(self._chosen(mine))

    @property
    def _apart(self) -> bool:
        return self._documents is not None or self._ignore_index is not None

    def _chosen(self, visits: range) -> "NDArray[np.int64]":
        """Return the windows of these visits, counted from the beginning of the first epoch."""
        import numpy as np

        numbers = np.arange(visits.start, visits.stop, dtype=np.int64)
        epochs, places = np.divmod(numbers, self.windows)
        if self._seed is None:
            return places
        for epoch in range(int(epochs[0]), int(epochs[-1]) + 1):
            now = epochs == epoch
            places[now] = self._order(epoch)(places[now])
        return places

    def _batch(self, windows: "NDArray[np.int64]") -> Batch:
        import numpy as np

        length = self._length
        rows = np.empty((len(windows), length + 1), np.int64)
        begins = np.zeros((len(windows), length + 1), np.bool_) if self._apart else None
        for row, window in enumerate(windows.tolist()):
            start = window * length
            self._fill(rows[row], start)
            if begins is not None:
                self._mark(begins[row], start)
        inputs, targets = np.ascontiguousarray(rows[:, :-1]), np.ascontiguousarray(rows[:, 1:])
        positions = cu_seqlens = None
        if begins is not None:
            if self._ignore_index is not None:
                targets[begins[:, 1:]] = self._ignore_index
            first = begins[:, :-1]
            first[:, 0] = True
            if self._documents == "positions":
                offsets = np.arange(length)
                positions = offsets - np.maximum.accumulate(np.where(first, offsets, 0), axis=1)
            elif self._documents == "cu_seqlens":
                cu_seqlens = np.append(np.flatnonzero(first), first.size).astype(np.int32)
        make = self._as_tensor
        return Batch(make(inputs), make(targets), make(positions), make(cu_seqlens))

    def _fill(self, row: "NDArray[np.int64]", start: int) -> None:
        """Copy the ids from `start` on to a row, from as many shards as it takes."""
        done = 0
        for nth, part in self._parts(start, len(row)):
            row[done : done + part.stop - part.start] = self._ids(nth)[part]
            done += part.stop - part.start

    def _mark(self, row: "NDArray[np.bool_]", start: int) -> None:
        """Set those of a row that begin a document."""
        import numpy as np

        done = 0
        for nth, part in self._parts(start, len(row)):
            bounds = self._bounds(nth)
            low, high = np.searchsorted(bounds, [part.start, part.stop], side="left").tolist()
            begins = np.asarray(bounds[low:high])
            if ((begins < part.start) | (begins >= part.stop)).any():
                raise TokensError(f"the documents of shard {nth} are not in order; encode the corpus again")
            row[begins - part.start + done] = True
            done += part.stop - part.start

    def _parts(self, start: int, count: int) -> Iterator[tuple[int, slice]]:
        """Yield the shards that hold `count` ids from `start` on, and which of their ids these are."""
        nth = bisect_right(self._starts, start) - 1
        while count:
            begin = start - self._starts[nth]
            part = slice(begin, min(begin + count, self._shards[nth].tokens))
            if taken := part.stop - part.start:
                yield nth, part
            start, count, nth = start + taken, count - taken, nth + 1

    def _identity(self) -> dict[str, object]:
        """Return what must be the same for a state to be resumed."""
        sums = hashlib.sha256()
        for shard in self._shards:
            sums.update(f"{shard.tokens} {shard.dtype} {shard.crc32};".encode())
        return {
            "length": self._length,
            "seed": self._seed,
            "tokens": self._starts[-1],
            "files": sums.hexdigest()[:16],
        }

    def _resumed(self, state: Mapping[str, object]) -> int:
        if not isinstance(state, Mapping) or _KEY not in state:
            raise SettingsError("resume must be what state() of earlier batches returned")
        if state[_KEY] != VERSION:
            raise SettingsError(
                f"this state has version {state[_KEY]!r:.40}, but this merganser reads version {VERSION}; "
                "upgrade merganser"
            )
        for name, value in self._identity().items():
            if state.get(name) != value:
                raise SettingsError(
                    f"this state is of other batches: its {name} is {state.get(name)!r:.40}, here it is "
                    f"{value!r}; resume with the same token files, length and seed"
                )
        visited = state.get("windows")
        if type(visited) is not int or visited < 0:
            raise SettingsError(f"this state is corrupt: it has {visited!r:.40} windows; start again")
        return visited


def _at_least_1(value: object, name: str) -> int:
    number = as_int(value, name)
    if number < 1:
        raise SettingsError(f"{name} must be at least 1, got {number}")
    return number


def _as_array(array: "NDArray[Any] | None") -> Any:
    return array


def _as_tensor(array: "NDArray[Any] | None") -> Any:
    return None if array is None else imported("torch", "torch", "framework='torch'").from_numpy(array)
