"""GGUF, llama.cpp's file format: the vocabulary only, as `vocab_only` loads it, without tensors.

The relevant metadata, which `formats/gguf_metadata.py` reads and writes:

| `tokenizer.ggml.…` | value |
|---|---|
| `model` | "gpt2", llama.cpp's name for byte-level BPE |
| `pre` | the name of a pattern: llama.cpp identifies patterns only by name |
| `tokens` | tokens by id, spelled as in GPT-2's files |
| `token_type` | type of each token: 1 ordinary, 3 special, 5 unused id |
| `merges` | merges in order |
| `bos_token_id` … | ids of the special tokens with these roles; llama.cpp assumes 11 if one is missing |

Of merganser's presets, llama.cpp has gpt2, llama3 and qwen2 under its own names. Its gpt-4o only resembles
o200k (it ignores the case of letters outside a to z), and it has no equivalent of the others, so they are
refused. Even with the shared patterns it differs from merganser, and from the models' own tokenizers, in two
rare cases: its character classes predate Unicode 16, and with llama3 and qwen2 it does not treat ſ as an s,
so that `'ſ` is not split from a following letter.

With llama3, a pre-token that is a token stays whole, so tokens that no merge produces can be written; with
the other patterns they cannot. Ids without a token are written as unused.

Reading takes the metadata from the start of a file of any size. Tokens that llama.cpp adds around a text,
such as bos, are not part of the tokenizer.
"""

from typing import Any

from merganser._core import split
from merganser.errors import ExportError, MerganserError
from merganser.formats import BadFile, gguf_metadata, gpt2
from merganser.formats.roles import roles
from merganser.tokenizer import Tokenizer

MAGIC = gguf_metadata.MAGIC
FILE = "tokenizer.gguf"
#: Far above the metadata of the largest models; the tensors that follow are not read.
MAX_HEADER_BYTES = 1 << 27

#: Presets by llama.cpp's name; the first name of a preset is written.
_PATTERNS = {
    "gpt-2": "gpt2",
    "llama-bpe": "llama3",
    "llama3": "llama3",
    "llama-v3": "llama3",
    "qwen2": "qwen2",
    "deepseek-r1-qwen": "qwen2",
}
CAUTION = (
    "llama.cpp splits a few rare texts differently from merganser and the original models: characters new in "
    "Unicode 16 and, with llama3 and qwen2, 'ſ before a letter. All other text has the same ids there"
)
#: The preset with which a pre-token that is a token stays whole, whatever the merges.
_KEEPS_TOKENS_WHOLE = "llama3"
_NORMAL, _CONTROL, _UNUSED = 1, 3, 5
#: Roles of special tokens that llama.cpp may add to a text.
_ROLES = ("bos", "eos")
#: Lists to keep in memory; model files contain others.
_LISTS = {f"tokenizer.ggml.{name}" for name in ("tokens", "token_type", "merges")}


# ── writing ───────────────────────────────────────────────────────────────────


def contents(tokenizer: Tokenizer, name: str) -> dict[str, bytes]:
    """Return the file called `name` if that ends in .gguf, else `tokenizer.gguf`."""
    pre = next((pre for pre, ours in _PATTERNS.items() if ours == tokenizer.pattern_name), None)
    if pre is None:
        known = ", ".join(sorted(set(_PATTERNS.values())))
        raise ExportError(
            f"llama.cpp has no equivalent of the pattern {tokenizer.pattern_name or tokenizer.pattern!r}, "
            f"only of {known}; train with one of these, or export to huggingface"
        )
    _check_encodes_alike(tokenizer)
    vocab = gpt2.vocabulary(tokenizer)
    spelled = {id: token for token, id in vocab.items()}
    specials = set(tokenizer.special_tokens.values())
    ids = range(tokenizer.next_id)
    kinds = [_UNUSED if id not in spelled else _CONTROL if id in specials else _NORMAL for id in ids]
    metadata: dict[str, gguf_metadata.Value] = {
        "general.architecture": "gpt2",
        "tokenizer.ggml.model": "gpt2",
        "tokenizer.ggml.pre": pre,
        "tokenizer.ggml.tokens": [spelled.get(id) or _unused(id, vocab) for id in ids],
        "tokenizer.ggml.token_type": kinds,
        "tokenizer.ggml.merges": [" ".join(map(gpt2.to_printable, pair)) for pair in tokenizer.merges],
    }
    for role, special in roles(tokenizer).items():
        if role in _ROLES:
            metadata[f"tokenizer.ggml.{role}_token_id"] = tokenizer.special_tokens[special]
    # By default, llama.cpp prepends bos to every text with the llama3 pattern.
    metadata |= {f"tokenizer.ggml.add_{role}_token": False for role in _ROLES}
    return {name if name.endswith(".gguf") else FILE: gguf_metadata.serialize(metadata)}


