"""How tiktoken's own engine cuts a text."""

from itertools import pairwise

import tiktoken


def tiktoken_pretokens(text: str, pattern: str, ours: list[str]) -> list[str]:
    """The pre-tokens of `text`, if they are `ours`; something else if they are not.

    tiktoken shows ids, not cuts, so the vocabulary is made to show them: the 256 bytes, our pre-tokens, and
    every two neighbors of ours joined. If its cuts are ours, each pre-token is one token: the tokens are our
    pre-tokens. If they are not, the tokens differ: a cut inside one of our pre-tokens breaks it, and a
    pre-token that spans several of ours could end as just those tokens only if no two of them merged, but any
    neighbors do.
    """
    known = {pretoken.encode() for pretoken in ours}
    known |= {(left + right).encode() for left, right in pairwise(ours)}
    ranks = {bytes([byte]): byte for byte in range(256)}
    ranks |= {
        token: 256 + nth for nth, token in enumerate(sorted(token for token in known if len(token) > 1))
    }
    encoding = tiktoken.Encoding("cuts", pat_str=pattern, mergeable_ranks=ranks, special_tokens={})
    tokens = encoding.decode_tokens_bytes(encoding.encode_ordinary(text))
    # A part of a character can only come of a wrong cut; it is shown, and equals no pre-token.
    return [token.decode("utf-8", "backslashreplace") for token in tokens]


def with_rest(pattern: str) -> str:
    """A custom pattern for an engine that drops what it does not match."""
    return f"(?:{pattern})|(?s:.)"
