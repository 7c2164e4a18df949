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

Reading, `formats/gguf_reading.py`, knows more models, patterns and types.
"""

import warnings
from typing import Literal

from merganser._core import split
from merganser.errors import ExportError, MerganserWarning
from merganser.formats import gguf_metadata, gpt2
from merganser.formats.gguf_reading import PLAIN_PATTERNS, parse
from merganser.formats.roles import roles
from merganser.tokenizer import Tokenizer

__all__ = ["CAUTION", "FILE", "MAGIC", "MAX_HEADER_BYTES", "contents", "matches", "parse"]

MAGIC = gguf_metadata.MAGIC
FILE = "tokenizer.gguf"
MAX_HEADER_BYTES = gguf_metadata.MAX_HEADER_BYTES

CAUTION = (
    "llama.cpp splits a few rare texts differently from merganser and the original models: characters new in "
    "Unicode 16 and, with llama3 and qwen2, 'ſ before a letter. All other text has the same ids there"
)
#: The preset with which a pre-token that is a token stays whole, whatever the merges.
_KEEPS_TOKENS_WHOLE = "llama3"
_NORMAL, _CONTROL, _UNUSED = 1, 3, 5
#: Roles of special tokens that llama.cpp may add to a text.
_ROLES: dict[str, Literal["prepend", "append"]] = {"bos": "prepend", "eos": "append"}


# ── writing ───────────────────────────────────────────────────────────────────


def contents(tokenizer: Tokenizer, name: str) -> dict[str, bytes]:
    """Return the file called `name` if that ends in .gguf, else `tokenizer.gguf`."""
    pre = next((pre for pre, ours in PLAIN_PATTERNS.items() if ours == tokenizer.pattern_name), None)
    if pre is None:
        known = ", ".join(sorted(set(PLAIN_PATTERNS.values())))
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
    names = roles(tokenizer)
    for role, special in names.items():
        if role in _ROLES:
            metadata[f"tokenizer.ggml.{role}_token_id"] = tokenizer.special_tokens[special]
    # Always stated: by default, llama.cpp prepends bos to every text with the llama3 pattern.
    for role, side in _ROLES.items():
        around = tokenizer.template[side]
        adds = bool(around) and around == [names.get(role)]
        if around and not adds:
            warnings.warn(
                f"llama.cpp cannot {side} {around} to every text, only {role}: the file does not say so",
                MerganserWarning,
                stacklevel=2,
            )
        metadata[f"tokenizer.ggml.add_{role}_token"] = adds
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
