"""GGUF, the file of llama.cpp, as far as the vocabulary goes: what `vocab_only` needs, and no tensors.

The facts that matter; `formats/gguf_facts.py` reads and writes them:

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

With llama3, a pre-token that is a token stays whole, so that tokens that no merge reaches can be written;
with the others they cannot. Ids without a token become unused ones.

Reading takes the facts from the front of a file of any size. What a caller puts around the text, such as a
token at its beginning, is no part of a tokenizer here.
"""

from typing import Any

from merganser._core import split
from merganser.errors import ExportError, MerganserError
from merganser.formats import BadFile, gguf_facts, gpt2
from merganser.formats.roles import roles
from merganser.tokenizer import Tokenizer

MAGIC = gguf_facts.MAGIC
FILE = "tokenizer.gguf"
#: The facts of the largest models are far below this; behind them are the tensors, which are not read.
MAX_HEADER_BYTES = 1 << 27

#: Our patterns, by the name llama.cpp has for them; the first of several is written.
_PATTERNS = {
    "gpt-2": "gpt2",
    "llama-bpe": "llama3",
    "llama3": "llama3",
    "llama-v3": "llama3",
    "qwen2": "qwen2",
    "deepseek-r1-qwen": "qwen2",
}
CAUTION = (
    "llama.cpp splits a few rare texts in another way than we do, and so than the models themselves: "
    "characters that are new in Unicode 16, and, with llama3 and qwen2, 'ſ before a letter. All other text "
    "has the same ids there"
)
#: With these a pre-token that is a token stays whole, whatever the merges.
_WHOLE = "llama3"
_NORMAL, _CONTROL, _UNUSED = 1, 3, 5
#: Roles of special tokens that llama.cpp may add to a text.
_ROLES = ("bos", "eos")
#: The lists that are kept in memory; models have others.
_LISTS = {f"tokenizer.ggml.{name}" for name in ("tokens", "token_type", "merges")}


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
    facts: dict[str, gguf_facts.Fact] = {
        "general.architecture": "gpt2",
        "tokenizer.ggml.model": "gpt2",
        "tokenizer.ggml.pre": pre,
        "tokenizer.ggml.tokens": [spelled.get(id) or _unused(id, vocab) for id in ids],
        "tokenizer.ggml.token_type": kinds,
        "tokenizer.ggml.merges": [" ".join(map(gpt2.printable, pair)) for pair in tokenizer.merges],
    }
    for role, special in roles(tokenizer).items():
        if role in _ROLES:
            facts[f"tokenizer.ggml.{role}_token_id"] = tokenizer.special_tokens[special]
    # llama.cpp would otherwise put the first of them before every text with the pattern of Llama 3.
    facts |= {f"tokenizer.ggml.add_{role}_token": False for role in _ROLES}
    return {name if name.endswith(".gguf") else FILE: gguf_facts.written(facts)}


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
                f"the special token {special!r} is how llama.cpp spells the pre-token {text!r}, which "
                "it would take for it even as plain text; give it another name"
            )


def _unused(id: int, vocab: dict[str, int]) -> str:
    name = f"[PAD{id}]"
    if name in vocab:
        raise ExportError(f"the token {name!r} has the name of an id without a token; give it another one")
    return name


# ── reading ───────────────────────────────────────────────────────────────────


def parse(data: bytes) -> Tokenizer:
    """The tokenizer of a file, or of its beginning."""
    facts = gguf_facts.read(data, _LISTS)

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
