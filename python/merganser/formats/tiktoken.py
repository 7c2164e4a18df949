"""tiktoken: its files of ranks, its plug-ins, and its `tiktoken.Encoding`, from which ours is made and which
ours becomes.

A file of ranks has one line per token, its bytes in base64 and its rank, in any order; gaps are allowed:

    IQ== 0
    Ig== 1

It says neither the pattern nor the special tokens. A plug-in does: a folder `tiktoken_ext`, for `PYTHONPATH`
or to be copied to where packages are, in which `tiktoken.get_encoding("NAME")` finds `NAME.py`. That is the
same few lines of code for all; the data are in `NAME.json` and `NAME.tiktoken`, and we read only these.
"""

import binascii
import hashlib
import json
import re
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from merganser import _core
from merganser.errors import PatternError, SettingsError, TokenizerError
from merganser.formats import BadFile, native
from merganser.formats.coverage import covers
from merganser.tokenizer import Tokenizer

if TYPE_CHECKING:
    import tiktoken

#: Where tiktoken looks for plug-ins, in all of Python's path.
FOLDER = "tiktoken_ext"
#: What marks the JSON file of a plug-in as such.
MARK = "tiktoken_plugin"

_LINE = re.compile(rb"[A-Za-z0-9+/]+={0,2} (?:0|[1-9][0-9]{0,9})")
#: Many lines at once take a fourth of the time of one after the other, and all at once too much memory.
_LINES = re.compile(rb"(?:" + _LINE.pattern + rb"\r?\n|\r?\n)*")
_MANY = 1 << 16

_PLUGIN = '''\
"""A tokenizer for tiktoken.get_encoding, written by merganser."""

import base64
import hashlib
import json
from pathlib import Path


def encoding():
    here = Path(__file__)
    facts = json.loads(here.with_suffix(".json").read_text("utf-8"))
    data = here.with_suffix(".tiktoken").read_bytes()
    if hashlib.sha256(data).hexdigest() != facts["sha256"]:
        raise ValueError(f"{{here.with_suffix('.tiktoken')}} is damaged: its checksum does not match")
    lines = (line.split() for line in data.splitlines())
    return {{
        "name": {name!a},
        "pat_str": facts["pattern"],
        "mergeable_ranks": {{base64.b64decode(token): int(rank) for token, rank in lines}},
        "special_tokens": facts["special_tokens"],
    }}


ENCODING_CONSTRUCTORS = {{{name!a}: encoding}}
'''


# ── files ─────────────────────────────────────────────────────────────────────


def contents(tokenizer: Tokenizer, name: str) -> dict[str, bytes]:
    """The file of ranks alone if the name is one's, otherwise the plug-in of that name."""
    ranks = _ranks(tokenizer)
    if name.endswith(".tiktoken"):
        return {name: ranks}
    module = re.sub(r"[^A-Za-z0-9_]", "_", name)
    if not module.strip("_") or module == "openai_public":
        raise SettingsError(
            f"a plug-in cannot be called {name!r}; name the folder as tiktoken shall call the tokenizer"
        )
    facts = {
        MARK: 1,
        "pattern": _pattern(tokenizer),
        "special_tokens": tokenizer.special_tokens,
        "sha256": hashlib.sha256(ranks).hexdigest(),
    }
    return {
        f"{FOLDER}/{module}.tiktoken": ranks,
        f"{FOLDER}/{module}.json": json.dumps(facts, ensure_ascii=False, indent=2).encode() + b"\n",
        f"{FOLDER}/{module}.py": _PLUGIN.format(name=name).encode(),
    }


def same(files: dict[str, bytes], tokenizer: Tokenizer) -> bool:
    by_suffix = {PurePath(name).suffix: data for name, data in files.items()}
    ranks = by_suffix[".tiktoken"]
    if ".json" not in by_suffix:
        return parse(ranks) == tokenizer.mergeable_ranks
    return parse_plugin(json.loads(by_suffix[".json"]), ranks) == tokenizer


