"""tiktoken, the reference: its ids are correct by definition, except where it panics.

It has no flat batch. Instead, a thread pool encodes each document to an array (the GIL is released), and the
arrays are joined.
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
    """Build an `Encoding` from the ranks; a single thread uses a plain loop instead of the pool."""
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
