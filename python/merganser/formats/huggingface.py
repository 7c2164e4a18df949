"""Hugging Face: byte-level BPE in `tokenizer.json`, with `tokenizer_config.json` and `chat_template.jinja`.

Tokens are spelled as in GPT-2's files (`formats/gpt2.py`), and the pattern is translated for Hugging Face's
regex engine (`formats/oniguruma.py`). `ignore_merges` keeps a token whole that no merge produces. Special
tokens whose ids directly follow the vocabulary are left out of it; others are included to keep their ids.

Files are written, and read by `formats/huggingface_reading.py`, without the library; the extra `[hf]` is
needed only for live objects.
"""

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from merganser._core import split
from merganser.errors import ExportError
from merganser.extras import imported
from merganser.formats import gpt2, huggingface_writing, oniguruma
from merganser.formats.huggingface_reading import from_live, parse
from merganser.formats.roles import check_roles, roles
from merganser.formats.stages import template_processing
from merganser.tokenizer import Tokenizer

if TYPE_CHECKING:
    import tokenizers

__all__ = ["CHAT", "CONFIG", "FILE", "contents", "from_live", "parse", "to_huggingface"]

FILE, CONFIG, CHAT = "tokenizer.json", "tokenizer_config.json", "chat_template.jinja"
_BYTE_LEVEL = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False}


def contents(
    tokenizer: Tokenizer, given_roles: Mapping[str, str] | None = None, chat_template: str | None = None
) -> dict[str, bytes]:
    """Return the files by name.

    Parameters
    ----------
    tokenizer
        The tokenizer to write.
    given_roles
        Special tokens by role; other roles are assigned by conventional names.
    chat_template
        The Jinja template for conversations.
    """
    check_roles(given_roles or {}, tokenizer)
    special = {**roles(tokenizer), **(given_roles or {})}
    files = {FILE: _json(_as_json(tokenizer))}
    if chat_template is not None:
        files[CHAT] = chat_template.encode()
    config = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "add_prefix_space": False,
        "clean_up_tokenization_spaces": False,
        "model_max_length": 10**30,
        **{f"{role}_token": name for role, name in special.items()},
        "additional_special_tokens": [
            name for name in tokenizer.special_tokens if name not in special.values()
        ],
    }
    return files | {CONFIG: _json(config)}


def to_huggingface(tokenizer: Tokenizer) -> "tokenizers.Tokenizer":
    """Return the `tokenizers.Tokenizer` equivalent to a tokenizer."""
    library = imported("tokenizers", "hf", "to_huggingface")
    live: tokenizers.Tokenizer = library.Tokenizer.from_str(json.dumps(_as_json(tokenizer)))
    return live


def _json(value: dict[str, Any]) -> bytes:
    return json.dumps(value, ensure_ascii=False, indent=2).encode() + b"\n"


def _as_json(tokenizer: Tokenizer) -> dict[str, Any]:
    if tokenizer.has_stages:
        return huggingface_writing.as_json(tokenizer)
    vocab = {gpt2.to_printable(token): id for token, id in tokenizer.mergeable_ranks.items()}
    specials = sorted(tokenizer.special_tokens.items(), key=lambda entry: entry[1])
    ignore_merges = bool(gpt2.unreachable_tokens(tokenizer))
    follows = [id for _, id in specials] == list(range(len(vocab), len(vocab) + len(specials)))
    with_specials = gpt2.vocabulary(tokenizer)  # raises if a special token is spelled like another token
    if not follows:
        vocab = with_specials
        if ignore_merges and (
            ambiguous := next((name for name, _ in specials if _is_pretoken(tokenizer, name)), None)
        ):
            raise ExportError(
                f"the special token {ambiguous!r} is one pre-token, and Hugging Face would encode it as "
                "special even in ordinary text; give the special tokens ids that follow all others"
            )
    if tokenizer.pattern_name is None:
        pattern = oniguruma.with_fallback(tokenizer.pattern)
    else:
        pattern = oniguruma.to_oniguruma(tokenizer.pattern)
    splitter = {"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated", "invert": False}
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [
            {
                "id": id,
                "content": name,
                "single_word": False,
                "lstrip": False,
                "rstrip": False,
                "normalized": False,
                "special": True,
            }
            for name, id in specials
        ],
        "normalizer": None,
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": [splitter, _BYTE_LEVEL]},
        "post_processor": template_processing(
            _named(tokenizer, tokenizer.template["prepend"]), _named(tokenizer, tokenizer.template["append"])
        ),
        "decoder": {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True},
        "model": {
            "type": "BPE",
            "dropout": None,
            "unk_token": None,
            "continuing_subword_prefix": None,
            "end_of_word_suffix": None,
            "fuse_unk": False,
            "byte_fallback": False,
            "ignore_merges": ignore_merges,
            "vocab": vocab,
            "merges": [
                [gpt2.to_printable(left), gpt2.to_printable(right)] for left, right in tokenizer.merges
            ],
        },
    }


def _named(tokenizer: Tokenizer, tokens: list[str | int]) -> dict[str, int]:
    """Return the ids of tokens by the names that they have in the file."""
    return {
        token if isinstance(token, str) else gpt2.to_printable(tokenizer.token_bytes(token)): id
        for token, [id] in ((token, tokenizer.encode("", prepend=token)) for token in tokens)
    }


def _is_pretoken(tokenizer: Tokenizer, special: str) -> bool:
    return len(split(special, tokenizer.pattern)) == 1
