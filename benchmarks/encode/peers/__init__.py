"""One file per encoder, all with the same interface, so that the harness knows none of them.

A peer module has:

- `PACKAGE`: the distribution whose version is reported;
- `HOW`: a description of the timed calls, the fastest exact ones that the peer has;
- `load(pattern, threads)`: returns an `Encoder` with cl100k_base and a pattern of `vocabularies.PATTERNS`,
  or raises `Refused` if the peer does not support the pattern;
- `ROUNDS`, optional: a smaller number of rounds for a slow peer.

The number of threads is an argument where the peer has one; for rayon it is already in the environment. No
process gets more cores than threads, no matter how many threads the peer starts.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from types import ModuleType
from typing import Any, TypeAlias

import numpy as np

Ids: TypeAlias = "np.ndarray[Any, np.dtype[np.uint32]]"
Offsets: TypeAlias = "np.ndarray[Any, np.dtype[Any]]"
Flat: TypeAlias = tuple[Ids, Offsets]

NAMES = ("merganser", "tiktoken", "hf_tokenizers", "gigatoken", "fastokens", "quicktok", "splintr")


class Refused(Exception):
    """The peer does not support this pattern and says so."""


@dataclass(frozen=True)
class Encoder:
    """The calls of a peer; None if it has no such call.

    `encode` takes one string and ignores special tokens; `encode_checked` is the call with tiktoken's policy,
    where a special token in the text is an error. `file_to_flat` reads the documents of a file itself.
    Decoders take a list or a uint32 array.
    """

    encode: Callable[[str], list[int]]
    to_lists: Callable[[list[str]], list[list[int]]]
    to_flat: Callable[[list[str]], Flat] | None = None
    file_to_flat: Callable[[Path], Flat] | None = None
    encode_checked: Callable[[str], list[int]] | None = None
    list_to_str: Callable[[list[int]], str] | None = None
    array_to_str: Callable[[Ids], str] | None = None
    list_to_bytes: Callable[[list[int]], bytes] | None = None
    array_to_bytes: Callable[[Ids], bytes] | None = None


def load(name: str, pattern: str, threads: int) -> Encoder:
    """Import the peer and load cl100k_base into it, with at most as many cores as threads."""
    keep_to(threads)
    encoder: Encoder = module(name).load(pattern, threads)
    return encoder


def keep_to(threads: int) -> None:
    """Limit this process to `threads` cores: some peers (fastokens) start more threads than requested."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[-threads:])


def module(name: str) -> ModuleType:
    """Return the peer's module, which imports the peer's own package."""
    return importlib.import_module(f"benchmarks.encode.peers.{name}")


def from_buffers(ids: bytes, offsets: bytes) -> Flat:
    """Return arrays over the bytes that some peers return, without a copy."""
    return np.frombuffer(ids, np.uint32), np.frombuffer(offsets, np.uint64)


def joined(parts: Iterable[Ids]) -> Flat:
    """Concatenate the arrays of all documents."""
    arrays = list(parts)
    offsets = np.zeros(len(arrays) + 1, np.int64)
    np.cumsum([len(array) for array in arrays], out=offsets[1:])
    return np.concatenate(arrays), offsets


def sliced(flat: Flat) -> list[list[int]]:
    """Split a flat array into one list per document."""
    ids, offsets = flat
    return [ids[start:end].tolist() for start, end in pairwise(offsets.tolist())]
