"""Parting: where two tokenizers part on a text, and the merge at which they do.

A text becomes pre-tokens, and a pre-token becomes tokens by merges. If the pre-tokens differ, that is the
reason. Otherwise the merges of the pre-token are gone through in order on both sides, and the first that is
not the same is the reason; or all are the same and a token merely has another id.

It is done once, for the one document that differs: `merges_of` is the plain algorithm with a heap,
O(n log n) for a pre-token of n bytes.
"""

import heapq
from bisect import bisect_left, bisect_right
from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import accumulate, pairwise, zip_longest
from typing import Literal

from merganser.tokenizer import Tokenizer
from merganser.verification.peers import Peer

#: A merge: the two tokens that become one; or one token that was taken whole, because no merge makes it.
Merge = tuple[bytes, ...]
Reason = Literal["split", "merges", "ids", "special", "unknown"]


@dataclass(frozen=True)
class Segmentation:
    """What one side makes of the stretch of text where they part."""

    pretokens: tuple[str, ...]
    tokens: tuple[bytes, ...]
    ids: tuple[int, ...]
    #: The merge that it does where the other one does something else; None where it has no more to do.
    merge: Merge | None = None


@dataclass(frozen=True)
class Difference:
    """Where two tokenizers part.

    reason: "split": they cut the text into other pre-tokens. "merges": the same pre-token, other merges.
        "ids": the same tokens, but one of them has another id; `merge` is the one that makes it.
        "special": a special token to one of them. "unknown": the ids differ, but how one of them
        comes to its ids cannot be told.
    """

    #: Which document, from 0 on, and the byte in it at which the pre-token begins.
    document: int
    offset: int
    reason: Reason
    #: The pre-token. Where the split differs: the text up to where both have a cut again.
    pretoken: str
    a: Segmentation
    b: Segmentation
    #: Where merges differ: how many merges of the pre-token are the same on both sides.
    step: int | None = None


class _Side:
    """A text as one side has it: its tokens with their ends, and the cuts between pre-tokens."""

    def __init__(self, peer: Peer, data: bytes, ids: list[int]) -> None:
        self.peer = peer
        self.ids = ids
        self.tokens = [peer.token_bytes(id) for id in ids]
        self.ends = [0, *accumulate(map(len, self.tokens))]
        self.specials = set(peer.specials.values())
        #: In order; None where the tokens are not the text, or the pre-tokens cannot be told.
        self.cuts = self._cuts(data) if b"".join(self.tokens) == data else None

    def _cuts(self, data: bytes) -> list[int] | None:
        cuts = [0]
        special = [n for n, id in enumerate(self.ids) if id in self.specials]
        for n in [*special, len(self.ids)]:
            pretokens = self.peer.pretokens(data[cuts[-1] : self.ends[n]].decode())
            if pretokens is None:
                return None
            for pretoken in pretokens:
                cuts.append(cuts[-1] + len(pretoken.encode()))
            cuts.extend(self.ends[n + 1 : n + 2])  # the special token itself
        return cuts

    def within(self, data: bytes, start: int, end: int) -> Segmentation:
        cuts = [cut for cut in self.cuts or [start, end] if start <= cut <= end]
        pretokens = [data[left:right].decode("utf-8", "replace") for left, right in pairwise(cuts)]
        tokens = slice(bisect_left(self.ends, start), bisect_left(self.ends, end))
        return Segmentation(tuple(pretokens), tuple(self.tokens[tokens]), tuple(self.ids[tokens]))

    def has_special(self, segmentation: Segmentation) -> bool:
        return not self.specials.isdisjoint(segmentation.ids)


