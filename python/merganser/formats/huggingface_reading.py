"""Reading a Hugging Face `tokenizer.json` or live object, whichever program wrote it.

A file of plain byte-level BPE (one split pattern, special tokens, merges in the order of ids) becomes a plain
tokenizer, like a trained one. Every other BPE file becomes a definition (`huggingface_definition.py`): a
loaded tokenizer produces Hugging Face's ids exactly.
"""

import json
import warnings
from typing import Any

from merganser.errors import MerganserError, MerganserWarning
from merganser.formats import BadFile, gpt2, oniguruma
from merganser.formats.huggingface_definition import checked_list, definition, pairs
from merganser.formats.stages import around_text_of, parts_of
from merganser.tokenizer import Tokenizer
from merganser.tokenizer.template import named

#: The most pairs of added tokens that are checked for overlaps.
MAX_COMPARED_PAIRS = 1 << 18


def from_live(live: Any) -> Tokenizer:
    """Return the tokenizer equivalent to a `tokenizers.Tokenizer` or a fast transformers tokenizer."""
    if not any(kind.__module__.startswith("transformers") for kind in type(live).__mro__):
        return _from_json(json.loads(live.to_str()))
    inner = getattr(live, "backend_tokenizer", None)
    if inner is None:
        raise BadFile(
            "cannot be represented: it is a slow (pure Python) tokenizer; load the fast one instead"
        )
    # transformers stores the settings of the last call here, and sets them again in every call.
    return _from_json(json.loads(inner.to_str()) | {"truncation": None, "padding": None})


def parse(data: bytes) -> Tokenizer:
    """Return the tokenizer in a `tokenizer.json`; raise a `BadFile` for anything merganser cannot do."""
    try:
        return _from_json(gpt2.parse_json(data))
    except UnicodeEncodeError:
        raise BadFile("is corrupt: it has a lone surrogate; get a fresh copy") from None


def _from_json(config: Any) -> Tokenizer:
    """Return the tokenizer of a parsed file: plain byte-level BPE if it is that, else from its definition."""
    model = config.get("model") if isinstance(config, dict) else None
    if not isinstance(model, dict):
        raise BadFile("is corrupt: it has no model; get a fresh copy")
    _check_kind(model)
    _drop_settings(config, model)
    try:
        return _plain(config, model)
    except BadFile:
        return definition(config, model).tokenizer()


def _check_kind(model: dict[str, Any]) -> None:
    """Raise a `BadFile` for a model that is not BPE; old files do not name the kind."""
    kind = model.get("type")
    if kind is None and "merges" not in model:
        kind = "Unigram" if isinstance(model.get("vocab"), list) else "WordPiece"
    if kind not in (None, "BPE"):
        raise BadFile(
            f"is a {str(kind)[:40]} model, and merganser only does BPE; load it with Hugging Face's "
            "tokenizers: tokenizers.Tokenizer.from_file"
        )


def _drop_settings(config: dict[str, Any], model: dict[str, Any]) -> None:
    """Warn of settings in the file that are not part of a merganser tokenizer."""
    dropped = [name for name in ("truncation", "padding") if config.get(name)]
    if model.get("dropout"):
        dropped.append("dropout")
    if dropped:
        warnings.warn(
            f"the tokenizer.json enables {' and '.join(dropped)}, which merganser leaves out: texts are "
            "encoded whole, and always in the same way",
            MerganserWarning,
            stacklevel=2,
        )


def _plain(config: dict[str, Any], model: dict[str, Any]) -> Tokenizer:
    """Return a plain byte-level tokenizer, which can be trained further and exported to every format.

    Raise a `BadFile` if the file needs more: `encode(text, allowed_special="all")` must match
    `add_special_tokens=False`. The tokens that a post-processor adds to a text become its template.
    """
    _check_supported(config, model)
    around = _around_text(config.get("post_processor"))
    ids = dict(gpt2.checked_vocabulary(model.get("vocab")))
    specials = _added_tokens(config.get("added_tokens") or [], ids)
    for name in specials:
        ids.pop(name, None)
    listed = list(pairs(model.get("merges")))
    if len(set(listed)) < len(listed):
        raise BadFile("lists a merge twice")
    try:
        ranks = {gpt2.from_printable(token): id for token, id in ids.items()}
        merges = gpt2.as_bytes(listed)
    except KeyError as error:
        raise gpt2.not_byte_level(error.args[0]) from None
    gpt2.check_merged_tokens(merges, ranks)
    try:
        tokenizer = Tokenizer(
            ranks,
            pattern=_pattern(config.get("pre_tokenizer")),
            special_tokens=specials,
            template=named(*around, specials),
        )
    except MerganserError as error:
        raise BadFile(f"holds no usable tokenizer: {error}") from error
    gpt2.check_merges(tokenizer, merges)
    if not model.get("ignore_merges") and (unreachable := gpt2.unreachable_tokens(tokenizer)):
        raise gpt2.never_used(unreachable[0])
    return tokenizer


