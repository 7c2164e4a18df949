r"""minbpe: the `.model` file of its `RegexTokenizer`, and the `.vocab` file beside it, which is for people.

    minbpe v1                     [t][h] -> [th] 256
    '(?i:[sdmt]|ll|ve|re)|…       [th][e] -> [the] 257
    1
    <|endoftext|> 258
    116 104
    256 101

First the pattern, then how many special tokens there are, each with its id, then the merges: two ids a line.
The ids themselves go without saying: those of the bytes are the bytes, those of the merges follow from 256
on. So a tokenizer with other ids (GPT-2's has its bytes in another order), or with a token that no merge
makes, cannot be written. minbpe splits with Python's `regex`; a pattern that this might read differently is
refused as well.

minbpe itself reads the pattern of a file and goes on with the one it was made with: make it with
`RegexTokenizer(pattern)`.
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
    """The two files: NAME.model and NAME.vocab, or in a folder tokenizer.model and tokenizer.vocab."""
    stem = name.removesuffix(".model") if name.endswith(".model") else "tokenizer"
    merges = _merges(tokenizer)
    for special in tokenizer.special_tokens:
        if not _SPECIAL.fullmatch(f"{special} 0"):
            raise ExportError(f"minbpe cannot read the special token {special!r}: it has white space")
    specials = [f"{special} {id}" for special, id in tokenizer.special_tokens.items()]
    lines = [MAGIC.decode(), _pattern(tokenizer), str(len(specials)), *specials]
    lines += [f"{left} {right}" for left, right in merges]
    model = "".join(f"{line}\n" for line in lines)
    return {f"{stem}.model": model.encode(), f"{stem}.vocab": _for_people(tokenizer, merges).encode()}


def same(files: dict[str, bytes], tokenizer: Tokenizer) -> bool:
    model = next(data for name, data in files.items() if PurePath(name).suffix == ".model")
    return parse(model) == tokenizer


def _merges(tokenizer: Tokenizer) -> list[tuple[int, int]]:
    """The merges as ids, if the ids are those that minbpe would give."""
    ranks = tokenizer.mergeable_ranks
    if moved := [bytes([byte]) for byte in range(256) if ranks[bytes([byte])] != byte]:
        raise ExportError(
            f"minbpe's ids of the bytes are the bytes themselves, and here {moved[0]!r} has the id "
            f"{ranks[moved[0]]}; export to tiktoken or huggingface instead"
        )
    if stuck := gpt2.unreached(tokenizer):
        raise ExportError(
            f"{len(stuck)} tokens, {stuck[0]!r} the first, are not made by any merge, and minbpe knows only "
            "merges; export to tiktoken or huggingface instead"
        )
    merges = sorted(tokenizer.merges_as_ids.items(), key=lambda entry: entry[1])
    for expected, (_, id) in enumerate(merges, 256):
        if id != expected:
            raise ExportError(
                f"minbpe's ids of the merges follow each other from 256 on, and here {expected} is left out; "
                "export to tiktoken or huggingface instead"
            )
    return [pair for pair, _ in merges]


def _pattern(tokenizer: Tokenizer) -> str:
    """The pattern for Python's `regex`, such that it leaves no text unmatched, which would be dropped."""
    pattern = tokenizer.pattern
    if tokenizer.pattern_name is None and not _plain(pattern):
        raise ExportError(
            f"the pattern {pattern!r} may mean something else to minbpe, which reads it with Python's regex; "
            f"write it without {_NOT_PLAIN}"
        )
    if tokenizer.pattern_name is not None and pattern == pattern.strip():
        return pattern
    return tiktoken.with_rest(pattern)  # also keeps white space at the ends, which minbpe strips


_NOT_PLAIN = r"\w, \b, ^, $, flags, {m,n}+, nested classes and line breaks"


def _plain(pattern: str) -> bool:
    """Whether `regex` reads the pattern as we do: Oniguruma does, and the rest is looked for here."""
    nested = re.search(r"\[(?:\\.|[^\]\\])*\[", pattern)
    try:
        written = oniguruma.written(pattern)
    except ExportError:
        return False
    return written == pattern and not nested and not re.search(r"\(\?\w+\)|[\r\n]", pattern)