def _ranks(tokenizer: Tokenizer) -> bytes:
    """The file of ranks, in the order of ids."""
    ranks = tokenizer.mergeable_ranks.items()
    return b"".join(b"%s %d\n" % (binascii.b2a_base64(token, newline=False), id) for token, id in ranks)


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
    if max(map(len, tokens), default=0) > native.MAX_TOKEN_BYTES * 4 // 3:
        raise BadFile("is damaged: it has a token that is too long")
    if any(len(token) % 4 for token in tokens):
        raise BadFile("is damaged: it has a token that is not base64; get a fresh copy")
    ranks = dict(zip(map(binascii.a2b_base64, tokens), map(int, numbers), strict=True))
    if len(ranks) < len(tokens):
        raise BadFile("is damaged: it has a token twice; get a fresh copy")
    return ranks


def _not_a_rank(data: bytes, start: int) -> BadFile:
    """Names the first wrong line; there is one from `start` on."""
    before = data.count(b"\n", 0, start)
    for number, line in enumerate(data[start:].split(b"\n"), before + 1):
        if not re.fullmatch(rb"(?:" + _LINE.pattern + rb")?\r?", line):
            return BadFile(f"is damaged: line {number} is not a token in base64 and a rank; get a fresh copy")
    return BadFile("is damaged; get a fresh copy")


def parse_plugin(facts: dict[str, Any], ranks: bytes) -> Tokenizer:
    """The tokenizer of a plug-in, from what its JSON file says and from its file of ranks."""
    pattern, specials = facts.get("pattern"), facts.get("special_tokens")
    if facts.get(MARK) != 1 or not isinstance(pattern, str) or not isinstance(specials, dict):
        raise BadFile("is damaged: it does not say the pattern and the special tokens; get a fresh copy")
    if hashlib.sha256(ranks).hexdigest() != facts.get("sha256"):
        raise BadFile("is not that of the file of ranks beside it: the checksum differs; get a fresh copy")
    return Tokenizer(parse(ranks), pattern=without_rest(pattern), special_tokens=specials)


# ── the live object ───────────────────────────────────────────────────────────


def from_encoding(encoding: "tiktoken.Encoding") -> Tokenizer:
    """The same tokenizer as a `tiktoken.Encoding`: its ranks, its special tokens, its pattern.

    tiktoken drops text that the pattern does not match, and to us each character of it is a pre-token. The
    patterns of the known encodings match all text; another one that may not is refused.
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
    tokenizer = Tokenizer(ranks, pattern=without_rest(pattern), special_tokens=special_tokens)
    if drops_text(tokenizer, pattern):
        raise TokenizerError(
            "this Encoding cannot be represented: it may drop text that its pattern does not match; make it "
            f"with pat_str={with_rest(pattern[:200])!r}, which takes the rest"
        )
    return tokenizer


def to_encoding(tokenizer: Tokenizer, name: str) -> "tiktoken.Encoding":
    try:
        import tiktoken
    except ImportError as error:
        raise ImportError("to_tiktoken needs tiktoken: pip install 'merganser[tiktoken]'") from error

    return tiktoken.Encoding(
        name,
        pat_str=_pattern(tokenizer),
        mergeable_ranks=tokenizer.mergeable_ranks,
        special_tokens=tokenizer.special_tokens,
    )


_OPEN, _REST = "(?:", ")|(?s:.)"


def _pattern(tokenizer: Tokenizer) -> str:
    """The pattern. tiktoken drops text that it does not match; here each such character is a pre-token."""
    return with_rest(tokenizer.pattern) if tokenizer.pattern_name is None else tokenizer.pattern


def with_rest(pattern: str) -> str:
    """A pattern that leaves no text unmatched."""
    return f"{_OPEN}{pattern}{_REST}"


def drops_text(tokenizer: Tokenizer, pattern: str) -> bool:
    """Whether a pattern of others, which has become that of the tokenizer, may leave text unmatched."""
    return tokenizer.pattern_name is None and tokenizer.pattern == pattern and not covers(pattern)


def without_rest(pattern: str) -> str:
    """A pattern as it was before `with_rest` added the rest of all text."""
    if pattern.startswith(_OPEN) and pattern.endswith(_REST):
        inner = pattern[len(_OPEN) : -len(_REST)]
        try:
            _core.split("", inner)
        except PatternError:
            return pattern
        return inner
    return pattern