def matches(files: dict[str, bytes], tokenizer: Tokenizer) -> bool:
    """Return whether the file holds this tokenizer."""
    [data] = files.values()
    return parse(data) == tokenizer


def _check_encodes_alike(tokenizer: Tokenizer) -> None:
    """Raise an `ExportError` if llama.cpp would encode some text differently."""
    if tokenizer.pattern_name != _KEEPS_TOKENS_WHOLE:
        if unreachable := gpt2.unreachable_tokens(tokenizer):
            raise ExportError(
                f"{len(unreachable)} tokens, the first of them {unreachable[0]!r}, are not produced by any "
                "merge, and llama.cpp would never use them with this pattern; export to tiktoken or "
                "huggingface instead"
            )
        return
    for special in tokenizer.special_tokens:
        try:
            text = gpt2.from_printable(special).decode()
        except (KeyError, UnicodeDecodeError):
            continue
        if len(split(text, tokenizer.pattern)) == 1:
            raise ExportError(
                f"the special token {special!r} is how llama.cpp spells the pre-token {text!r}, so it would "
                "encode that as special even in ordinary text; give the special token another name"
            )


def _unused(id: int, vocab: dict[str, int]) -> str:
    name = f"[PAD{id}]"
    if name in vocab:
        raise ExportError(
            f"the token {name!r} has the name that GGUF gives an unused id; give it another name"
        )
    return name


# ── reading ───────────────────────────────────────────────────────────────────


def parse(data: bytes) -> Tokenizer:
    """Return the tokenizer in a file or its prefix."""
    metadata = gguf_metadata.parse(data, _LISTS)

    def entry(name: str, kind: type) -> Any:
        value = metadata.get(f"tokenizer.ggml.{name}")
        if not isinstance(value, kind):
            raise BadFile(
                f"holds no usable tokenizer: tokenizer.ggml.{name} is missing or has the wrong type"
            )
        return value

    model, pre = entry("model", str), metadata.get("tokenizer.ggml.pre")
    if model != "gpt2":
        raise BadFile(
            f"cannot be represented: its model is {model[:40]!r}, and only byte-level BPE ('gpt2') is "
            "supported"
        )
    if not isinstance(pre, str) or pre not in _PATTERNS:
        raise BadFile(
            f"cannot be represented: its pattern {str(pre)[:40]!r} has no known equivalent; supported are "
            f"{', '.join(_PATTERNS)}"
        )
    ranks, specials = _tokens(entry("tokens", list), entry("token_type", list))
    merges = [_pair(merge) for merge in entry("merges", list)]
    gpt2.check_merged_tokens(merges, ranks)
    try:
        tokenizer = Tokenizer(ranks, pattern=_PATTERNS[pre], special_tokens=specials)
    except MerganserError as error:
        raise BadFile(f"holds no usable tokenizer: {error}") from error
    gpt2.check_merges(tokenizer, merges)
    if _PATTERNS[pre] != _KEEPS_TOKENS_WHOLE and (unreachable := gpt2.unreachable_tokens(tokenizer)):
        raise gpt2.never_used(unreachable[0])
    return tokenizer


def _tokens(tokens: list[Any], kinds: list[Any]) -> tuple[dict[bytes, int], dict[str, int]]:
    if len(tokens) != len(kinds):
        raise BadFile(
            f"is corrupt: it has {len(tokens)} tokens but {len(kinds)} token types; get a fresh copy"
        )
    ranks: dict[bytes, int] = {}
    specials: dict[str, int] = {}
    for id, (token, kind) in enumerate(zip(tokens, kinds, strict=True)):
        if not isinstance(token, str):
            raise BadFile("is corrupt: its tokens are not strings; get a fresh copy")
        if kind == _NORMAL:
            if ranks.setdefault(_bytes(token), id) != id:
                raise BadFile(f"is corrupt: it has the token {token!r} twice; get a fresh copy")
        elif kind == _CONTROL:
            if specials.setdefault(token, id) != id:
                raise BadFile(f"is corrupt: it has the special token {token!r} twice; get a fresh copy")
        elif kind != _UNUSED:
            raise BadFile(
                f"cannot be represented: its token {token[:40]!r} has type {kind}; supported types are "
                f"ordinary ({_NORMAL}), special ({_CONTROL}) and unused ({_UNUSED})"
            )
    return ranks, specials


def _pair(merge: object) -> tuple[bytes, bytes]:
    left, space, right = merge.partition(" ") if isinstance(merge, str) else ("", "", "")
    if not left or not space or not right:
        raise BadFile("is corrupt: one of its merges is not two tokens; get a fresh copy")
    return _bytes(left), _bytes(right)


def _bytes(token: str) -> bytes:
    try:
        return gpt2.from_printable(token)
    except KeyError as error:
        raise gpt2.not_byte_level(error.args[0]) from None
