"""How tiktoken's own engine cuts a text."""

from itertools import pairwise

import tiktoken


def tiktoken_pieces(text: str, pattern: str, ours: list[str]) -> list[str]:
    """The pieces of `text`, if they are `ours`; something else if they are not.

    tiktoken shows ids, not cuts, so the vocabulary is made to show them: the 256 bytes, our pieces, and every
    two neighbours of ours joined. If its cuts are ours, each piece is one token: the tokens are our pieces.
    If they are not, the tokens differ: a cut inside one of our pieces breaks it, and a piece that spans
    several of ours could end as just those tokens only if no two of them merged, but any neighbours do.
    """
    known = {piece.encode() for piece in ours}
    known |= {(left + right).encode() for left, right in pairwise(ours)}
    ranks = {bytes([byte]): byte for byte in range(256)}
    ranks |= {
        token: 256 + nth for nth, token in enumerate(sorted(token for token in known if len(token) > 1))
    }
    encoding = tiktoken.Encoding("cuts", pat_str=pattern, mergeable_ranks=ranks, special_tokens={})
    tokens = encoding.decode_tokens_bytes(encoding.encode_ordinary(text))
    # A part of a character can only come of a wrong cut; it is shown, and equals no piece.
    return [token.decode("utf-8", "backslashreplace") for token in tokens]


def with_rest(pattern: str) -> str:
    """A custom pattern for an engine that drops what it does not match."""
    return f"(?:{pattern})|(?s:.)"
