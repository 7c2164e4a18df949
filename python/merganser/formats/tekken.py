"""Mistral's `tekken.json`: ranks of byte-level BPE, a pattern, and special tokens, which have the first ids.

    {"config": {"pattern": "…", "default_vocab_size": 131072, "default_num_special_tokens": 1000, …},
     "vocab": [{"rank": 0, "token_bytes": "AA==", "token_str": "\\0"}, …],
     "special_tokens": [{"rank": 0, "token_str": "<unk>", "is_control": true}, …]}

A file may list more tokens than are used. Files up to version 7 may lack the special tokens, which are the
same for all of them; ids without a name are `<SPECIAL_n>`. mistral-common decides, and never finds a special
token in a text, as `encode_ordinary` does here.
"""

import base64
from typing import Any

from merganser.errors import MerganserError
from merganser.formats import BadFile, native
from merganser.formats.tiktoken import drops_text, without_fallback
from merganser.tokenizer import Tokenizer

FILE = "tekken.json"
_SPECIALS = [
    *(
        "<unk>",
        "<s>",
        "</s>",
        "[INST]",
        "[/INST]",
        "[AVAILABLE_TOOLS]",
        "[/AVAILABLE_TOOLS]",
        "[TOOL_RESULTS]",
    ),
    *(
        "[/TOOL_RESULTS]",
        "[TOOL_CALLS]",
        "[IMG]",
        "<pad>",
        "[IMG_BREAK]",
        "[IMG_END]",
        "[PREFIX]",
        "[MIDDLE]",
    ),
    *("[SUFFIX]", "[SYSTEM_PROMPT]", "[/SYSTEM_PROMPT]", "[TOOL_CONTENT]"),
]
#: Versions whose files may lack the special tokens.
_WITHOUT_SPECIALS = ("v1", "v2", "v3", "v7")


def is_tekken(json: dict[str, Any]) -> bool:
    """Return whether this is the content of a `tekken.json`."""
    config = json.get("config")
    return isinstance(config, dict) and "pattern" in config and isinstance(json.get("vocab"), list)


def parse(json: dict[str, Any]) -> Tokenizer:
    """Return the tokenizer in a parsed file."""
    config, vocab = json["config"], json["vocab"]
    pattern = config.get("pattern")
    size, specials = config.get("default_vocab_size"), config.get("default_num_special_tokens")
    numbers = all(type(number) is int and 0 <= number <= native.MAX_TOKENS for number in (size, specials))
    if not isinstance(pattern, str) or not numbers or not specials <= size <= len(vocab) + specials:
        raise BadFile(
            "is corrupt: its config lacks the pattern or the number of tokens, or has a wrong one; get a "
            "fresh copy"
        )
    ranks = {}
    for token in vocab:
        rank, data = (
            (token.get("rank"), token.get("token_bytes")) if isinstance(token, dict) else (None, None)
        )
        if type(rank) is not int or not isinstance(data, str):
            raise BadFile("is corrupt: its tokens do not each have a rank and bytes; get a fresh copy")
        if rank >= size - specials:
            continue
        try:
            ranks[base64.b64decode(data, validate=True)] = rank + specials
        except ValueError:  # of binascii, or not ASCII
            raise BadFile(f"is corrupt: its token {data[:40]!r} is not base64; get a fresh copy") from None
    if sorted(ranks.values()) != list(range(specials, size)):
        raise BadFile("is corrupt: its ranks are not all different and without gaps; get a fresh copy")
    names = _special_tokens(json.get("special_tokens"), specials, config.get("version"))
    try:
        tokenizer = Tokenizer(ranks, pattern=without_fallback(pattern), special_tokens=names)
    except MerganserError as error:
        raise BadFile(f"holds no usable tokenizer: {error}") from error
    if drops_text(tokenizer, pattern):
        raise BadFile(
            "cannot be represented: it may drop text that its pattern does not match; load it with "
            "mistral-common"
        )
    return tokenizer


def _special_tokens(listed: object, number: int, version: object) -> dict[str, int]:
    """Return the ids of the special tokens; those without a name get one, as in mistral-common."""
    if listed is None and version in _WITHOUT_SPECIALS:
        listed = [{"rank": rank, "token_str": name} for rank, name in enumerate(_SPECIALS)]
    if not isinstance(listed, list) or len(listed) > number:
        raise BadFile("is corrupt: it lacks its special tokens, or has too many; get a fresh copy")
    ids = {f"<SPECIAL_{id}>": id for id in range(len(listed), number)}
    for token in listed:
        rank, name = (token.get("rank"), token.get("token_str")) if isinstance(token, dict) else (None, None)
        if type(rank) is not int or not isinstance(name, str) or not 0 <= rank < number or name in ids:
            raise BadFile(
                "is corrupt: its special tokens do not each have a rank and a name; get a fresh copy"
            )
        ids[name] = rank
    return ids
