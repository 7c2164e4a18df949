"""One file per trainer, all with the same interface, so that the harness knows none of them.

A peer module has:

- `PACKAGE`: the distribution whose version is reported;
- `TIES`: merganser's name of a tie rule → the peer's setting for it. Merges must be equal under
  each rule; the first one is timed;
- `train(path, vocab_size, tie, threads)`: file → vocabulary, returning a `Trained`;
- `SLICE`, optional: (bytes, merges), the most that a slow peer can do in reasonable time; its
  figure is scaled.

`vocab_size` is 256 bytes + merges. A document is the text between two separators in the file, including
newlines. Peers that take an iterable get the result of `documents` below; the others get the separator.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from types import ModuleType

from benchmarks.patterns import SEPARATOR

Merge = tuple[bytes, bytes]

NAMES = ("merganser", "gigatoken", "ffbpe", "rustbpe", "hf_tokenizers", "naive_python")


@dataclass(frozen=True)
class Trained:
    """The result of a training; `merges` is called after the clock has stopped and memory is measured."""

    merges: Callable[[], list[Merge]]
    stages: dict[str, float] = field(default_factory=dict)


def load(name: str) -> ModuleType:
    """Import the peer's module, which imports the peer's own package."""
    if name not in NAMES:
        raise SystemExit(f"unknown peer {name!r}: choose from {', '.join(NAMES)}")
    return importlib.import_module(f"benchmarks.peers.{name}")


def documents(path: Path, block: int = 1 << 22) -> Iterator[str]:
    """Yield the decoded documents of a file, with at most a block and a document in memory.

    A file "a<|endoftext|>\\nb" has the documents "a" and "\\nb"; empty documents are skipped.
    """
    separator = SEPARATOR.encode()
    rest = b""
    with path.open("rb") as file:
        while data := file.read(block):
            *whole, rest = (rest + data).split(separator)
            yield from (text.decode() for text in whole if text)
    if rest:
        yield rest.decode()


def merges_from_tokens(tokens: list[bytes]) -> list[Merge]:
    """Derive the merges of a vocabulary that lists only its tokens, starting with the 256 bytes.

    Merging a token's bytes by the ranks below its own rank ends with the two tokens it consists of.
    """
    ranks = {token: rank for rank, token in enumerate(tokens)}
    return [_last_two(token, ranks) for token in tokens[256:]]


def _last_two(token: bytes, ranks: dict[bytes, int]) -> Merge:
    parts = merge_by_rank(token, ranks, limit=ranks[token])
    if len(parts) != 2:
        raise ValueError(f"no two tokens make {token!r}: {parts}")
    return parts[0], parts[1]


def merge_by_rank(pretoken: bytes, ranks: dict[bytes, int], limit: int) -> list[bytes]:
    """Encode by the definition of BPE: merge the pair of lowest rank while that is below the limit."""
    parts = [pretoken[i : i + 1] for i in range(len(pretoken))]
    while len(parts) > 1:
        joined = [ranks.get(a + b, limit) for a, b in pairwise(parts)]
        best = min(range(len(joined)), key=joined.__getitem__)
        if joined[best] >= limit:
            break
        parts[best : best + 2] = [parts[best] + parts[best + 1]]
    return parts
