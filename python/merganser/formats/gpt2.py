r"""GPT-2's two files: `vocab.json`, every token with its id, and `merges.txt`, the merges in order.

Bytes stand there as printable characters: those that print stand for themselves, all others, in order, for
the characters from U+0100 on. So a space is Ġ and a newline Ċ:

    {"!": 0, …, "Ġthe": 262, …, "<|endoftext|>": 50256}        #version: 0.2
                                                               Ġ t
                                                               Ġ a

Neither says the pattern. Special tokens are in `vocab.json` as the text they are; they are told by being
neither bytes nor merged. That is why a token that no merge reaches cannot be written.
"""

import json
import re
from typing import Any

from merganser.errors import ExportError
from merganser.formats import BadFile, native
from merganser.tokenizer import Tokenizer

VOCAB, MERGES = "vocab.json", "merges.txt"
FIRST_LINE = "#version: 0.2"
#: Half of a character beyond U+FFFF, as JSON may spell it; the other half should follow.
_ESCAPED_HALF = re.compile(r"\\u[dD][89a-fA-F]")


def _alphabet() -> list[str]:
    printable = {*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)}
    others = iter(range(0x100, 0x200))
    return [chr(byte if byte in printable else next(others)) for byte in range(256)]


_CHARACTER = _alphabet()
_BYTE = {character: byte for byte, character in enumerate(_CHARACTER)}


def printable(token: bytes) -> str:
    """A token in printable characters, one for each byte.

    >>> printable(b" the\\n")
    'ĠtheĊ'
    """
    return "".join([_CHARACTER[byte] for byte in token])


def unprintable(text: str) -> bytes:
    """The bytes that `printable` wrote; a KeyError where it did not.

    >>> unprintable("ĠtheĊ")
    b' the\\n'
    """
    return bytes([_BYTE[character] for character in text])


def vocabulary(tokenizer: Tokenizer) -> dict[str, int]:
    """Every token in printable characters, special ones as they are, in the order of ids."""
    vocab = {printable(token): id for token, id in tokenizer.mergeable_ranks.items()}
    for special, id in tokenizer.special_tokens.items():
        if special in vocab:
            raise ExportError(
                f"the special token {special!r} is how the token {unprintable(special)!r} is spelled in this "
                "format; give it another name"
            )
        vocab[special] = id
    return dict(sorted(vocab.items(), key=lambda entry: entry[1]))


def unreached(tokenizer: Tokenizer) -> list[bytes]:
    """The tokens of two bytes or more that no merge makes."""
    made = set(tokenizer.merges_as_ids.values())
    return [token for token, id in tokenizer.mergeable_ranks.items() if len(token) > 1 and id not in made]


def contents(tokenizer: Tokenizer, _: str = "") -> dict[str, bytes]:
    """The two files, by name."""
    if stuck := unreached(tokenizer):
        raise ExportError(
            f"{len(stuck)} tokens, {stuck[0]!r} the first, are not made by any merge, and vocab.json and "
            "merges.txt hold only tokens that are; export to tiktoken or huggingface instead"
        )
    merges = [f"{printable(left)} {printable(right)}" for left, right in tokenizer.merges]
    if any(line.startswith("#version") for line in merges):
        raise ExportError("one of the merges begins with #version, which readers of merges.txt skip")
    vocab = json.dumps(vocabulary(tokenizer), ensure_ascii=False, separators=(",", ":"))
    lines = "".join(f"{line}\n" for line in [FIRST_LINE, *merges])
    return {VOCAB: vocab.encode() + b"\n", MERGES: lines.encode()}


def same(files: dict[str, bytes], tokenizer: Tokenizer) -> bool:
    """Whether the two files, which do not say the pattern, say all else of this tokenizer."""
    ranks, specials, _ = parse(files[VOCAB], files[MERGES])
    return (ranks, specials) == (tokenizer.mergeable_ranks, tokenizer.special_tokens)


