"""tiktoken, the reference: what it makes is right, except where it panics.

It has no flat batch; an array for each document, made in a pool of threads (the GIL is released), then
joined, stands in for one.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import tiktoken

from benchmarks.encode import vocabularies
from benchmarks.encode.peers import Encoder, Flat, Ids, joined

PACKAGE = "tiktoken"
ROUNDS = 2
HOW = (
    "`encode_ordinary_batch(num_threads=…)`; flat: `encode_to_numpy` in a thread pool, joined; "
    "`encode_ordinary`, `encode`, `decode`, `decode_bytes`, from arrays by `tolist`"
)


def load(pattern: str, threads: int) -> Encoder:
    """An `Encoding` from the ranks; one thread takes a plain loop and no pool."""
    encoding = tiktoken.Encoding(
        vocabularies.NAME,
        pat_str=vocabularies.PATTERNS[pattern],
        mergeable_ranks=vocabularies.ranks(),
        special_tokens=vocabularies.special_tokens(),
    )

    def to_lists(texts: list[str]) -> list[list[int]]:
        if threads == 1:
            return [encoding.encode_ordinary(text) for text in texts]
        return encoding.encode_ordinary_batch(texts, num_threads=threads)

    def to_flat(texts: list[str]) -> Flat:
        def array(text: str) -> Ids:
            return encoding.encode_to_numpy(text, disallowed_special=())

        if threads == 1:
            return joined(map(array, texts))
        with ThreadPoolExecutor(threads) as pool:
            return joined(pool.map(array, texts))

    return Encoder(
        encode=encoding.encode_ordinary,
        encode_checked=encoding.encode,
        to_lists=to_lists,
        to_flat=to_flat,
        list_to_str=encoding.decode,
        array_to_str=lambda ids: encoding.decode(ids.tolist()),
        list_to_bytes=encoding.decode_bytes,
        array_to_bytes=lambda ids: encoding.decode_bytes(ids.tolist()),
    )
