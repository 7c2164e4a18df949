r"""minbpe: the `.model` file of its `RegexTokenizer`, and the human-readable `.vocab` file next to it.

    minbpe v1                     [t][h] -> [th] 256
    '(?i:[sdmt]|ll|ve|re)|…       [th][e] -> [the] 257
    1
    <|endoftext|> 258
    116 104
    256 101

The pattern comes first, then the number of special tokens, each with its id, then the merges: two ids per
line. Ids are implicit: byte values for the bytes, and consecutive numbers from 256 for the merges. A
tokenizer with other ids (GPT-2 orders its bytes differently), or with a token that no merge produces, cannot
be written. minbpe splits with Python's `regex`; a pattern that `regex` might interpret differently is refused
as well.

minbpe ignores the pattern when it loads a file and keeps the one passed to its constructor: create the
tokenizer with `RegexTokenizer(pattern)`.
"""

import re
from pathlib import PurePath

from merganser.errors import ExportError, MerganserError
from merganser.formats import BadFile, gpt2, native, oniguruma, tiktoken
from merganser.tokenizer import Tokenizer

MAGIC = b"minbpe v1"
_MERGE = re.compile(r"(0|[1-9][0-9]{0,6}) (0|[1-9][0-9]{0,6})")
_SPECIAL = re.compile(r"(\S+) (0|[1-9][0-9]{0,9})")


def contents(tokenizer: Tokenizer, name: str) -> dict[str, bytes]:
    """Return NAME.model and NAME.vocab if `name` ends in .model, else tokenizer.model and tokenizer.vocab."""
    stem = name.removesuffix(".model") if name.endswith(".model") else "tokenizer"
    merges = _merges(tokenizer)
    for special in tokenizer.special_tokens:
        if not _SPECIAL.fullmatch(f"{special} 0"):
            raise ExportError(
                f"minbpe cannot read the special token {special!r} because it contains whitespace; rename it"
            )
    specials = [f"{special} {id}" for special, id in tokenizer.special_tokens.items()]
    lines = [MAGIC.decode(), _pattern(tokenizer), str(len(specials)), *specials]
    lines += [f"{left} {right}" for left, right in merges]
    model = "".join(f"{line}\n" for line in lines)
    return {f"{stem}.model": model.encode(), f"{stem}.vocab": _readable_vocab(tokenizer, merges).encode()}


def matches(files: dict[str, bytes], tokenizer: Tokenizer) -> bool:
    """Return whether the files hold this tokenizer."""
    model = next(data for name, data in files.items() if PurePath(name).suffix == ".model")
    return parse(model) == tokenizer


def _merges(tokenizer: Tokenizer) -> list[tuple[int, int]]:
    """Return the merges as ids; raise an `ExportError` if the ids differ from minbpe's."""
    ranks = tokenizer.mergeable_ranks
    if moved := [bytes([byte]) for byte in range(256) if ranks[bytes([byte])] != byte]:
        raise ExportError(
            f"minbpe requires every byte to be its own id, but {moved[0]!r} has the id {ranks[moved[0]]}; "
            "export to tiktoken or huggingface instead"
        )
    if unreachable := gpt2.unreachable_tokens(tokenizer):
        raise ExportError(
            f"{len(unreachable)} tokens, the first of them {unreachable[0]!r}, are not produced by any "
            "merge, and minbpe stores only merges; export to tiktoken or huggingface instead"
        )
    merges = sorted(tokenizer.merges_as_ids.items(), key=lambda entry: entry[1])
    for expected, (_, id) in enumerate(merges, 256):
        if id != expected:
            raise ExportError(
                f"minbpe requires consecutive ids for merges, starting at 256, but {expected} is missing; "
                "export to tiktoken or huggingface instead"
            )
    return [pair for pair, _ in merges]


def _pattern(tokenizer: Tokenizer) -> str:
    """Return the pattern for Python's `regex`, extended to match all text: minbpe drops unmatched text."""
    pattern = tokenizer.pattern
    if tokenizer.pattern_name is None and not _portable(pattern):
        raise ExportError(
            f"minbpe, which uses Python's regex, may interpret the pattern {pattern!r} differently; "
            f"rewrite it without {_NOT_PORTABLE}"
        )
    if tokenizer.pattern_name is not None and pattern == pattern.strip():
        return pattern
    return tiktoken.with_fallback(pattern)  # also protects outer whitespace, which minbpe strips


_NOT_PORTABLE = r"\w, \b, ^, $, flags, {m,n}+, nested classes, line breaks and loops that can match nothing"


def _portable(pattern: str) -> bool:
    """Return whether `regex` provably interprets the pattern as merganser does."""
    nested = re.search(r"\[(?:\\.|[^\]\\])*\[", pattern)
    try:
        same_in_oniguruma = oniguruma.to_oniguruma(pattern) == pattern
    except ExportError:
        return False
    return same_in_oniguruma and not nested and not re.search(r"\(\?\w+\)|[\r\n]", pattern)


