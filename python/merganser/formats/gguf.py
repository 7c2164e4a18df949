"""GGUF, the file of llama.cpp, as far as the vocabulary goes: what `vocab_only` needs, and no tensors.

    "GGUF", version 3, number of tensors, number of facts, then the facts: name, type, value

All numbers are little-endian; a string is its length and its UTF-8. The facts that matter:

| `tokenizer.ggml.…` | what it is |
|---|---|
| `model` | "gpt2", which is what llama.cpp calls byte-level BPE |
| `pre` | the name of a pattern: llama.cpp knows patterns by name only |
| `tokens` | by id, spelled as in GPT-2's files |
| `token_type` | of each token: 1 ordinary, 3 special, 5 an id without a token |
| `merges` | in order |
| `bos_token_id` … | of special tokens with such names; llama.cpp takes 11 for those it misses |

Of our patterns, llama.cpp has gpt2, llama3 and qwen2 under names of its own. Its gpt-4o only resembles o200k
(letters beyond a to z have no case there), and it has nothing for the others: these are refused. Even with
the former it departs from us, and from the models' own tokenizers, in two rare things: its characters are
those of Unicode before 16, and with llama3 and qwen2 ſ is no s there: it does not cut `'ſ` off a letter.

With llama3, a piece that is a token stays whole, so that tokens that no merge reaches can be written; with
the others they cannot. Ids without a token become unused ones.

Reading takes the facts from the front of a file of any size. What a caller puts around the text, such as a
token at its beginning, is no part of a tokenizer here.
"""

import struct
from typing import Any

from merganser._core import split
from merganser.errors import ExportError, MerganserError
from merganser.formats import BadFile, gpt2, native
from merganser.tokenizer import Tokenizer

MAGIC = b"GGUF"
VERSION = 3
FILE = "tokenizer.gguf"
#: The facts of the largest models are far below this; behind them are the tensors, which are not read.
MAX_HEADER_BYTES = 1 << 27
_MAX_FACTS = 1 << 12

#: Our patterns, by the name llama.cpp has for them; the first of several is written.
_PATTERNS = {
    "gpt-2": "gpt2",
    "llama-bpe": "llama3",
    "llama3": "llama3",
    "llama-v3": "llama3",
    "qwen2": "qwen2",
    "deepseek-r1-qwen": "qwen2",
}
#: With these a piece that is a token stays whole, whatever the merges.
_WHOLE = "llama3"
_NORMAL, _CONTROL, _UNUSED = 1, 3, 5
_ROLES = {
    "bos": ("<|bos|>", "<|begin_of_text|>", "<s>", "<bos>"),
    "eos": ("<|endoftext|>", "<|end_of_text|>", "</s>", "<eos>"),
}

_UINT32, _INT32, _BOOL, _STRING, _ARRAY = 4, 5, 7, 8, 9
#: The lists that are kept in memory; models have others.
_LISTS = {f"tokenizer.ggml.{name}" for name in ("tokens", "token_type", "merges")}
#: Of each type of numbers its letter in `struct`.
_NUMBERS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}


# ── writing ───────────────────────────────────────────────────────────────────


def contents(tokenizer: Tokenizer, name: str) -> dict[str, bytes]:
    """The file of that name, or in a folder tokenizer.gguf."""
    pre = next((pre for pre, ours in _PATTERNS.items() if ours == tokenizer.pattern_name), None)
    if pre is None:
        known = ", ".join(sorted(set(_PATTERNS.values())))
        raise ExportError(
            f"llama.cpp has no pattern that is the same as {tokenizer.pattern_name or tokenizer.pattern!r}: "
            f"of ours it knows {known}; train with one of these, or export to huggingface"
        )
    _refuse_what_would_be_encoded_otherwise(tokenizer)
    vocab = gpt2.vocabulary(tokenizer)
    spelled = {id: token for token, id in vocab.items()}
    specials = set(tokenizer.special_tokens.values())
    ids = range(tokenizer.next_id)
    kinds = [_UNUSED if id not in spelled else _CONTROL if id in specials else _NORMAL for id in ids]
    facts = [
        _fact("general.architecture", _STRING, _string("gpt2")),
        _fact("tokenizer.ggml.model", _STRING, _string("gpt2")),
        _fact("tokenizer.ggml.pre", _STRING, _string(pre)),
        _strings("tokenizer.ggml.tokens", [spelled.get(id) or _unused(id, vocab) for id in ids]),
        _fact(
            "tokenizer.ggml.token_type",
            _ARRAY,
            struct.pack(f"<IQ{len(kinds)}i", _INT32, len(kinds), *kinds),
        ),
        _strings("tokenizer.ggml.merges", [" ".join(map(gpt2.printable, pair)) for pair in tokenizer.merges]),
    ]
    for role, names in _ROLES.items():
        if found := next((name for name in names if name in tokenizer.special_tokens), None):
            id = struct.pack("<I", tokenizer.special_tokens[found])
            facts.append(_fact(f"tokenizer.ggml.{role}_token_id", _UINT32, id))
    # llama.cpp would otherwise put the first of them before every text with the pattern of Llama 3.
    facts += [_fact(f"tokenizer.ggml.add_{role}_token", _BOOL, b"\0") for role in _ROLES]
    header = MAGIC + struct.pack("<IQQ", VERSION, 0, len(facts))
    return {name if name.endswith(".gguf") else FILE: header + b"".join(facts)}


