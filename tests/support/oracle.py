"""The oracle: a BPE so simple that it is unlikely to be wrong. Everything else is compared with it.

A pre-token is a list of tokens, and a token is bytes. Nothing is indexed, cached or updated in place: each
merge recounts all pairs. It takes minutes where merganser takes milliseconds.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise

Pair = tuple[bytes, bytes]


def split_documents(texts: Iterable[str], cuts: Sequence[str]) -> list[str]:
    """Split texts at special tokens and separators; where several match, the longest wins."""
    if not cuts:
        return list(texts)
    pattern = "|".join(re.escape(cut) for cut in sorted(cuts, key=len, reverse=True))
    return [part for text in texts for part in re.split(pattern, text)]


def count_pairs(pretokens: Sequence[tuple[list[bytes], int]]) -> Counter[Pair]:
    """Count all pairs, including overlapping ones: `aaa` contains the pair (a, a) twice."""
    pairs: Counter[Pair] = Counter()
    for tokens, count in pretokens:
        for pair in pairwise(tokens):
            pairs[pair] += count
    return pairs


def merge_pair(tokens: list[bytes], pair: Pair) -> list[bytes]:
    """Merge a pair from left to right: `aaa` becomes `aa`, `a`."""
    merged: list[bytes] = []
    at = 0
    while at < len(tokens):
        if tuple(tokens[at : at + 2]) == pair:
            merged.append(pair[0] + pair[1])
            at += 2
        else:
            merged.append(tokens[at])
            at += 1
    return merged


def huggingface_index(byte: int) -> int:
    """Return the index of a byte in Hugging Face's alphabet: printable bytes come first."""
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    rest = [other for other in range(256) if other not in printable]
    return (printable + rest).index(byte)


def _characters(left: bytes, right: bytes) -> int:
    return sum(byte & 0xC0 != 0x80 for byte in left + right)


def train(
    counts: Mapping[bytes, int],
    merges: int,
    *,
    tie_break: str = "ids",
    min_frequency: int = 1,
    max_token_bytes: int | None = None,
    special_tokens: Iterable[str] = (),
    base: Mapping[bytes, int] | None = None,
) -> list[Pair]:
    """Return the merged pairs in order. `base` contains the ids of the initial tokens."""
    ranks = dict(base or {bytes([byte]): byte for byte in range(256)})
    specials = {token.encode() for token in special_tokens}
    pretokens = [(encode_pretoken(pretoken, ranks), count) for pretoken, count in counts.items()]
    next_id = max(ranks.values()) + 1
    made: list[Pair] = []

    def place(token: bytes) -> tuple[int, int]:
        if tie_break == "huggingface" and len(token) == 1:
            return 0, huggingface_index(token[0])
        return 1, ranks[token]

    while len(made) < merges:
        candidates = {
            pair: count
            for pair, count in count_pairs(pretokens).items()
            if count >= min_frequency
            and (max_token_bytes is None or len(pair[0] + pair[1]) <= max_token_bytes)
            and pair[0] + pair[1] not in specials
        }
        if not candidates:
            break
        most = max(candidates.values())
        tied = [pair for pair, count in candidates.items() if count == most]
        if tie_break == "bytes":
            best = max(tied)
        elif tie_break == "sentencepiece":
            best = min(tied, key=lambda pair: (_characters(*pair), pair[0] + pair[1]))
        else:
            best = min(tied, key=lambda pair: (place(pair[0]), place(pair[1])))
        pretokens = [(merge_pair(tokens, best), count) for tokens, count in pretokens]
        ranks[best[0] + best[1]] = next_id + len(made)
        made.append(best)
    return made


def train_first(pretokens: Sequence[bytes], merges: int) -> list[Pair]:
    """Return the merged pairs by minbpe's rule: of equally frequent pairs, the first in the text.

    Pre-tokens are in the order of the text, repeated as often as they occur. A `Counter` keeps the order of
    insertion, and `max` returns the first of several.
    """
    tokenized = [[bytes([byte]) for byte in pretoken] for pretoken in pretokens]
    made: list[Pair] = []
    while len(made) < merges and (pairs := count_pairs([(tokens, 1) for tokens in tokenized])):
        best = max(pairs, key=pairs.__getitem__)
        tokenized = [merge_pair(tokens, best) for tokens in tokenized]
        made.append(best)
    return made


def encode_pretoken(pretoken: bytes, ranks: Mapping[bytes, int]) -> list[bytes]:
    """Merge the leftmost adjacent tokens with the lowest rank until no pair is a token."""
    if pretoken in ranks:
        return [pretoken]
    tokens = [bytes([byte]) for byte in pretoken]
    while True:
        joined = [left + right for left, right in pairwise(tokens)]
        known = [(ranks[token], at) for at, token in enumerate(joined) if token in ranks]
        if not known:
            return tokens
        _, at = min(known)
        tokens[at : at + 2] = [joined[at]]


def encode_with_merges(pretoken: bytes, merges: Mapping[Pair, int]) -> list[bytes]:
    """Encode as minbpe does: merge all occurrences of the pair that was learned first, and repeat."""
    tokens = [bytes([byte]) for byte in pretoken]
    while known := [pair for pair in pairwise(tokens) if pair in merges]:
        tokens = merge_pair(tokens, min(known, key=merges.__getitem__))
    return tokens