def _readable_vocab(tokenizer: Tokenizer, merges: list[tuple[int, int]]) -> str:
    def text(id: int) -> str:
        decoded = tokenizer.token_bytes(id).decode("utf-8", "replace")
        return "".join(c if c.isprintable() else f"\\u{ord(c):04x}" for c in decoded)

    lines = [f"[{text(byte)}] {byte}" for byte in range(256)]
    lines += [
        f"[{text(left)}][{text(right)}] -> [{text(id)}] {id}" for id, (left, right) in enumerate(merges, 256)
    ]
    lines += [f"[{special}] {id}" for special, id in tokenizer.special_tokens.items()]
    return "".join(f"{line}\n" for line in lines)


# ── reading ───────────────────────────────────────────────────────────────────


def parse(data: bytes) -> Tokenizer:
    """Return the tokenizer in a `.model` file."""
    try:
        lines = data.decode().replace("\r\n", "\n").removesuffix("\n").split("\n")
    except UnicodeDecodeError as error:
        raise BadFile(f"is corrupt: it is not UTF-8 at byte {error.start}; get a fresh copy") from None
    if len(lines) > native.MAX_TOKENS:
        raise BadFile(f"is corrupt: it has more than {native.MAX_TOKENS} lines; get a fresh copy")
    if lines[0] != MAGIC.decode():
        raise BadFile(
            f"begins with {lines[0][:20]!r}, but this merganser reads {MAGIC.decode()!r}; upgrade merganser"
        )
    if len(lines) < 3 or not re.fullmatch(r"0|[1-9][0-9]{0,6}", lines[2]):
        raise BadFile("is corrupt: line 3 is not the number of special tokens; get a fresh copy")
    first_merge = 3 + int(lines[2])
    if first_merge > len(lines):
        raise BadFile(f"is corrupt: it has fewer than {lines[2]} special tokens; get a fresh copy")
    specials = _specials(lines[3:first_merge])
    if not lines[1]:
        raise BadFile(
            "has no pattern: minbpe's BasicTokenizer does not split text, and merganser always does; "
            "train a RegexTokenizer instead"
        )
    ranks, merges = _ranks(lines[first_merge:], first_merge + 1)
    try:
        pattern = tiktoken.without_fallback(lines[1])
        tokenizer = Tokenizer(ranks, pattern=pattern, special_tokens=specials)
    except MerganserError as error:
        raise BadFile(f"holds no usable tokenizer: {error}") from error
    if tokenizer.pattern_name is None and not _portable(pattern):
        raise BadFile(
            f"cannot be represented: merganser may interpret its pattern {pattern[:200]!r} differently; "
            f"train it without {_NOT_PORTABLE}"
        )
    gpt2.check_merges(tokenizer, merges)
    if tiktoken.drops_text(tokenizer, lines[1]):
        raise BadFile(
            f"cannot be represented: minbpe may drop text that its pattern {pattern[:200]!r} does not match"
        )
    return tokenizer


def _specials(lines: list[str]) -> dict[str, int]:
    specials: dict[str, int] = {}
    for number, line in enumerate(lines, 4):
        match = _SPECIAL.fullmatch(line)
        if not match or match[1] in specials:
            raise BadFile(
                f"is corrupt: line {number} is not a new special token with an id; get a fresh copy"
            )
        specials[match[1]] = int(match[2])
    return specials


def _ranks(lines: list[str], first_line: int) -> tuple[dict[bytes, int], list[tuple[bytes, bytes]]]:
    """Return every token with its id, and the merges."""
    tokens = [bytes([byte]) for byte in range(256)]
    merges = []
    size = 0
    for number, line in enumerate(lines, first_line):
        match = _MERGE.fullmatch(line)
        if not match or max(int(match[1]), int(match[2])) >= len(tokens):
            raise BadFile(f"is corrupt: line {number} is not two ids of earlier tokens; get a fresh copy")
        left, right = tokens[int(match[1])], tokens[int(match[2])]
        size += len(left) + len(right)
        if size > native.MAX_TOKEN_BYTES:  # every merge may double the length of the last token
            raise BadFile(
                f"is corrupt: its tokens exceed {native.MAX_TOKEN_BYTES >> 20} MiB in total; get a fresh copy"
            )
        tokens.append(left + right)
        merges.append((left, right))
    ranks = {token: id for id, token in enumerate(tokens)}
    if len(ranks) < len(tokens):
        repeated = next(token for id, token in enumerate(tokens) if ranks[token] != id)
        raise BadFile(f"cannot be represented: two of its merges produce {repeated[:40]!r}, and only one may")
    return ranks, merges
