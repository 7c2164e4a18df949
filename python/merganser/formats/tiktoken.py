"""tiktoken: its files of ranks, and its `tiktoken.Encoding`, from which ours is made and which ours becomes.

A file has one line per token, its bytes in base64 and its rank, in any order; gaps are allowed:

    IQ== 0
    Ig== 1

It says neither the pattern nor the special tokens.
"""

import binascii
import re
from typing import TYPE_CHECKING

from merganser import _core
from merganser.errors import PatternError, TokenizerError
from merganser.formats import BadFile, native
from merganser.tokenizer import Tokenizer

if TYPE_CHECKING:
    import tiktoken

_LINE = re.compile(rb"[A-Za-z0-9+/]+={0,2} (?:0|[1-9][0-9]{0,9})")
#: Many lines at once take a fourth of the time of one after the other, and all at once too much memory.
_LINES = re.compile(rb"(?:" + _LINE.pattern + rb"\r?\n|\r?\n)*")
_MANY = 1 << 16


def recognised(data: bytes) -> bool:
    """Whether this is meant to be a file of ranks: it begins with one."""
    return _LINE.match(data) is not None


def parse(data: bytes) -> dict[bytes, int]:
    """The ranks of a file. Which ranks make a tokenizer is for `Tokenizer` to say."""
    data = data.removesuffix(b"\n") + b"\n"
    start = 0
    while start < len(data):
        end = data.rfind(b"\n", start, start + _MANY) + 1 or data.index(b"\n", start) + 1
        if not _LINES.fullmatch(data, start, end):
            raise _not_a_rank(data, start)
        start = end
    words = data.split()
    tokens, numbers = words[::2], words[1::2]
    if len(tokens) > native.MAX_TOKENS:
        raise BadFile(f"is damaged: it has more than {native.MAX_TOKENS} tokens")
    if max(map(len, tokens)) > native.MAX_TOKEN_BYTES * 4 // 3:
        raise BadFile("is damaged: it has a token that is too long")
    if any(len(token) % 4 for token in tokens):
        raise BadFile("is damaged: it has a token that is not base64; get a fresh copy")
    ranks = dict(zip(map(binascii.a2b_base64, tokens), map(int, numbers), strict=True))
    if len(ranks) < len(tokens):
        raise BadFile("is damaged: it has a token twice; get a fresh copy")
    return ranks


def contents(tokenizer: Tokenizer) -> bytes:
    """The file of ranks, in the order of ids."""
    ranks = tokenizer.mergeable_ranks.items()
    return b"".join(b"%s %d\n" % (binascii.b2a_base64(token, newline=False), id) for token, id in ranks)


def _not_a_rank(data: bytes, start: int) -> BadFile:
    """Names the first wrong line; there is one from `start` on."""
    before = data.count(b"\n", 0, start)
    for number, line in enumerate(data[start:].split(b"\n"), before + 1):
        if not re.fullmatch(rb"(?:" + _LINE.pattern + rb")?\r?", line):
            return BadFile(f"is damaged: line {number} is not a token in base64 and a rank; get a fresh copy")
    return BadFile("is damaged; get a fresh copy")


def from_encoding(encoding: "tiktoken.Encoding") -> Tokenizer:
    """The same tokenizer as a `tiktoken.Encoding`: its ranks, its special tokens, its pattern.

    One thing differs: tiktoken drops text that the pattern does not match, and to us each character of it is
    a piece. The patterns of the known encodings match all text.
    """
    try:
        pattern = encoding._pat_str
        ranks = encoding._mergeable_ranks
        special_tokens = encoding._special_tokens
    except AttributeError:
        kind = type(encoding).__name__
        raise TokenizerError(
            f"load takes a path or a tiktoken.Encoding or tokenizers.Tokenizer, not {kind}"
        ) from None
    return Tokenizer(ranks, pattern=_without_rest(pattern), special_tokens=special_tokens)


def to_encoding(tokenizer: Tokenizer, name: str) -> "tiktoken.Encoding":
    try:
        import tiktoken
    except ImportError as error:
        raise ImportError("to_tiktoken needs tiktoken: pip install 'merganser[tiktoken]'") from error

    pattern = tokenizer.pattern
    if tokenizer.pattern_name is None:
        # tiktoken drops what its pattern does not match; to us each character of it is a piece.
        pattern = f"{_OPEN}{pattern}{_REST}"
    return tiktoken.Encoding(
        name,
        pat_str=pattern,
        mergeable_ranks=tokenizer.mergeable_ranks,
        special_tokens=tokenizer.special_tokens,
    )


_OPEN, _REST = "(?:", ")|(?s:.)"


def _without_rest(pattern: str) -> str:
    """A pattern as it was before `to_encoding` added the rest of all text."""
    if pattern.startswith(_OPEN) and pattern.endswith(_REST):
        inner = pattern[len(_OPEN) : -len(_REST)]
        try:
            _core.split("", inner)
        except PatternError:
            return pattern
        return inner
    return pattern
