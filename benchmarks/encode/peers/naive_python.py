"""The baseline: split with the `regex` module and repeatedly merge the lowest rank, in Python."""

from __future__ import annotations

import regex

from benchmarks.encode import vocabularies
from benchmarks.encode.peers import Encoder
from benchmarks.peers import merge_by_rank

PACKAGE = "regex"
HOW = "`regex` and a dictionary"


def load(pattern: str, threads: int) -> Encoder:
    """Return an encoder with one thread and no cache: every pre-token that is not a token is merged again."""
    ranks = vocabularies.ranks()
    # In `regex`, `$` also matches before a final newline; `\Z` is tiktoken's `$`.
    split = regex.compile(vocabularies.PATTERNS[pattern].replace("$", r"\Z"))

    def encode(text: str) -> list[int]:
        ids = []
        for found in split.findall(text):
            pretoken = found.encode()
            if pretoken in ranks:
                ids.append(ranks[pretoken])
            else:
                ids += [ranks[token] for token in merge_by_rank(pretoken, ranks, limit=len(ranks))]
        return ids

    return Encoder(encode=encode, to_lists=lambda texts: [encode(text) for text in texts])
