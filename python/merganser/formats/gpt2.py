r"""GPT-2's two files: `vocab.json` maps every token to its id, `merges.txt` lists the merges in order.

Bytes are spelled as printable characters: a byte that is printable in Latin-1 as itself, every other byte, in
order, as the next character from U+0100. A space is Ġ and a newline Ċ:

    {"!": 0, …, "Ġthe": 262, …, "<|endoftext|>": 50256}        #version: 0.2
                                                               Ġ t
                                                               Ġ a

Neither file contains the pattern. Special tokens appear verbatim in `vocab.json` and are recognized as tokens
that are neither a byte nor the result of a merge. A token that no merge produces can therefore not be
written.
"""

import json
import re
from typing import Any

from merganser.errors import ExportError
from merganser.formats import BadFile, native
from merganser.tokenizer import Tokenizer

VOCAB, MERGES = "vocab.json", "merges.txt"
#: The names that OpenAI gave the two files.
OPENAI_VOCAB, OPENAI_MERGES = "encoder.json", "vocab.bpe"
FIRST_LINE = "#version: 0.2"
_ESCAPED_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")


def _alphabet() -> list[str]:
    printable = {*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)}
    others = iter(range(0x100, 0x200))
    return [chr(byte if byte in printable else next(others)) for byte in range(256)]


_CHARACTER = _alphabet()
_BYTE = {character: byte for byte, character in enumerate(_CHARACTER)}


def to_printable(token: bytes) -> str:
    """Spell a token in printable characters, one per byte.

    >>> to_printable(b" the\\n")
    'ĠtheĊ'
    """
    return "".join([_CHARACTER[byte] for byte in token])


def from_printable(text: str) -> bytes:
    """Undo `to_printable`; raise a `KeyError` for any other character.

    >>> from_printable("ĠtheĊ")
    b' the\\n'
    """
    return bytes([_BYTE[character] for character in text])


def decoded(token: str) -> bytes:
    """Return the bytes that Hugging Face's decoder turns any token into: others are left as they are.

    >>> decoded("Ġthe"), decoded("<s> ")
    (b' the', b'<s> ')
    """
    try:
        return from_printable(token)
    except KeyError:
        return token.encode()


def vocabulary(tokenizer: Tokenizer) -> dict[str, int]:
    """Return every token in printable characters, special tokens verbatim, in order of ids."""
    vocab = {to_printable(token): id for token, id in tokenizer.mergeable_ranks.items()}
    for special, id in tokenizer.special_tokens.items():
        if special in vocab:
            raise ExportError(
                f"the special token {special!r} is spelled like the token {from_printable(special)!r} in "
                "this format; give it another name"
            )
        vocab[special] = id
    return dict(sorted(vocab.items(), key=lambda entry: entry[1]))


def unreachable_tokens(tokenizer: Tokenizer) -> list[bytes]:
    """Return the tokens of two or more bytes that no merge produces."""
    merged = set(tokenizer.merges_as_ids.values())
    return [token for token, id in tokenizer.mergeable_ranks.items() if len(token) > 1 and id not in merged]


def contents(tokenizer: Tokenizer, _: str = "") -> dict[str, bytes]:
    """Return the two files by name."""
    if unreachable := unreachable_tokens(tokenizer):
        raise ExportError(
            f"{len(unreachable)} tokens, the first of them {unreachable[0]!r}, are not produced by any "
            "merge, and vocab.json and merges.txt cannot hold such tokens; export to tiktoken or huggingface "
            "instead"
        )
    merges = [f"{to_printable(left)} {to_printable(right)}" for left, right in tokenizer.merges]
    if any(line.startswith("#version") for line in merges):
        raise ExportError(
            "a merge begins with #version, and readers of merges.txt skip such lines; "
            "export to tiktoken or huggingface instead"
        )
    vocab = json.dumps(vocabulary(tokenizer), ensure_ascii=False, separators=(",", ":"))
    lines = "".join(f"{line}\n" for line in [FIRST_LINE, *merges])
    return {VOCAB: vocab.encode() + b"\n", MERGES: lines.encode()}


def matches(files: dict[str, bytes], tokenizer: Tokenizer) -> bool:
    """Return whether the two files hold this tokenizer, apart from its pattern."""
    ranks, specials, _ = parse(files[VOCAB], files[MERGES])
    return (ranks, specials) == (tokenizer.mergeable_ranks, tokenizer.special_tokens)


def parse_json(data: bytes) -> Any:
    """Parse JSON in UTF-8; raise a `BadFile` for duplicate keys and lone surrogates."""
    try:
        text = data.decode()
        value = json.loads(text, object_pairs_hook=_without_duplicates)
        if _ESCAPED_SURROGATE.search(text):
            json.dumps(value, ensure_ascii=False).encode()
        return value
    except (ValueError, RecursionError) as error:
        raise BadFile(f"is corrupt: it is not JSON ({error}); get a fresh copy") from None


