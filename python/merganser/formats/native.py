"""merganser's native format: plain text, data only, validated in full on reading; see docs/format.md.

    merganser tokenizer 1
    {"pattern": "…", "pattern_name": "gpt4", "special_tokens": {"<|endoftext|>": 300}, "training": {…}}
    AA== 0 -
    …
    dGhl 299 1234
    sha256 9f86d08…

One line per token in order of ids: its bytes in base64, its id, and the number of times its merge occurred in
training, or `-`. The checksum covers everything before its line.
"""

import base64
import binascii
import hashlib
import json
import os
import re
from typing import Any

from merganser.files import written_whole
from merganser.formats import BadFile
from merganser.tokenizer import Tokenizer

MAGIC = b"merganser tokenizer "
VERSION = 1
#: The file that `load` looks for in a folder and the command line writes there.
FILE_NAME = "tokenizer.merganser"

#: Far above any real tokenizer, and low enough that no file exhausts memory.
MAX_FILE_BYTES = 1 << 30
MAX_TOKENS = 1 << 21
MAX_TOKEN_BYTES = 1 << 28
MAX_HEADER_BYTES = 1 << 24

_TOKEN_LINE = re.compile(rb"([A-Za-z0-9+/]+={0,2}) (0|[1-9][0-9]{0,9}) (-|0|[1-9][0-9]{0,19})")


def save(tokenizer: Tokenizer, path: str | os.PathLike[str]) -> None:
    """Write a tokenizer to a file."""
    header = {
        "pattern": tokenizer.pattern,
        "pattern_name": tokenizer.pattern_name,
        "special_tokens": tokenizer.special_tokens,
        "training": dict(tokenizer.training),
    }
    counts = tokenizer.merge_counts
    lines = [MAGIC + b"%d" % VERSION, json.dumps(header, ensure_ascii=False).encode()]
    lines += [
        b"%s %d %s" % (base64.b64encode(token), id, str(counts.get(id, "-")).encode())
        for token, id in tokenizer.mergeable_ranks.items()
    ]
    body = b"\n".join(lines) + b"\n"
    with written_whole(path) as file:
        file.write(body)
        file.write(f"sha256 {hashlib.sha256(body).hexdigest()}\n".encode())


#: Keys of training facts in files written when pre-tokens were called pieces.
_RENAMED = {
    "pieces": "pretokens",
    "different_pieces": "unique_pretokens",
    "dropped_pieces": "dropped_pretokens",
    "min_piece_count": "min_pretoken_count",
}


def _corrupt(what: str) -> BadFile:
    return BadFile(f"is corrupt: {what}; get a fresh copy, or train again")


def parse(data: bytes) -> Tokenizer:
    """Return the tokenizer in a file that begins with `MAGIC`."""
    body, newline, last = data.removesuffix(b"\n").rpartition(b"\n")
    magic, _, rest = body.partition(b"\n")
    if magic != MAGIC + b"%d" % VERSION:
        raise BadFile(
            f"has format version {magic[len(MAGIC) :][:20]!r}, but this merganser reads version {VERSION}; "
            "upgrade merganser"
        )
    if not last.startswith(b"sha256 ") or not data.endswith(b"\n"):
        raise _corrupt("it is truncated and has no checksum")
    if last != b"sha256 " + hashlib.sha256(body + newline).hexdigest().encode():
        raise _corrupt("its checksum does not match")

    header_line, _, token_lines = rest.partition(b"\n")
    header = _header(header_line)
    ranks: dict[bytes, int] = {}
    counts: dict[int, int] = {}
    lines = token_lines.split(b"\n") if token_lines else []
    if len(lines) > MAX_TOKENS:
        raise _corrupt(f"it has more than {MAX_TOKENS} tokens")
    previous = -1
    for number, line in enumerate(lines, 3):
        token, id, count = _token(line, number)
        if id <= previous:
            raise _corrupt(f"the id on line {number} is out of order")
        if token in ranks:
            raise _corrupt(f"line {number} repeats a token")
        ranks[token] = previous = id
        if count is not None:
            counts[id] = count
    return Tokenizer(
        ranks,
        pattern=header["pattern"],
        special_tokens=header["special_tokens"],
        merge_counts=counts,
        training={_RENAMED.get(name, name): fact for name, fact in header["training"].items()},
    )


def _header(line: bytes) -> dict[str, Any]:
    if len(line) > MAX_HEADER_BYTES:
        raise _corrupt("its header is too long")
    try:
        header = json.loads(line)
    except (ValueError, RecursionError):
        raise _corrupt("its header is not JSON") from None
    specials = header.get("special_tokens") if isinstance(header, dict) else None
    valid = (
        isinstance(specials, dict)
        and all(type(id) is int and 0 <= id < 1 << 32 for id in specials.values())
        and isinstance(header.get("pattern"), str)
        and isinstance(header.get("pattern_name"), str | None)
        and isinstance(header.get("training"), dict)
    )
    if not valid:
        raise _corrupt("its header has a missing or invalid entry")
    return dict(header)


def _token(line: bytes, number: int) -> tuple[bytes, int, int | None]:
    match = _TOKEN_LINE.fullmatch(line)
    if not match:
        raise _corrupt(f"line {number} is not a token, an id and a count")
    try:
        token = base64.b64decode(match[1], validate=True)
    except binascii.Error:
        raise _corrupt(f"line {number} is not base64") from None
    id, count = int(match[2]), None if match[3] == b"-" else int(match[3])
    if id >= 1 << 32 or (count or 0) >= 1 << 64 or len(token) > MAX_TOKEN_BYTES:
        raise _corrupt(f"line {number} has a number or token that is too large")
    return token, id, count