def _for_people(tokenizer: Tokenizer, merges: list[tuple[int, int]]) -> str:
    def shown(id: int) -> str:
        text = tokenizer.token_bytes(id).decode("utf-8", "replace")
        return "".join(c if c.isprintable() else f"\\u{ord(c):04x}" for c in text)

    lines = [f"[{shown(byte)}] {byte}" for byte in range(256)]
    lines += [
        f"[{shown(left)}][{shown(right)}] -> [{shown(id)}] {id}"
        for id, (left, right) in enumerate(merges, 256)
    ]
    lines += [f"[{special}] {id}" for special, id in tokenizer.special_tokens.items()]
    return "".join(f"{line}\n" for line in lines)


# ── reading ───────────────────────────────────────────────────────────────────


def parse(data: bytes) -> Tokenizer:
    """The tokenizer of a `.model` file."""
    try:
        lines = data.decode().replace("\r\n", "\n").removesuffix("\n").split("\n")
    except UnicodeDecodeError as error:
        raise BadFile(f"is damaged: it is not UTF-8 at byte {error.start}; get a fresh copy") from None
    if len(lines) > native.MAX_TOKENS:
        raise BadFile(f"is damaged: it has more than {native.MAX_TOKENS} lines")
    if lines[0] != MAGIC.decode():
        raise BadFile(
            f"begins with {lines[0][:20]!r}, and this merganser reads {MAGIC.decode()!r}; upgrade it"
        )
    if len(lines) < 3 or not re.fullmatch(r"0|[1-9][0-9]{0,6}", lines[2]):
        raise BadFile("is damaged: line 3 is not the number of special tokens; get a fresh copy")
    first_merge = 3 + int(lines[2])
    if first_merge > len(lines):
        raise BadFile(f"is damaged: it ends before its {lines[2]} special tokens do; get a fresh copy")
    specials = _specials(lines[3:first_merge])
    if not lines[1]:
        raise BadFile("holds no pattern: minbpe's BasicTokenizer does not split text, and here text is split")
    ranks, merges = _ranks(lines[first_merge:], first_merge + 1)
    try:
        pattern = tiktoken.without_rest(lines[1])
        tokenizer = Tokenizer(ranks, pattern=pattern, special_tokens=specials)
    except MerganserError as error:
        raise BadFile(f"holds no usable tokenizer: {error}") from error
    if tokenizer.pattern_name is None and not _plain(pattern):
        raise BadFile(
            f"cannot be represented: its pattern {pattern[:200]!r} may mean something else here; it has one "
            f"of {_NOT_PLAIN}"
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
                f"is damaged: line {number} is not a special token of its own and an id; get a fresh copy"
            )
        specials[match[1]] = int(match[2])
    return specials


def _ranks(lines: list[str], number: int) -> tuple[dict[bytes, int], list[tuple[bytes, bytes]]]:
    """Every token with its id, and the merges."""
    tokens = [bytes([byte]) for byte in range(256)]
    merges = []
    size = 0
    for at, line in enumerate(lines, number):
        match = _MERGE.fullmatch(line)
        if not match or max(int(match[1]), int(match[2])) >= len(tokens):
            raise BadFile(f"is damaged: line {at} is not two ids of tokens before it; get a fresh copy")
        left, right = tokens[int(match[1])], tokens[int(match[2])]
        size += len(left) + len(right)
        if size > native.MAX_TOKEN_BYTES:  # each merge may double the token before it
            raise BadFile(f"is damaged: its tokens have more than {native.MAX_TOKEN_BYTES >> 20} MiB")
        tokens.append(left + right)
        merges.append((left, right))
    ranks = {token: id for id, token in enumerate(tokens)}
    if len(ranks) < len(tokens):
        twice = next(token for id, token in enumerate(tokens) if ranks[token] != id)
        raise BadFile(f"cannot be represented: two of its merges make {twice[:40]!r}, and here only one can")
    return ranks, merges
