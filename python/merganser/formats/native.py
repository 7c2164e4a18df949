"""merganser's native format: plain text, data only, validated in full on reading; see docs/format.md.

    merganser tokenizer 1
    {"pattern": "…", "pattern_name": "gpt4", "special_tokens": {"<|endoftext|>": 300}, "training": {…}}
    AA== 0 -
    …
    dGhl 299 1234
    sha256 9f86d08…

One line per token in order of ids: its bytes in base64, its id, and the number of times its merge occurred in
training, or `-`. The checksum covers everything before its line.

Version 2 holds a tokenizer with stages of another library, as `Model.from_definition` takes it: the header
has its `definition` and the number of `tokens` and of `merges` (null if there are none). Then come the
tokens, each with its id and its score or `-`, and the merges, as three ids.
"""

import base64
import binascii
import hashlib
import json
import os
import re
from typing import Any

from merganser import _core
from merganser.files import written_whole
from merganser.formats import BadFile
from merganser.tokenizer import Tokenizer

MAGIC = b"merganser tokenizer "
VERSION, VERSION_WITH_STAGES = 1, 2
#: The file that `load` looks for in a folder and the command line writes there.
FILE_NAME = "tokenizer.merganser"

#: Far above any real tokenizer, and low enough that no file exhausts memory.
MAX_FILE_BYTES = 1 << 30
MAX_TOKENS = 1 << 21
MAX_TOKEN_BYTES = 1 << 28
MAX_HEADER_BYTES = 1 << 24

_TOKEN_LINE = re.compile(rb"([A-Za-z0-9+/]+={0,2}) (0|[1-9][0-9]{0,9}) (-|0|[1-9][0-9]{0,19})")
_SCORED_LINE = re.compile(
    rb"([A-Za-z0-9+/]+={0,2}) (0|[1-9][0-9]{0,9}) (-|-?[0-9]{1,40}\.?[0-9]{0,40}(?:e[+-]?[0-9]{1,3})?)"
)
_MERGE_LINE = re.compile(rb"[0-9]{1,9} [0-9]{1,9} [0-9]{1,9}")


def save(tokenizer: Tokenizer, path: str | os.PathLike[str]) -> None:
    """Write a tokenizer to a file."""
    lines = _lines_with_stages(tokenizer) if tokenizer.has_stages else _lines(tokenizer)
    body = b"\n".join(lines) + b"\n"
    with written_whole(path) as file:
        file.write(body)
        file.write(f"sha256 {hashlib.sha256(body).hexdigest()}\n".encode())


def _lines(tokenizer: Tokenizer) -> list[bytes]:
    header: dict[str, Any] = {
        "pattern": tokenizer.pattern,
        "pattern_name": tokenizer.pattern_name,
        "special_tokens": tokenizer.special_tokens,
        "training": dict(tokenizer.training),
    }
    if any(tokenizer.template.values()):
        header["template"] = tokenizer.template
    counts = tokenizer.merge_counts
    lines = [MAGIC + b"%d" % VERSION, json.dumps(header, ensure_ascii=False).encode()]
    lines += [
        b"%s %d %s" % (base64.b64encode(token), id, str(counts.get(id, "-")).encode())
        for token, id in tokenizer.mergeable_ranks.items()
    ]
    return lines


def _lines_with_stages(tokenizer: Tokenizer) -> list[bytes]:
    assert tokenizer.definition is not None
    tokens, merges, scores, definition = tokenizer.definition
    header = {
        "definition": json.loads(definition),
        "tokens": len(tokens),
        "merges": None if merges is None else len(merges),
        "training": dict(tokenizer.training),
    }
    lines = [MAGIC + b"%d" % VERSION_WITH_STAGES, json.dumps(header, ensure_ascii=False).encode()]
    lines += [
        b"%s %d %s" % (base64.b64encode(token), id, b"-" if scores is None else repr(scores[i]).encode())
        for i, (token, id) in enumerate(tokens)
    ]
    lines += [b"%d %d %d" % merge for merge in merges or ()]
    return lines


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
    if magic not in (MAGIC + b"%d" % version for version in (VERSION, VERSION_WITH_STAGES)):
        raise BadFile(
            f"has format version {magic[len(MAGIC) :][:20]!r}, but this merganser reads versions {VERSION} "
            f"and {VERSION_WITH_STAGES}; upgrade merganser"
        )
    if not last.startswith(b"sha256 ") or not data.endswith(b"\n"):
        raise _corrupt("it is truncated and has no checksum")
    if last != b"sha256 " + hashlib.sha256(body + newline).hexdigest().encode():
        raise _corrupt("its checksum does not match")

    header_line, _, token_lines = rest.partition(b"\n")
    if magic.endswith(b" %d" % VERSION_WITH_STAGES):
        return _parse_with_stages(header_line, token_lines)
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
        template=header.get("template"),
    )


def _parse_with_stages(header_line: bytes, lines_after: bytes) -> Tokenizer:
    header = _json(header_line)
    lines = lines_after.split(b"\n") if lines_after else []
    count, merge_count = header.get("tokens"), header.get("merges")
    valid = (
        isinstance(header.get("definition"), dict)
        and isinstance(header.get("training"), dict)
        and type(count) is int
        and 0 <= count <= MAX_TOKENS
        and (merge_count is None or (type(merge_count) is int and 0 <= merge_count <= MAX_TOKENS))
        and len(lines) == count + (merge_count or 0)
    )
    if not valid or count is None:
        raise _corrupt("its header has a missing or invalid entry")
    tokens: list[tuple[bytes, int]] = []
    scores: list[float] = []
    for number, line in enumerate(lines[:count], 3):
        match = _SCORED_LINE.fullmatch(line)
        if not match:
            raise _corrupt(f"line {number} is not a token, an id and a score")
        token, id, _ = _token(b"%s %s -" % (match[1], match[2]), number)
        tokens.append((token, id))
        if match[3] != b"-":
            scores.append(float(match[3]))
    if scores and len(scores) != count:
        raise _corrupt("some tokens have a score and some have none")
    merges = []
    for number, line in enumerate(lines[count:], 3 + count):
        if not _MERGE_LINE.fullmatch(line):
            raise _corrupt(f"line {number} is not three ids")
        left, right, new = map(int, line.split(b" "))
        merges.append((left, right, new))
    definition = json.dumps(header["definition"])
    model = _core.Model.from_definition(
        tokens, None if merge_count is None else merges, scores or None, definition
    )
    return Tokenizer._of(model, {}, header["training"])


def _json(line: bytes) -> dict[str, Any]:
    if len(line) > MAX_HEADER_BYTES:
        raise _corrupt("its header is too long")
    try:
        header = json.loads(line)
    except (ValueError, RecursionError):
        raise _corrupt("its header is not JSON") from None
    return header if isinstance(header, dict) else {}


def _header(line: bytes) -> dict[str, Any]:
    header = _json(line)
    specials = header.get("special_tokens")
    valid = (
        isinstance(specials, dict)
        and all(type(id) is int and 0 <= id < 1 << 32 for id in specials.values())
        and isinstance(header.get("pattern"), str)
        and isinstance(header.get("pattern_name"), str | None)
        and isinstance(header.get("training"), dict)
        and _is_template(header.get("template"))
    )
    if not valid:
        raise _corrupt("its header has a missing or invalid entry")
    return header


def _is_template(template: object) -> bool:
    match template:
        case None:
            return True
        case {"prepend": [*before], "append": [*after], **others} if not others:
            return all(isinstance(token, str) or type(token) is int for token in (*before, *after))
    return False


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