def read_json(data: bytes) -> Any:
    """JSON in UTF-8 in which no name stands twice, and no character is a half one."""
    try:
        text = data.decode()
        value = json.loads(text, object_pairs_hook=_once)
        if _ESCAPED_HALF.search(text):
            json.dumps(value, ensure_ascii=False).encode()
        return value
    except (ValueError, RecursionError) as error:
        raise BadFile(f"is damaged: it is not JSON ({error}); get a fresh copy") from None


def _once(entries: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(entries)
    if len(found) < len(entries):
        raise BadFile("is damaged: it has a token or a name twice; get a fresh copy")
    return found


def parse(vocab: bytes, merges: bytes) -> tuple[dict[bytes, int], dict[str, int], list[tuple[bytes, bytes]]]:
    """The ranks, the special tokens and the merges of two files."""
    ids = checked_vocabulary(read_json(vocab))
    pairs = []
    try:
        lines = merges.decode().replace("\r\n", "\n").removesuffix("\n").split("\n")
    except UnicodeDecodeError as error:
        raise BadFile(
            f"is damaged: its merges are not UTF-8 at byte {error.start}; get a fresh copy"
        ) from None
    start = lines[0].startswith("#version")
    if len(lines) > native.MAX_TOKENS:
        raise BadFile(f"is damaged: it has more than {native.MAX_TOKENS} merges")
    for number, line in enumerate(lines[start:], 1 + start):
        if line:
            pair = line.split(" ")
            if len(pair) != 2:
                raise BadFile(f"is damaged: line {number} of its merges is not two tokens; get a fresh copy")
            pairs.append((pair[0], pair[1]))
    return (*separated(ids, pairs), in_bytes(pairs))


def checked_vocabulary(vocab: object) -> dict[str, int]:
    if not isinstance(vocab, dict) or not all(type(id) is int and 0 <= id < 1 << 32 for id in vocab.values()):
        raise BadFile("is damaged: its vocabulary is not tokens with an id each; get a fresh copy")
    if len(vocab) > native.MAX_TOKENS:
        raise BadFile(f"is damaged: it has more than {native.MAX_TOKENS} tokens")
    return vocab


def separated(ids: dict[str, int], pairs: list[tuple[str, str]]) -> tuple[dict[bytes, int], dict[str, int]]:
    """The tokens that bytes and merges make, and all others, which are special."""
    made = {left + right for left, right in pairs}
    if missing := sorted(token for token in made if token not in ids):
        raise BadFile(f"is damaged: a merge makes {missing[0]!r}, which has no id; get a fresh copy")
    ranks, specials = {}, {}
    for token, id in ids.items():
        if token in _BYTE or token in made:
            try:
                ranks[unprintable(token)] = id
            except KeyError:
                raise BadFile(
                    f"is not byte-level: its token {token!r} has characters that are no bytes"
                ) from None
        else:
            specials[token] = id
    return ranks, specials


def in_bytes(pairs: list[tuple[str, str]]) -> list[tuple[bytes, bytes]]:
    return [(unprintable(left), unprintable(right)) for left, right in pairs]


def check_merges(tokenizer: Tokenizer, merges: list[tuple[bytes, bytes]]) -> None:
    """Refuses merges that would encode in another way than the ids say.

    Ours are merged in the order of their ids, and a token has one pair only that ever makes it (the two-token
    state of docs/how-bpe-works.md). A file may list more pairs, which then never meet.
    """
    ids = tokenizer.mergeable_ranks
    previous = -1
    for left, right in merges:
        id = ids[left + right]
        if left not in ids or right not in ids:
            raise BadFile(f"is damaged: it merges {left!r} and {right!r}, which are not both tokens")
        if id < previous:
            raise BadFile(
                f"cannot be represented: its merge of {left!r} and {right!r} comes later than its id {id} "
                "says, and here ids are the order of merges"
            )
        previous = id
    listed = set(merges)
    if lacking := next((pair for pair in tokenizer.merges if pair not in listed), None):
        raise BadFile(
            f"cannot be represented: it does not list the merge of {lacking[0]!r} and {lacking[1]!r}, "
            f"though {lacking[0] + lacking[1]!r} is a token"
        )
