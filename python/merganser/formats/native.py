"""merganser's native format: plain text, data only, validated in full on reading; see docs/format.md.

    merganser tokenizer 1
    {"pattern": "…", "pattern_name": "gpt4", "special_tokens": {"<|endoftext|>": 300}, "training": {…}}
    AA== 0 -
    …
    dGhl 299 1234
    sha256 9f86d08…

One line per token in order of ids: its bytes in base64, its id, and the number of times its merge occurred in
training, or `-`. The checksum covers everything before its line.

Version 3 adds where each token divides: the length of the left part of its merge, or `-`. Reading checks it,
which takes a fifth of the time of deriving it, and refuses a file that is wrong.

Version 2 holds a tokenizer with stages of another library, as `Model.from_definition` takes it: the header
has its `definition` and the number of `tokens` and of `merges` (null if there are none). Then come the
tokens, each with its id and its score or `-`, and the merges, as three ids.
"""

import base64
import binascii
import json
import os
import re
from collections.abc import Mapping
from typing import Any

from merganser import _core
from merganser.errors import FormatError
from merganser.files import written_whole
from merganser.formats import BadFile
from merganser.tokenizer import Tokenizer

MAGIC = b"merganser tokenizer "
VERSION, VERSION_WITH_STAGES, VERSION_WITH_PARTS = 1, 2, 3
#: The file that `load` looks for in a folder and the command line writes there.
FILE_NAME = "tokenizer.merganser"

#: Far above any real tokenizer, and low enough that no file exhausts memory.
MAX_FILE_BYTES = 1 << 30
MAX_TOKENS = 1 << 21
MAX_TOKEN_BYTES = 1 << 28
MAX_HEADER_BYTES = 1 << 24

#: Compiled when needed: that takes longer than to read the rest of this module.
_SCORED_LINE = (
    rb"([A-Za-z0-9+/]+={0,2}) (0|[1-9][0-9]{0,9}) (-|-?[0-9]{1,40}\.?[0-9]{0,40}(?:e[+-]?[0-9]{1,3})?)"
)
_MERGE_LINE = rb"[0-9]{1,9} [0-9]{1,9} [0-9]{1,9}"


def save(tokenizer: Tokenizer, path: str | os.PathLike[str]) -> None:
    """Write a tokenizer to a file."""
    lines = _lines_with_stages(tokenizer) if tokenizer.has_stages else _lines(tokenizer)
    body = b"\n".join(lines) + b"\n"
    with written_whole(path) as file:
        file.write(body)
        file.write(f"sha256 {_core.sha256(body, len(body))}\n".encode())


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
    lengths = {id: len(token) for token, id in tokenizer.mergeable_ranks.items()}
    lefts = {new: lengths[left] for (left, _), new in tokenizer.merges_as_ids.items()}
    lines = [MAGIC + b"%d" % VERSION_WITH_PARTS, json.dumps(header, ensure_ascii=False).encode()]
    lines += [
        f"{base64.b64encode(token).decode()} {id} {counts.get(id, '-')} {lefts.get(id, '-')}".encode()
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
    after_magic = data.find(b"\n") + 1
    version = data[len(MAGIC) : after_magic - 1] if after_magic else data[len(MAGIC) :]
    versions = {b"%d" % known: known for known in (VERSION, VERSION_WITH_STAGES, VERSION_WITH_PARTS)}
    if version not in versions:
        raise BadFile(
            f"has format version {version[:20]!r}, but this merganser reads versions "
            f"{VERSION} to {VERSION_WITH_PARTS}; upgrade merganser"
        )
    stop = data.rfind(b"\n", 0, -1) + 1
    if not data.startswith(b"sha256 ", stop) or not data.endswith(b"\n"):
        raise _corrupt("it is truncated and has no checksum")
    if data[stop:] != f"sha256 {_core.sha256(data, stop)}\n".encode():
        raise _corrupt("its checksum does not match")

    after_header = (data.find(b"\n", after_magic, stop) + 1) or stop
    header_line = data[after_magic : after_header - 1]
    if versions[version] == VERSION_WITH_STAGES:
        return _parse_with_stages(header_line, data[after_header : stop - 1])
    header = _header(header_line)
    if has_too_many_lines(data, after_header, stop):
        raise _corrupt(f"it has more than {MAX_TOKENS} tokens")
    try:
        model, ids, counts = _core.Model.from_lines(
            data,
            after_header,
            stop,
            versions[version],
            MAX_TOKEN_BYTES,
            header["pattern"],
            header["special_tokens"],
        )
    except FormatError as corrupt:
        raise BadFile(str(corrupt)) from None
    except UnicodeEncodeError:
        raise _corrupt("its pattern or a special token contains a lone surrogate") from None
    training = {_RENAMED.get(name, name): fact for name, fact in header["training"].items()}
    return Tokenizer._of(model, lambda: _counts(ids, counts), training, header.get("template"))


def has_too_many_lines(data: bytes, start: int, stop: int) -> bool:
    """Return whether there are more lines than `MAX_TOKENS`.

    Counting them takes a millisecond. The shortest has seven bytes, so most files are too small to need it.
    """
    return stop - start >= 7 * MAX_TOKENS and data.count(b"\n", start, stop) > MAX_TOKENS


def _counts(ids: bytes, counts: bytes) -> Mapping[int, int]:
    return dict(zip(memoryview(ids).cast("I"), memoryview(counts).cast("Q"), strict=True))


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
    scored_line, merge_line = re.compile(_SCORED_LINE), re.compile(_MERGE_LINE)
    tokens: list[tuple[bytes, int]] = []
    scores: list[float] = []
    for number, line in enumerate(lines[:count], 3):
        match = scored_line.fullmatch(line)
        if not match:
            raise _corrupt(f"line {number} is not a token, an id and a score")
        tokens.append(_token(match[1], match[2], number))
        if match[3] != b"-":
            scores.append(float(match[3]))
    if scores and len(scores) != count:
        raise _corrupt("some tokens have a score and some have none")
    merges = []
    for number, line in enumerate(lines[count:], 3 + count):
        if not merge_line.fullmatch(line):
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


def _token(text: bytes, id: bytes, number: int) -> tuple[bytes, int]:
    try:
        token = base64.b64decode(text, validate=True)
    except binascii.Error:
        raise _corrupt(f"line {number} is not base64") from None
    if int(id) >= 1 << 32 or len(token) > MAX_TOKEN_BYTES:
        raise _corrupt(f"line {number} has a number or token that is too large")
    return token, int(id)