def _check_supported(config: dict[str, Any], model: dict[str, Any]) -> None:
    # An unknown token is harmless: if every byte is a token, nothing is unknown.
    for name in ("continuing_subword_prefix", "end_of_word_suffix", "byte_fallback"):
        if model.get(name):
            raise BadFile(f"cannot be represented: its model uses {name}, which merganser does not support")
    if normalizer := config.get("normalizer"):
        kind = normalizer.get("type") if isinstance(normalizer, dict) else normalizer
        raise BadFile(f"cannot be represented: its normalizer, {kind}, changes the text before it is encoded")
    match config.get("decoder"):
        case None | {"type": "ByteLevel"}:
            return
    raise BadFile("cannot be represented: its decoder is not ByteLevel")


def _around_text(processor: object) -> tuple[list[int], list[int]]:
    """Return the ids that a post-processor adds; raise a `BadFile` if it does more, such as trim offsets."""
    parts = parts_of(processor, "post_processor")
    if any(part.get("type") not in ("ByteLevel", "TemplateProcessing") for part in parts):
        raise BadFile("cannot be represented: its post_processor may do more than add special tokens")
    return around_text_of(processor)


def _added_tokens(added: object, vocab: dict[str, int]) -> dict[str, int]:
    """Return the ids of the added tokens; raise a `BadFile` if the library would assign other ids.

    The library takes the id from the vocabulary, or else the next free one, and ignores the id in the file.
    """
    ids: dict[str, int] = {}
    next_id = len(vocab)
    normalized: dict[bool, list[str]] = {True: [], False: []}
    for token in checked_list(added, "added tokens"):
        named = isinstance(token, dict) and isinstance(token.get("content"), str)
        if not named or type(token.get("id")) is not int or token["content"] in ids:
            raise BadFile("is corrupt: its added tokens do not each have a name and an id; get a fresh copy")
        name, id = token["content"], token["id"]
        if not token.get("special"):
            raise BadFile(f"cannot be represented: its added token {name!r} is found in any text")
        if any(token.get(side) for side in ("single_word", "lstrip", "rstrip")):
            raise BadFile(
                f"cannot be represented: its added token {name!r} absorbs the space around it, or matches "
                "only as a single word"
            )
        if (theirs := vocab.get(name, next_id)) != id:
            raise BadFile(
                f"is ambiguous: it gives its added token {name!r} the id {id}, but Hugging Face's library "
                f"uses {theirs}; add the token to the vocabulary with the right id"
            )
        if name.encode() != gpt2.decoded(name):
            raise BadFile(f"cannot be represented: its decoder changes the added token {name!r}")
        ids[name] = id
        next_id = max(next_id, id + 1)
        normalized[bool(token.get("normalized"))].append(name)
    _check_overlaps(normalized[True], normalized[False])
    return ids


def _check_overlaps(normalized: list[str], others: list[str]) -> None:
    """Raise a `BadFile` for overlaps of the two kinds: the library searches for normalized tokens last."""
    if len(normalized) * len(others) > MAX_COMPARED_PAIRS:
        raise BadFile("cannot be represented: too many of its added tokens differ in being normalized")
    for one in normalized:
        if other := next((other for other in others if _overlap(one, other)), None):
            raise BadFile(
                f"cannot be represented: its added tokens {one!r} and {other!r} overlap, and only one of "
                "them is normalized"
            )


def _overlap(one: str, other: str) -> bool:
    """Return whether occurrences of the two can overlap in a text."""
    ends = (a.endswith(b[:size]) for a, b in ((one, other), (other, one)) for size in range(1, len(b) + 1))
    return one in other or other in one or any(ends)


def _pattern(pre_tokenizer: object) -> str:
    """Return the pattern of a pre-tokenizer: GPT-2's for ByteLevel alone, else the pattern of its Split."""
    match pre_tokenizer:
        case {"type": "ByteLevel", "add_prefix_space": True}:
            raise BadFile("cannot be represented: its pre-tokenizer adds a space before the text")
        case {"type": "ByteLevel", "add_prefix_space": False, **rest}:
            return "gpt2" if rest.get("use_regex", True) else "(?s:.)+"
        case {"type": "Sequence", "pretokenizers": [{"type": "ByteLevel"} as only]}:
            return _pattern(only)
        case {
            "type": "Sequence",
            "pretokenizers": [
                {"type": "Split", "pattern": {"Regex": str(pattern)}, "behavior": behavior, "invert": invert},
                {"type": "ByteLevel", "add_prefix_space": False, "use_regex": False},
            ],
        } if behavior == "Isolated" or (behavior == "Removed" and invert is True):
            return oniguruma.from_oniguruma(pattern, drops_unmatched=behavior == "Removed")
        case {"type": "Sequence", "pretokenizers": [_, _, *_]}:
            raise BadFile(
                "cannot be represented: its pre-tokenizer splits the text several times, or may drop text; "
                "merganser splits once, with one pattern"
            )
    raise BadFile("cannot be represented: its pre-tokenizer is neither ByteLevel nor a Split and ByteLevel")