def part(text: str, document: int, sides: tuple[Peer, Peer], ids: tuple[list[int], list[int]]) -> Difference:
    """Explains two different lists of ids for one text."""
    data = text.encode()
    a, b = (_Side(peer, data, made) for peer, made in zip(sides, ids, strict=True))
    tokens = zip(zip(a.ids, a.tokens, strict=True), zip(b.ids, b.tokens, strict=True), strict=False)
    shorter = min(len(a.ids), len(b.ids))
    nth = next((n for n, (of_a, of_b) in enumerate(tokens) if of_a != of_b), shorter)
    at = min(a.ends[nth], len(data))  # all before is the same, so it begins there for both
    if a.cuts is None or b.cuts is None:
        end = max(a.ends[min(nth + 1, len(a.ids))], b.ends[min(nth + 1, len(b.ids))])
        made_by_a, made_by_b = a.within(data, at, end), b.within(data, at, end)
        pretoken = data[at:end].decode("utf-8", "replace")
        return Difference(document, at, "unknown", pretoken, made_by_a, made_by_b)
    common = sorted({*a.cuts} & {*b.cuts})
    start, end = (common[bisect_right(common, at) + n] for n in (-1, 0))
    made_by_a, made_by_b = a.within(data, start, end), b.within(data, start, end)
    where = (document, start)
    pretoken = data[start:end].decode()
    if a.has_special(made_by_a) != b.has_special(made_by_b):
        return Difference(*where, "special", pretoken, made_by_a, made_by_b)
    if made_by_a.pretokens != made_by_b.pretokens:
        return Difference(*where, "split", pretoken, made_by_a, made_by_b)
    if made_by_a.tokens == made_by_b.tokens:
        token = a.tokens[nth]
        made_by_a = replace(made_by_a, merge=_making(token, a.peer.model))
        made_by_b = replace(made_by_b, merge=_making(token, b.peer.model))
        return Difference(*where, "ids", pretoken, made_by_a, made_by_b)
    merges_a, merges_b = _told(pretoken, a, made_by_a), _told(pretoken, b, made_by_b)
    if merges_a is None or merges_b is None:
        return Difference(*where, "merges", pretoken, made_by_a, made_by_b)
    step = next(n for n, (of_a, of_b) in enumerate(zip_longest(merges_a, merges_b)) if of_a != of_b)
    made_by_a = replace(made_by_a, merge=merges_a[step][1] if step < len(merges_a) else None)
    made_by_b = replace(made_by_b, merge=merges_b[step][1] if step < len(merges_b) else None)
    return Difference(*where, "merges", pretoken, made_by_a, made_by_b, step)


def _told(pretoken: str, side: _Side, made: Segmentation) -> list[tuple[int, Merge]] | None:
    """The merges of a pre-token, if they lead to what the side has really made."""
    if side.peer.model is None:
        return None
    merges, tokens = merges_of(pretoken.encode(), side.peer.model)
    return merges if tokens == list(made.tokens) else None


def _making(token: bytes, tokenizer: Tokenizer | None) -> Merge | None:
    """The merge that makes a token; None for a single byte, and where it is not known."""
    if tokenizer is None or len(token) == 1:
        return None
    return next((pair for pair in tokenizer.merges if pair[0] + pair[1] == token), (token,))


def merges_of(pretoken: bytes, tokenizer: Tokenizer) -> tuple[list[tuple[int, Merge]], list[bytes]]:
    """The merges that a pre-token goes through, each with the byte where it begins, and the tokens it
    becomes.

    >>> import merganser
    >>> merges_of(b" lows", merganser.train(["low lower lowest"] * 9, 260))
    ([(1, (b'l', b'o')), (1, (b'lo', b'w')), (0, (b' ', b'low'))], [b' low', b's'])
    """
    return merges_by(pretoken, tokenizer.mergeable_ranks)


def merges_by(pretoken: bytes, ranks: Mapping[bytes, int]) -> tuple[list[tuple[int, Merge]], list[bytes]]:
    """The same by ranks that are at hand: to make them of a tokenizer takes longer than a pre-token does."""
    # A token is known by its first byte: where it ends, and where the one before it begins.
    end = {at: at + 1 for at in range(len(pretoken))}
    before = {at: at - 1 for at in range(len(pretoken) + 1)}
    waiting: list[tuple[int, int, int]] = []

    def look(at: int) -> None:
        """Puts the pair that begins here in the queue, if it is a token."""
        if at >= 0 and (middle := end[at]) < len(pretoken):
            rank = ranks.get(pretoken[at : end[middle]])
            if rank is not None:
                heapq.heappush(waiting, (rank, at, end[middle]))

    for at in range(len(pretoken) - 1):
        look(at)
    merges: list[tuple[int, Merge]] = []
    while waiting:
        _, at, stop = heapq.heappop(waiting)
        middle = end.get(at)
        if middle is None or end.get(middle) != stop:
            continue  # one of the two has become part of something else
        merges.append((at, (pretoken[at:middle], pretoken[middle:stop])))
        end[at] = stop
        del end[middle]
        before[stop] = at
        look(at)
        look(before[at])
    tokens = [pretoken[at:stop] for at, stop in end.items()]
    if len(tokens) > 1 and pretoken in ranks:
        return [(0, (pretoken,))], [pretoken]
    return merges, tokens
