"""tiktoken: rank files, plugins, and conversion from and to `tiktoken.Encoding`.

A rank file has one line per token: its bytes in base64 and its rank, in any order and with gaps allowed:

    IQ== 0
    Ig== 1

An empty token, `= 50256` in Whisper's file, never occurs in a text. A file may be gzipped.

It lacks the pattern and the special tokens. A plugin has them: a folder `tiktoken_ext`, on `PYTHONPATH` or
copied to site-packages, in which `tiktoken.get_encoding("NAME")` finds `NAME.py`. That module is the same for
every tokenizer; the data is in `NAME.json` and `NAME.tiktoken`, and merganser reads only these two.
"""

import binascii
import hashlib
import json
import re
from collections.abc import Mapping
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from merganser import _core
from merganser.counts import Counts
from merganser.errors import PatternError, SettingsError, TokenizerError
from merganser.formats import BadFile, check_plain, native
from merganser.formats.coverage import covers
from merganser.formats.definition import Definition, added_token
from merganser.tokenizer import Tokenizer

if TYPE_CHECKING:
    import tiktoken

#: The namespace package in which tiktoken looks for plugins.
PLUGIN_FOLDER = "tiktoken_ext"
#: The key that identifies the JSON file of a plugin.
PLUGIN_KEY = "tiktoken_plugin"

_LINE = re.compile(rb"(?:[A-Za-z0-9+/]+={0,2}|=) (?:0|[1-9][0-9]{0,9})")
#: Lines are matched in batches: four times as fast as one by one, with less memory than all at once.
_LINES = re.compile(rb"(?:" + _LINE.pattern + rb"\r?\n|\r?\n)*")
_BATCH_BYTES = 1 << 16

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
        raise ValueError(f"{{here.with_suffix('.tiktoken')}} is corrupt: its checksum does not match")
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
    """Return the rank file if `name` ends in .tiktoken, else the files of the plugin called `name`."""
    ranks = _ranks(tokenizer)
    if name.endswith(".tiktoken"):
        return {name: ranks}
    module = re.sub(r"[^A-Za-z0-9_]", "_", name)
    if not module.strip("_") or module == "openai_public":
        raise SettingsError(
            f"a tiktoken plugin cannot be called {name!r}; give the folder the name that "
            "tiktoken.get_encoding should find"
        )
    metadata = {
        PLUGIN_KEY: 1,
        "pattern": _pattern(tokenizer),
        "special_tokens": tokenizer.special_tokens,
        "sha256": hashlib.sha256(ranks).hexdigest(),
    }
    return {
        f"{PLUGIN_FOLDER}/{module}.tiktoken": ranks,
        f"{PLUGIN_FOLDER}/{module}.json": json.dumps(metadata, ensure_ascii=False, indent=2).encode() + b"\n",
        f"{PLUGIN_FOLDER}/{module}.py": _PLUGIN.format(name=name).encode(),
    }


def matches(files: dict[str, bytes], tokenizer: Tokenizer) -> bool:
    """Return whether the files hold this tokenizer."""
    by_suffix = {PurePath(name).suffix: data for name, data in files.items()}
    ranks = by_suffix[".tiktoken"]
    if ".json" not in by_suffix:
        return parse(ranks) == tokenizer.mergeable_ranks
    return parse_plugin(json.loads(by_suffix[".json"]), ranks) == tokenizer


def _ranks(tokenizer: Tokenizer) -> bytes:
    """Return a rank file in order of ids."""
    ranks = tokenizer.mergeable_ranks.items()
    return b"".join(b"%s %d\n" % (binascii.b2a_base64(token, newline=False), id) for token, id in ranks)


def looks_like_ranks(data: bytes) -> bool:
    """Return whether the data begins like a rank file."""
    return _LINE.match(data) is not None


def parse(data: bytes) -> dict[bytes, int]:
    """Return the ranks in a file; `Tokenizer` checks whether they form a tokenizer."""
    data = data.removesuffix(b"\n") + b"\n"
    start = 0
    while start < len(data):
        end = data.rfind(b"\n", start, start + _BATCH_BYTES) + 1 or data.index(b"\n", start) + 1
        if not _LINES.fullmatch(data, start, end):
            raise _invalid_line(data, start)
        start = end
    fields = data.split()
    tokens, numbers = fields[::2], fields[1::2]
    if len(tokens) > native.MAX_TOKENS:
        raise BadFile(f"is corrupt: it has more than {native.MAX_TOKENS} tokens; get a fresh copy")
    if max(map(len, tokens), default=0) > native.MAX_TOKEN_BYTES * 4 // 3:
        raise BadFile("is corrupt: it has a token that is too long; get a fresh copy")
    tokens = [b"" if token == b"=" else token for token in tokens]
    if any(len(token) % 4 for token in tokens):
        raise BadFile("is corrupt: it has a token that is not base64; get a fresh copy")
    ranks = dict(zip(map(binascii.a2b_base64, tokens), map(int, numbers), strict=True))
    if len(ranks) < len(tokens):
        raise BadFile("is corrupt: it has the same token twice; get a fresh copy")
    return ranks