def same(files: dict[str, bytes], tokenizer: Tokenizer) -> bool:
    [data] = files.values()
    return parse(data) == tokenizer


def _refuse_what_would_be_encoded_otherwise(tokenizer: Tokenizer) -> None:
    if tokenizer.pattern_name != _WHOLE:
        if stuck := gpt2.unreached(tokenizer):
            raise ExportError(
                f"{len(stuck)} tokens, {stuck[0]!r} the first, are not made by any merge, and llama.cpp "
                "would never use them with this pattern; export to tiktoken or huggingface instead"
            )
        return
    for special in tokenizer.special_tokens:
        try:
            text = gpt2.unprintable(special).decode()
        except (KeyError, UnicodeDecodeError):
            continue
        if len(split(text, tokenizer.pattern)) == 1:
            raise ExportError(
                f"the special token {special!r} is how llama.cpp spells the piece {text!r}, which it would "
                "take for it even as plain text; give it another name"
            )


def _unused(id: int, vocab: dict[str, int]) -> str:
    name = f"[PAD{id}]"
    if name in vocab:
        raise ExportError(f"the token {name!r} has the name of an id without a token; give it another one")
    return name


def _string(text: str) -> bytes:
    data = text.encode()
    return struct.pack("<Q", len(data)) + data


def _fact(name: str, kind: int, value: bytes) -> bytes:
    return _string(name) + struct.pack("<I", kind) + value


def _strings(name: str, values: list[str]) -> bytes:
    return _fact(name, _ARRAY, struct.pack("<IQ", _STRING, len(values)) + b"".join(map(_string, values)))


# ── reading ───────────────────────────────────────────────────────────────────


def parse(data: bytes) -> Tokenizer:
    """The tokenizer of a file, or of its beginning."""
    facts = _Reader(data).facts()

    def fact(name: str, kind: type) -> Any:
        value = facts.get(f"tokenizer.ggml.{name}")
        if not isinstance(value, kind):
            raise BadFile(f"holds no tokenizer, or a damaged one: tokenizer.ggml.{name} is not there")
        return value

    model, pre = fact("model", str), facts.get("tokenizer.ggml.pre")
    if model != "gpt2":
        raise BadFile(f"cannot be represented: its model is {model[:40]!r}, and only byte-level BPE is known")
    if not isinstance(pre, str) or pre not in _PATTERNS:
        raise BadFile(
            f"cannot be represented: its pattern {str(pre)[:40]!r} is not known to be one of ours; known are "
            f"{', '.join(_PATTERNS)}"
        )
    ranks, specials = _tokens(fact("tokens", list), fact("token_type", list))
    merges = [_pair(merge) for merge in fact("merges", list)]
    if missing := next((pair for pair in merges if pair[0] + pair[1] not in ranks), None):
        raise BadFile(f"is damaged: it merges {missing[0]!r} and {missing[1]!r} to what is no token")
    try:
        tokenizer = Tokenizer(ranks, pattern=_PATTERNS[pre], special_tokens=specials)
    except MerganserError as error:
        raise BadFile(f"holds no usable tokenizer: {error}") from error
    gpt2.check_merges(tokenizer, merges)
    if _PATTERNS[pre] != _WHOLE and (stuck := gpt2.unreached(tokenizer)):
        raise BadFile(f"cannot be represented: no merge makes its token {stuck[0]!r}, which is never used")
    return tokenizer