def _without_duplicates(entries: list[tuple[str, Any]]) -> dict[str, Any]:
    unique = dict(entries)
    if len(unique) < len(entries):
        raise BadFile("is corrupt: it has the same token or key twice; get a fresh copy")
    return unique


def parse(vocab: bytes, merges: bytes) -> tuple[dict[bytes, int], dict[str, int], list[tuple[bytes, bytes]]]:
    """Return the ranks, the special tokens and the merges in the two files."""
    ids = checked_vocabulary(parse_json(vocab))
    pairs = parse_merges(merges)
    try:
        return (*separate_special_tokens(ids, pairs), as_bytes(pairs))
    except KeyError as error:
        raise not_byte_level(error.args[0]) from None


def parse_merges(merges: bytes) -> list[tuple[str, str]]:
    """Return the pairs in a `merges.txt`."""
    pairs = []
    try:
        lines = merges.decode().replace("\r\n", "\n").removesuffix("\n").split("\n")
    except UnicodeDecodeError as error:
        raise BadFile(
            f"is corrupt: its merges are not UTF-8 at byte {error.start}; get a fresh copy"
        ) from None
    start = lines[0].startswith("#version")
    if len(lines) > native.MAX_TOKENS:
        raise BadFile(f"is corrupt: it has more than {native.MAX_TOKENS} merges; get a fresh copy")
    for number, line in enumerate(lines[start:], 1 + start):
        if line:
            pair = line.split(" ")
            if len(pair) != 2:
                raise BadFile(f"is corrupt: line {number} of its merges is not two tokens; get a fresh copy")
            pairs.append((pair[0], pair[1]))
    return pairs


def checked_vocabulary(vocab: object) -> dict[str, int]:
    if not isinstance(vocab, dict) or not all(type(id) is int and 0 <= id < 1 << 32 for id in vocab.values()):
        raise BadFile("is corrupt: its vocabulary does not map every token to an id; get a fresh copy")
    if len(vocab) > native.MAX_TOKENS:
        raise BadFile(f"is corrupt: it has more than {native.MAX_TOKENS} tokens; get a fresh copy")
    return vocab


def separate_special_tokens(
    ids: dict[str, int], pairs: list[tuple[str, str]]
) -> tuple[dict[bytes, int], dict[str, int]]:
    """Return the bytes and merged tokens as ranks, and all other tokens as special tokens."""
    merged = {left + right for left, right in pairs}
    if missing := sorted(token for token in merged if token not in ids):
        raise BadFile(f"is corrupt: a merge produces {missing[0]!r}, which has no id; get a fresh copy")
    ranks, specials = {}, {}
    for token, id in ids.items():
        if token in _BYTE or token in merged:
            try:
                ranks[from_printable(token)] = id
            except KeyError as error:
                raise not_byte_level(error.args[0]) from None
        else:
            specials[token] = id
    return ranks, specials


def not_byte_level(character: str) -> BadFile:
    return BadFile(
        f"is not a byte-level BPE tokenizer: its tokens contain {character!r}, which does not spell a byte"
    )


def never_used(token: bytes) -> BadFile:
    return BadFile(f"cannot be represented: its token {token!r} is never used because no merge produces it")


def check_merged_tokens(merges: list[tuple[bytes, bytes]], ranks: dict[bytes, int]) -> None:
    """Raise a `BadFile` for a merge whose result is not a token."""
    if missing := next((pair for pair in merges if pair[0] + pair[1] not in ranks), None):
        raise BadFile(
            f"is corrupt: it merges {missing[0]!r} and {missing[1]!r}, but their concatenation is not a "
            "token; get a fresh copy"
        )


def as_bytes(pairs: list[tuple[str, str]]) -> list[tuple[bytes, bytes]]:
    return [(from_printable(left), from_printable(right)) for left, right in pairs]


def check_merges(tokenizer: Tokenizer, merges: list[tuple[bytes, bytes]]) -> None:
    """Raise a `BadFile` for merges that would encode differently from the order of the ids.

    merganser merges in order of ids, and only one pair can ever produce a given token (the two-token state of
    docs/how-bpe-works.md). A file may list further pairs, which then never occur.
    """
    ids = tokenizer.mergeable_ranks
    previous = -1
    for left, right in merges:
        id = ids[left + right]
        if left not in ids or right not in ids:
            raise BadFile(
                f"is corrupt: it merges {left!r} and {right!r}, which are not both tokens; get a fresh copy"
            )
        if id < previous:
            raise BadFile(
                f"cannot be represented: its merge of {left!r} and {right!r} comes after a merge with a "
                f"higher id than {id}, and merganser merges in order of ids"
            )
        previous = id
    listed = set(merges)
    if missing := next((pair for pair in tokenizer.merges if pair not in listed), None):
        raise BadFile(
            f"cannot be represented: it does not list the merge of {missing[0]!r} and {missing[1]!r}, "
            f"although {missing[0] + missing[1]!r} is a token"
        )
