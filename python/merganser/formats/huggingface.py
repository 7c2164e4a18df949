"""Hugging Face: `tokenizer.json` of the byte-level BPE kind, with `tokenizer_config.json` and, for a chat,
`chat_template.jinja` beside it.

The tokens are spelled as in GPT-2's files (`formats/gpt2.py`), the pattern is rewritten for the engine that
reads it (`formats/oniguruma.py`). A token that no merge reaches stays whole by `ignore_merges`. Special
tokens are not in the model's vocabulary if their ids follow it without a gap; otherwise
they are, to keep their ids.

Files are made and read (`formats/huggingface_reading.py`) without the library: the extra `[hf]` is for the
live object only.
"""

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from merganser._core import split
from merganser.errors import ExportError
from merganser.extras import imported
from merganser.formats import gpt2, oniguruma
from merganser.formats.huggingface_reading import from_live, parse
from merganser.formats.roles import checked, roles
from merganser.tokenizer import Tokenizer

if TYPE_CHECKING:
    import tokenizers

__all__ = ["CHAT", "CONFIG", "FILE", "contents", "from_live", "parse", "to_huggingface"]

FILE, CONFIG, CHAT = "tokenizer.json", "tokenizer_config.json", "chat_template.jinja"
_BYTE_LEVEL = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False}


def contents(
    tokenizer: Tokenizer, given: Mapping[str, str] | None = None, chat_template: str | None = None
) -> dict[str, bytes]:
    """Return the files by name.

    given: the special tokens of some roles; the others go by well-known names.
    chat_template: the Jinja template of conversations.
    """
    special = roles(tokenizer) | checked(given or {}, tokenizer)
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
    library = imported("tokenizers", "hf", "to_huggingface")
    live: tokenizers.Tokenizer = library.Tokenizer.from_str(json.dumps(_as_json(tokenizer)))
    return live


def _json(value: dict[str, Any]) -> bytes:
    return json.dumps(value, ensure_ascii=False, indent=2).encode() + b"\n"


def _as_json(tokenizer: Tokenizer) -> dict[str, Any]:
    vocab = {gpt2.printable(token): id for token, id in tokenizer.mergeable_ranks.items()}
    specials = sorted(tokenizer.special_tokens.items(), key=lambda entry: entry[1])
    ignore_merges = bool(gpt2.unreached(tokenizer))
    follows = [id for _, id in specials] == list(range(len(vocab), len(vocab) + len(specials)))
    whole = gpt2.vocabulary(tokenizer)  # refuses a special token that is spelled like another
    if not follows:
        vocab = whole
        if ignore_merges and (
            alone := next((name for name, _ in specials if _is_pretoken(tokenizer, name)), None)
        ):
            raise ExportError(
                f"the special token {alone!r} is one pre-token, and Hugging Face would take it for "
                "special even as plain text; give the special tokens ids that follow all others"
            )
    if tokenizer.pattern_name is None:
        pattern = oniguruma.with_rest(tokenizer.pattern)
    else:
        pattern = oniguruma.written(tokenizer.pattern)
    cut = {"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated", "invert": False}
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
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": [cut, _BYTE_LEVEL]},
        "post_processor": None,
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
            "merges": [[gpt2.printable(left), gpt2.printable(right)] for left, right in tokenizer.merges],
        },
    }


def _is_pretoken(tokenizer: Tokenizer, special: str) -> bool:
    return len(split(special, tokenizer.pattern)) == 1
