"""The merge tree of a token.

The last merge joined two tokens, each of which is a byte or the result of an earlier merge, and so on. The
cost is one pass over the merges to find the parents, and little beyond that.
"""

from dataclasses import dataclass

from merganser.analyse.usage import Usage
from merganser.errors import SettingsError
from merganser.tokenizer import Tokenizer


@dataclass(frozen=True)
class Member:
    """A token in the merge tree of another: its byte offsets there and its depth.

    Attributes
    ----------
    merge
        The number of the merge that produces it, starting at 1; None for a byte.
    seen
        How often that merge occurred in training, if known.
    """

    id: int
    token: bytes
    start: int
    end: int
    depth: int
    merge: int | None
    seen: int | None


def family(tokenizer: Tokenizer, id: int) -> list[Member]:
    """Return a token and all tokens it was merged from, in depth-first order.

    Examples
    --------
    >>> import merganser
    >>> tokenizer = merganser.train(["low lower lowest"] * 9, 260)
    >>> for member in family(tokenizer, tokenizer.encode("low")[0]):
    ...     print("  " * member.depth, member.token.decode(), member.merge)
     low 2
       lo 1
         l None
         o None
       w None
    """
    parents = {child: pair for pair, child in tokenizer.merges_as_ids.items()}
    merges = {child: nth for nth, child in enumerate(sorted(parents), 1)}
    members: list[Member] = []

    def descend(id: int, start: int, depth: int) -> None:
        token = tokenizer.token_bytes(id)
        seen = tokenizer.merge_counts.get(id)
        members.append(Member(id, token, start, start + len(token), depth, merges.get(id), seen))
        if id in parents:
            left, right = parents[id]
            descend(left, start, depth + 1)
            descend(right, start + len(tokenizer.token_bytes(left)), depth + 1)

    descend(id, 0, 0)
    return members


def notable(usage: Usage, longest: int = 16) -> int:
    """Return the id of an interesting token: the longest word in the text of at most `longest` bytes."""
    tokenizer = usage.tokenizer
    merged = set(tokenizer.merges_as_ids.values())
    best, best_key = None, (0, 0)
    for id, times in zip(usage.ids.tolist(), usage.frequencies.tolist(), strict=True):
        token = tokenizer.token_bytes(id)
        if times and id in merged and len(token) <= longest and token.strip().isalpha():
            key = (len(token), times)
            if key > best_key:
                best, best_key = id, key
    if best is None:
        best = max(merged, default=0, key=lambda id: len(tokenizer.token_bytes(id)))
    return best


def find(tokenizer: Tokenizer, text: str) -> int:
    """Return the id of the token with this text."""
    id = tokenizer.mergeable_ranks.get(text.encode())
    if id is None:
        raise SettingsError(
            f"{text!r} is not a token of this vocabulary; words mostly need a space, as in {' ' + text!r}"
        )
    return id
