"""Explain where and why two tokenizers differ on a text.

A text is split into pre-tokens, and merges turn a pre-token into tokens. If the pre-tokens differ, the split
is the reason. Otherwise the merges of the pre-token are replayed on both sides, and the first that differs is
the reason; if all merges agree, a token has another id.

This runs once, for the one document that differs. `merges_of` is the plain algorithm with a heap, O(n log n)
for a pre-token of n bytes.
"""

import heapq
from bisect import bisect_left, bisect_right
from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import accumulate, pairwise, zip_longest
from typing import Literal

from merganser.tokenizer import Tokenizer
from merganser.verification.peers import Peer

#: The two tokens that are merged; or a single token that is kept whole although no merge produces it.
Merge = tuple[bytes, ...]
Reason = Literal["split", "merges", "ids", "special", "unknown"]


@dataclass(frozen=True)
class Segmentation:
    """How one tokenizer encodes the differing part of a text.

    Attributes
    ----------
    pretokens, tokens, ids
        The pre-tokens, tokens and ids of that part.
    merge
        The first merge that the other tokenizer does not apply; None if this one merges nothing more.
    """

    pretokens: tuple[str, ...]
    tokens: tuple[bytes, ...]
    ids: tuple[int, ...]
    merge: Merge | None = None


@dataclass(frozen=True)
class Difference:
    """The first difference between two tokenizers.

    Attributes
    ----------
    document
        The index of the document.
    offset
        The byte offset of the pre-token in the document.
    reason
        "split": the text is split into different pre-tokens. "merges": a pre-token is merged differently.
        "ids": the tokens are the same, but one has another id; `merge` is the merge that produces it.
        "special": the text is a special token to one of them. "unknown": the ids differ, and one of the
        tokenizers cannot be inspected for the reason.
    pretoken
        The pre-token; if the split differs, the text up to the next boundary that both share.
    a, b
        How each tokenizer encodes the pre-token.
    step
        If merges differ, the number of merges of the pre-token that both apply first.
    """

    document: int
    offset: int
    reason: Reason
    pretoken: str
    a: Segmentation
    b: Segmentation
    step: int | None = None


class _Side:
    """A text encoded by one tokenizer: its tokens with their ends, and the boundaries of its pre-tokens."""

    def __init__(self, peer: Peer, data: bytes, ids: list[int]) -> None:
        self.peer = peer
        self.ids = ids
        self.tokens = [peer.token_bytes(id) for id in ids]
        self.ends = [0, *accumulate(map(len, self.tokens))]
        self.specials = set(peer.specials.values())
        #: In order; None if the tokens do not spell the text or the pre-tokens are unknown.
        self.boundaries = self._boundaries(data) if b"".join(self.tokens) == data else None

    def _boundaries(self, data: bytes) -> list[int] | None:
        boundaries = [0]
        special = [n for n, id in enumerate(self.ids) if id in self.specials]
        for n in [*special, len(self.ids)]:
            pretokens = self.peer.pretokens(data[boundaries[-1] : self.ends[n]].decode())
            if pretokens is None:
                return None
            for pretoken in pretokens:
                boundaries.append(boundaries[-1] + len(pretoken.encode()))
            boundaries.extend(self.ends[n + 1 : n + 2])  # the special token itself
        return boundaries

    def within(self, data: bytes, start: int, end: int) -> Segmentation:
        boundaries = [boundary for boundary in self.boundaries or [start, end] if start <= boundary <= end]
        pretokens = [data[left:right].decode("utf-8", "replace") for left, right in pairwise(boundaries)]
        tokens = slice(bisect_left(self.ends, start), bisect_left(self.ends, end))
        return Segmentation(tuple(pretokens), tuple(self.tokens[tokens]), tuple(self.ids[tokens]))

    def has_special(self, segmentation: Segmentation) -> bool:
        return not self.specials.isdisjoint(segmentation.ids)


