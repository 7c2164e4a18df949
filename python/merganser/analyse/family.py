"""Family: the tree of a token, which merges made it.

The last merge joined two tokens, each of which is a byte or was joined by an earlier merge, and so on down.
Costs a look at every merge to find the parents, and then next to nothing.
"""

from dataclasses import dataclass

from merganser.analyse.usage import Usage
from merganser.errors import SettingsError
from merganser.tokenizer import Tokenizer


@dataclass(frozen=True)
class Member:
    """A token of the family: where it lies in the whole, and how deep below it."""

    id: int
    token: bytes
    start: int
    end: int
    depth: int
    #: Which merge made it, counted from 1; None for a byte.
    merge: int | None
    #: How often that merge was seen in training, if that is known.
    seen: int | None


def family(tokenizer: Tokenizer, id: int) -> list[Member]:
    """A token and all that it was made of, from the top down.

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
    """The id of a token worth looking at: the longest word, up to a limit, that the text used."""
    tokenizer = usage.tokenizer
    made = set(tokenizer.merges_as_ids.values())
    best, best_key = None, (0, 0)
    for id, times in zip(usage.ids.tolist(), usage.frequencies.tolist(), strict=True):
        token = tokenizer.token_bytes(id)
        if times and id in made and len(token) <= longest and token.strip().isalpha():
            key = (len(token), times)
            if key > best_key:
                best, best_key = id, key
    if best is None:
        best = max(made, default=0, key=lambda id: len(tokenizer.token_bytes(id)))
    return best


def find(tokenizer: Tokenizer, text: str) -> int:
    """The id of the token of that text."""
    id = tokenizer.mergeable_ranks.get(text.encode())
    if id is None:
        raise SettingsError(
            f"{text!r} is no token of this vocabulary, so it has no family; mind the leading space"
        )
    return id