def _invalid_line(data: bytes, start: int) -> BadFile:
    """Return an error that names the first invalid line at or after the byte offset `start`."""
    before = data.count(b"\n", 0, start)
    for number, line in enumerate(data[start:].split(b"\n"), before + 1):
        if not re.fullmatch(rb"(?:" + _LINE.pattern + rb")?\r?", line):
            return BadFile(f"is corrupt: line {number} is not a base64 token and a rank; get a fresh copy")
    return BadFile("is corrupt; get a fresh copy")


def parse_plugin(metadata: dict[str, Any], ranks: bytes) -> Tokenizer:
    """Return the tokenizer in a plugin, from its parsed JSON file and its rank file."""
    pattern, specials = metadata.get("pattern"), metadata.get("special_tokens")
    if metadata.get(PLUGIN_KEY) != 1 or not isinstance(pattern, str) or not isinstance(specials, dict):
        raise BadFile("is corrupt: it lacks the pattern or the special tokens; get a fresh copy")
    if hashlib.sha256(ranks).hexdigest() != metadata.get("sha256"):
        raise BadFile("does not match the rank file next to it: the checksum differs; get a fresh copy")
    return Tokenizer(parse(ranks), pattern=without_fallback(pattern), special_tokens=specials)


#: The stage that turns text into bytes, and back.
BYTE_LEVEL = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": False, "use_regex": False}


def tokenizer(ranks: Mapping[bytes, int], pattern: str, specials: Mapping[str, int]) -> Tokenizer:
    """Return a tokenizer; an empty token, and one id for two special tokens, need a definition."""
    if b"" not in ranks and len(set(specials.values())) == len(specials):
        return Tokenizer(ranks, pattern=pattern, special_tokens=specials)
    missing = next((byte for byte in range(256) if bytes([byte]) not in ranks), None)
    if missing is not None:
        raise BadFile(
            f"holds no usable tokenizer: the single byte {missing:#04x} is missing; all 256 must be tokens"
        )
    return Definition(
        tokens=[(token, rank) for token, rank in ranks.items() if token],
        decode_only=[(token, rank) for token, rank in ranks.items() if not token],
        added_tokens=[added_token(name, id, special=True) for name, id in specials.items()],
        pre_tokenizer=byte_level_split(pattern),
        decoder=BYTE_LEVEL,
    ).tokenizer()


def byte_level_split(pattern: str) -> dict[str, Any]:
    """Return the pre-tokenizer of a plain tokenizer with this pattern."""
    full = Counts({}, pattern=pattern).pattern
    split = {
        "type": "Split",
        "pattern": {"Regex": full if covers(full) else with_fallback(full)},
        "behavior": "Isolated",
        "invert": False,
    }
    return {"type": "Sequence", "pretokenizers": [split, BYTE_LEVEL]}


# ── live objects ──────────────────────────────────────────────────────────────


def from_encoding(encoding: "tiktoken.Encoding") -> Tokenizer:
    """Return the tokenizer equivalent to a `tiktoken.Encoding`.

    tiktoken drops text that the pattern does not match; merganser makes each such character a pre-token. The
    patterns of OpenAI's encodings match all text; a pattern for which that cannot be proven is refused.
    """
    try:
        pattern = encoding._pat_str
        ranks = encoding._mergeable_ranks
        special_tokens = encoding._special_tokens
    except AttributeError:
        kind = type(encoding).__name__
        raise TokenizerError(
            f"load takes a path, a tiktoken.Encoding or a tokenizers.Tokenizer, got {kind}"
        ) from None
    try:
        loaded = tokenizer(ranks, without_fallback(pattern), special_tokens)
    except BadFile as bad:
        raise TokenizerError(f"this Encoding {bad}") from None
    if drops_text(loaded, pattern):
        raise TokenizerError(
            "this Encoding cannot be represented: it may drop text that its pattern does not match; create "
            f"it with pat_str={with_fallback(pattern[:200])!r}, which matches all text"
        )
    return loaded


def to_encoding(tokenizer: Tokenizer, name: str) -> "tiktoken.Encoding":
    """Return the `tiktoken.Encoding` equivalent to a tokenizer."""
    check_plain(tokenizer, "tiktoken")
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


_OPEN, _FALLBACK = "(?:", ")|(?s:.)"


def _pattern(tokenizer: Tokenizer) -> str:
    """Return the pattern, extended to match all text unless it is a preset: tiktoken drops unmatched text."""
    return with_fallback(tokenizer.pattern) if tokenizer.pattern_name is None else tokenizer.pattern


def with_fallback(pattern: str) -> str:
    """Return a pattern that matches all text: each character not matched by `pattern` is a pre-token."""
    return f"{_OPEN}{pattern}{_FALLBACK}"


def drops_text(tokenizer: Tokenizer, pattern: str) -> bool:
    """Return whether an imported pattern, which the tokenizer now has, may leave text unmatched."""
    return tokenizer.pattern_name is None and tokenizer.pattern == pattern and not covers(pattern)


def without_fallback(pattern: str) -> str:
    """Undo `with_fallback`; other patterns are returned unchanged."""
    if pattern.startswith(_OPEN) and pattern.endswith(_FALLBACK):
        inner = pattern[len(_OPEN) : -len(_FALLBACK)]
        try:
            _core.split("", inner)
        except PatternError:
            return pattern
        return inner
    return pattern