def _tokens(tokens: list[Any], kinds: list[Any]) -> tuple[dict[bytes, int], dict[str, int]]:
    if len(tokens) != len(kinds):
        raise BadFile("is damaged: it has not as many types as tokens; get a fresh copy")
    ranks: dict[bytes, int] = {}
    specials: dict[str, int] = {}
    for id, (token, kind) in enumerate(zip(tokens, kinds, strict=True)):
        if not isinstance(token, str):
            raise BadFile("is damaged: its tokens are not strings; get a fresh copy")
        if kind == _NORMAL:
            if ranks.setdefault(_bytes(token), id) != id:
                raise BadFile(f"is damaged: it has the token {token!r} twice; get a fresh copy")
        elif kind == _CONTROL:
            if specials.setdefault(token, id) != id:
                raise BadFile(f"is damaged: it has the special token {token!r} twice; get a fresh copy")
        elif kind != _UNUSED:
            raise BadFile(
                f"cannot be represented: its token {token[:40]!r} is of the type {kind}, and here tokens are "
                f"ordinary ({_NORMAL}), special ({_CONTROL}) or unused ({_UNUSED})"
            )
    return ranks, specials


def _pair(merge: object) -> tuple[bytes, bytes]:
    left, space, right = merge.partition(" ") if isinstance(merge, str) else ("", "", "")
    if not left or not space or not right:
        raise BadFile("is damaged: one of its merges is not two tokens; get a fresh copy")
    return _bytes(left), _bytes(right)


def _bytes(token: str) -> bytes:
    try:
        return gpt2.unprintable(token)
    except KeyError as error:
        raise BadFile(f"is not byte-level: {error} in its tokens is no byte") from None


class _Reader:
    """Goes through the facts. Whatever a length says, no more is made than there are bytes."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.at = 0

    def facts(self) -> dict[str, Any]:
        self.at = len(MAGIC)
        version, _, number = self.numbers("IQQ")
        if version != VERSION:
            raise BadFile(
                f"has GGUF's version {version}, and this merganser reads {VERSION}; convert it again"
            )
        if number > _MAX_FACTS:
            raise BadFile(f"is damaged: it has more than {_MAX_FACTS} facts")
        facts: dict[str, Any] = {}
        for _ in range(number):
            name = self.string()
            if name in facts:
                raise BadFile(f"is damaged: it says {name[:60]!r} twice; get a fresh copy")
            [kind] = self.numbers("I")
            facts[name] = self.value(kind, name in _LISTS)
        return facts

    def value(self, kind: int, keep_list: bool) -> Any:
        if kind == _STRING:
            return self.string()
        if kind in _NUMBERS:
            return self.numbers(_NUMBERS[kind])[0]
        if kind != _ARRAY:
            raise BadFile(f"is damaged: at byte {self.at} is a value of the unknown type {kind}")
        kind, length = self.numbers("IQ")
        if length > native.MAX_TOKENS:
            raise BadFile(f"is damaged: it has a list of more than {native.MAX_TOKENS} values")
        if kind == _STRING and keep_list:
            return [self.string() for _ in range(length)]
        if kind == _STRING:
            for _ in range(length):
                self.take(self.numbers("Q")[0])
        elif kind in _NUMBERS and keep_list:
            return list(self.numbers(f"{length}{_NUMBERS[kind]}"))
        elif kind in _NUMBERS:
            self.take(length * struct.calcsize(f"<{_NUMBERS[kind]}"))
        else:
            raise BadFile(f"is damaged: at byte {self.at} is a list of values of the type {kind}")
        return None

    def numbers(self, letters: str) -> tuple[Any, ...]:
        return struct.unpack(f"<{letters}", self.take(struct.calcsize(f"<{letters}")))

    def string(self) -> str:
        [length] = self.numbers("Q")
        start = self.at
        try:
            return self.take(length).decode()
        except UnicodeDecodeError:
            raise BadFile(f"is damaged: at byte {start} is a string that is not UTF-8") from None

    def take(self, length: int) -> bytes:
        end = self.at + length
        if end > len(self.data):
            raise BadFile(f"is damaged: it ends at byte {len(self.data)}, in the middle; get a fresh copy")
        taken = self.data[self.at : end]
        self.at = end
        return taken
