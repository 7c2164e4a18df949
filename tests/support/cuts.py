"""The pre-tokens of tiktoken's regex engine."""

from itertools import pairwise

import tiktoken


def tiktoken_pretokens(text: str, pattern: str, ours: list[str]) -> list[str]:
    """Return `ours` if tiktoken splits `text` into these pre-tokens, and something else otherwise.

    tiktoken returns ids, not pre-tokens, so this vocabulary makes the splits visible: the 256 bytes, our
    pre-tokens, and every two adjacent pre-tokens joined. If both splits are equal, each pre-token is one
    token, and the tokens are our pre-tokens. If they differ, so do the tokens: a split inside one of our
    pre-tokens breaks it, and a pre-token that spans several of them would yield exactly those tokens only if
    no two of them merged, but every adjacent pair does.
    """
    known = {pretoken.encode() for pretoken in ours}
    known |= {(left + right).encode() for left, right in pairwise(ours)}
    ranks = {bytes([byte]): byte for byte in range(256)}
    ranks |= {
        token: 256 + nth for nth, token in enumerate(sorted(token for token in known if len(token) > 1))
    }
    encoding = tiktoken.Encoding("cuts", pat_str=pattern, mergeable_ranks=ranks, special_tokens={})
    tokens = encoding.decode_tokens_bytes(encoding.encode_ordinary(text))
    # Only a wrong split yields part of a character; escaped, it equals no pre-token.
    return [token.decode("utf-8", "backslashreplace") for token in tokens]


def with_rest(pattern: str) -> str:
    """Extend a custom pattern to match all text, for an engine that drops unmatched text."""
    return f"(?:{pattern})|(?s:.)"