def explain(
    text: str, document: int, sides: tuple[Peer, Peer], ids: tuple[list[int], list[int]]
) -> Difference:
    """Explain why one text has two different lists of ids."""
    data = text.encode()
    a, b = (_Side(peer, data, side_ids) for peer, side_ids in zip(sides, ids, strict=True))
    tokens = zip(zip(a.ids, a.tokens, strict=True), zip(b.ids, b.tokens, strict=True), strict=False)
    shorter = min(len(a.ids), len(b.ids))
    nth = next((n for n, (token_a, token_b) in enumerate(tokens) if token_a != token_b), shorter)
    at = min(a.ends[nth], len(data))  # the same for both, because all tokens before it agree
    if a.boundaries is None or b.boundaries is None:
        end = max(a.ends[min(nth + 1, len(a.ids))], b.ends[min(nth + 1, len(b.ids))])
        of_a, of_b = a.within(data, at, end), b.within(data, at, end)
        pretoken = data[at:end].decode("utf-8", "replace")
        return Difference(document, at, "unknown", pretoken, of_a, of_b)
    common = sorted({*a.boundaries} & {*b.boundaries})
    start, end = (common[bisect_right(common, at) + n] for n in (-1, 0))
    of_a, of_b = a.within(data, start, end), b.within(data, start, end)
    where = (document, start)
    pretoken = data[start:end].decode()
    if a.has_special(of_a) != b.has_special(of_b):
        return Difference(*where, "special", pretoken, of_a, of_b)
    if of_a.pretokens != of_b.pretokens:
        return Difference(*where, "split", pretoken, of_a, of_b)
    if of_a.tokens == of_b.tokens:
        token = a.tokens[nth]
        of_a = replace(of_a, merge=_producing_merge(token, a.peer.model))
        of_b = replace(of_b, merge=_producing_merge(token, b.peer.model))
        return Difference(*where, "ids", pretoken, of_a, of_b)
    merges_a, merges_b = _replayed_merges(pretoken, a, of_a), _replayed_merges(pretoken, b, of_b)
    if merges_a is None or merges_b is None:
        return Difference(*where, "merges", pretoken, of_a, of_b)
    step = next(n for n, (one, other) in enumerate(zip_longest(merges_a, merges_b)) if one != other)
    of_a = replace(of_a, merge=merges_a[step][1] if step < len(merges_a) else None)
    of_b = replace(of_b, merge=merges_b[step][1] if step < len(merges_b) else None)
    return Difference(*where, "merges", pretoken, of_a, of_b, step)


def _replayed_merges(pretoken: str, side: _Side, actual: Segmentation) -> list[tuple[int, Merge]] | None:
    """Return the merges of a pre-token; None if they do not produce the tokens that the side really has."""
    if side.peer.model is None:
        return None
    merges, tokens = merges_of(pretoken.encode(), side.peer.model)
    return merges if tokens == list(actual.tokens) else None


def _producing_merge(token: bytes, tokenizer: Tokenizer | None) -> Merge | None:
    """Return the merge that produces a token; None for a single byte or an unknown tokenizer."""
    if tokenizer is None or len(token) == 1:
        return None
    return next((pair for pair in tokenizer.merges if pair[0] + pair[1] == token), (token,))


def merges_of(pretoken: bytes, tokenizer: Tokenizer) -> tuple[list[tuple[int, Merge]], list[bytes]]:
    """Return the merges applied to a pre-token, each with its byte offset, and the resulting tokens.

    >>> import merganser
    >>> merges_of(b" lows", merganser.train(["low lower lowest"] * 9, 260))
    ([(1, (b'l', b'o')), (1, (b'lo', b'w')), (0, (b' ', b'low'))], [b' low', b's'])
    """
    return merges_from_ranks(pretoken, tokenizer.mergeable_ranks)


def merges_from_ranks(
    pretoken: bytes, ranks: Mapping[bytes, int]
) -> tuple[list[tuple[int, Merge]], list[bytes]]:
    """Return the same as `merges_of`, without building the ranks of a tokenizer for every pre-token."""
    # Tokens are identified by their start: `end` maps it to their end, `before` to the previous start.
    end = {at: at + 1 for at in range(len(pretoken))}
    before = {at: at - 1 for at in range(len(pretoken) + 1)}
    queue: list[tuple[int, int, int]] = []

    def push(at: int) -> None:
        """Queue the pair that starts here if it forms a token."""
        if at >= 0 and (middle := end[at]) < len(pretoken):
            rank = ranks.get(pretoken[at : end[middle]])
            if rank is not None:
                heapq.heappush(queue, (rank, at, end[middle]))

    for at in range(len(pretoken) - 1):
        push(at)
    merges: list[tuple[int, Merge]] = []
    while queue:
        _, at, stop = heapq.heappop(queue)
        middle = end.get(at)
        if middle is None or end.get(middle) != stop:
            continue  # one of the two was merged with another token
        merges.append((at, (pretoken[at:middle], pretoken[middle:stop])))
        end[at] = stop
        del end[middle]
        before[stop] = at
        push(at)
        push(before[at])
    tokens = [pretoken[at:stop] for at, stop in end.items()]
    if len(tokens) > 1 and pretoken in ranks:
        return [(0, (pretoken,))], [pretoken]
    return merges, tokens
