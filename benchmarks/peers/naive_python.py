"""The baseline: textbook BPE in pure Python, as minbpe teaches it.

Every occurrence of every pre-token is a list of ids; each step recounts all pairs, takes the most frequent
(ties: smallest ids) and rewrites all lists. The cost is corpus × merges, so it runs on a slice and its time
is scaled. tiktoken's educational trainer works the same way but breaks ties by first occurrence in the text,
a rule that depends on the order of documents and that no fast trainer follows.
"""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from pathlib import Path

import regex

from benchmarks.patterns import GPT2
from benchmarks.peers import Trained, documents

PACKAGE = "regex"
TIES = {"ids": ""}
SLICE = (200_000, 64)


def train(path: Path, vocab_size: int, tie: str, threads: int) -> Trained:
    """Count all pairs, merge the best one, and repeat."""
    split = regex.compile(GPT2)
    pretokens = [list(p.encode()) for text in documents(path) for p in split.findall(text)]
    tokens = [bytes([byte]) for byte in range(256)]
    merges = []
    while len(tokens) < vocab_size:
        pairs = Counter(pair for ids in pretokens for pair in pairwise(ids))
        if not pairs:
            break
        best = min(pairs, key=lambda pair: (-pairs[pair], pair))
        merges.append((tokens[best[0]], tokens[best[1]]))
        pretokens = [merged(ids, best, len(tokens)) for ids in pretokens]
        tokens.append(tokens[best[0]] + tokens[best[1]])
    return Trained(lambda: merges)


def merged(ids: list[int], pair: tuple[int, int], new: int) -> list[int]:
    """Replace the pair from left to right: [1, 2, 3, 1, 2] with (1, 2) → 4 gives [4, 3, 4]."""
    out = []
    i = 0
    while i < len(ids):
        if i + 1 < len(ids) and (ids[i], ids[i + 1]) == pair:
            out.append(new)
            i += 2
        else:
            out.append(ids[i])
            i += 1
    return out
