"""Hugging Face, read: a `tokenizer.json` that somebody wrote, or a live object.

Their files can say much that a byte-level BPE tokenizer of ours cannot do: normalizers, several cuts, tokens
that take the space beside them. Whatever would give other ids is refused with the reason; `load` gives the
ids that Hugging Face gives, or none.
"""

import json
from typing import Any

from merganser.errors import MerganserError
from merganser.formats import BadFile, gpt2, native, oniguruma
from merganser.tokenizer import Tokenizer

#: How many pairs of added tokens are compared at most.
MAX_MIXED = 1 << 18


def from_live(live: Any) -> Tokenizer:
    """The same as a `tokenizers.Tokenizer`, or as a tokenizer of transformers that has one inside."""
    if not any(kind.__module__.startswith("transformers") for kind in type(live).__mro__):
        return _from_json(json.loads(live.to_str()))
    inner = getattr(live, "backend_tokenizer", None)
    if inner is None:
        raise BadFile("cannot be represented: it is a slow one, written in Python; load the fast one instead")
    # transformers leaves there how it was last called; each call sets it anew.
    return _from_json(json.loads(inner.to_str()) | {"truncation": None, "padding": None})


def parse(data: bytes) -> Tokenizer:
    """The tokenizer of a `tokenizer.json`; what it says that ours cannot do is refused."""
    try:
        return _from_json(gpt2.read_json(data))
    except UnicodeEncodeError:
        raise BadFile("is damaged: it has half of a surrogate pair; get a fresh copy") from None


def _from_json(whole: Any) -> Tokenizer:
    """Our `encode(text, allowed_special="all")` has the ids of theirs with `add_special_tokens=False`.

    Hugging Face knows added tokens that are not special, which only its `decode` treats in another way; here
    they are special tokens. What a post-processor adds to each text is left to `prepend` and `append`.
    """
    model = whole.get("model") if isinstance(whole, dict) else None
    if not isinstance(model, dict):
        raise BadFile("is damaged: it has no model; get a fresh copy")
    _refuse_what_we_cannot_do(whole, model)
    ids = dict(gpt2.checked_vocabulary(model.get("vocab")))
    specials = _added(whole.get("added_tokens") or [], ids)
    for name in specials:
        ids.pop(name, None)
    pairs = [_pair(merge) for merge in _list(model.get("merges"), "merges")]
    if len(set(pairs)) < len(pairs):
        raise BadFile("is damaged: it lists a merge twice; get a fresh copy")
    try:
        ranks = {gpt2.unprintable(token): id for token, id in ids.items()}
        merges = gpt2.in_bytes(pairs)
    except KeyError as error:
        raise BadFile(f"is not byte-level: {error} in its tokens is no byte") from None
    if missing := next((pair for pair in merges if pair[0] + pair[1] not in ranks), None):
        raise BadFile(f"is damaged: it merges {missing[0]!r} and {missing[1]!r} to what is no token")
    try:
        tokenizer = Tokenizer(ranks, pattern=_pattern(whole.get("pre_tokenizer")), special_tokens=specials)
    except MerganserError as error:
        raise BadFile(f"holds no usable tokenizer: {error}") from error
    gpt2.check_merges(tokenizer, merges)
    if not model.get("ignore_merges") and (stuck := gpt2.unreached(tokenizer)):
        raise BadFile(f"cannot be represented: no merge makes its token {stuck[0]!r}, which is never used")
    return tokenizer


def _refuse_what_we_cannot_do(whole: dict[str, Any], model: dict[str, Any]) -> None:
    if model.get("type", "BPE") != "BPE":
        raise BadFile(f"cannot be represented: it is {model.get('type')!r}, and only byte-level BPE is known")
    # An unknown token may be named: where every byte is a token, nothing is unknown.
    for name in ("dropout", "continuing_subword_prefix", "end_of_word_suffix", "byte_fallback"):
        if model.get(name):
            raise BadFile(f"cannot be represented: its model has {name}")
    if normalizer := whole.get("normalizer"):
        kind = normalizer.get("type") if isinstance(normalizer, dict) else normalizer
        raise BadFile(f"cannot be represented: its normalizer, {kind}, changes the text before it is encoded")
    for name in ("truncation", "padding"):
        if whole.get(name):
            raise BadFile(f"cannot be represented: it has {name}; save it without")
    if not _only_adds(whole.get("post_processor")):
        raise BadFile("cannot be represented: its post_processor may do more than add special tokens")
    match whole.get("decoder"):
        case None | {"type": "ByteLevel"}:
            return
    raise BadFile("cannot be represented: its decoder is not ByteLevel")


def _only_adds(processor: object) -> bool:
    """Whether a post-processor leaves the ids of a text as they are, and at most puts some around them."""
    match processor:
        case {"type": "Sequence", "processors": [*steps]}:
            return all(map(_adds, steps))
    return _adds(processor)


def _adds(step: object) -> bool:
    match step:
        case None | {"type": "ByteLevel"}:
            return True
        case {"type": "TemplateProcessing", "single": [*parts]}:
            texts = [
                part for part in parts if not (isinstance(part, dict) and part.keys() == {"SpecialToken"})
            ]
            return len(texts) == 1 and isinstance(texts[0], dict) and texts[0].keys() == {"Sequence"}
    return False


def _added(added: object, vocab: dict[str, int]) -> dict[str, int]:
    """The added tokens, by the ids that the library gives them, which must be those of the file.

    It takes a token's id from the vocabulary; if it is not there, it counts on, whatever the file says.
    """
    found: dict[str, int] = {}
    following = len(vocab)
    normalized: dict[bool, list[str]] = {True: [], False: []}
    for token in _list(added, "added tokens"):
        right = isinstance(token, dict) and isinstance(token.get("content"), str)
        if not right or type(token.get("id")) is not int or token["content"] in found:
            raise BadFile("is damaged: its added tokens are not names with an id each; get a fresh copy")
        name, id = token["content"], token["id"]
        if any(token.get(side) for side in ("single_word", "lstrip", "rstrip")):
            raise BadFile(
                f"cannot be represented: its added token {name!r} takes the space around it, or is only "
                "found as a single word"
            )
        if (theirs := vocab.get(name, following)) != id:
            raise BadFile(
                f"is ambiguous: it gives its added token {name!r} the id {id}, and Hugging Face's library "
                f"{theirs}; have the token in the vocabulary too, with the right id"
            )
        found[name] = id
        following = max(following, id + 1)
        normalized[bool(token.get("normalized"))].append(name)
    _refuse_overlaps(normalized[True], normalized[False])
    return found


def _refuse_overlaps(normalized: list[str], others: list[str]) -> None:
    """The library looks for those that are not normalized first, and we for all at once."""
    if len(normalized) * len(others) > MAX_MIXED:
        raise BadFile("cannot be represented: very many of its added tokens are normalized, and many are not")
    for one in normalized:
        if other := next((other for other in others if _overlap(one, other)), None):
            raise BadFile(
                f"cannot be represented: its added tokens {one!r} and {other!r} overlap, and only one of "
                "them is normalized"
            )


def _overlap(one: str, other: str) -> bool:
    """Whether a text could hold both at places that are not apart."""
    ends = (a.endswith(b[:cut]) for a, b in ((one, other), (other, one)) for cut in range(1, len(b) + 1))
    return one in other or other in one or any(ends)


def _list(value: object, what: str) -> list[Any]:
    if not isinstance(value, list) or len(value) > native.MAX_TOKENS:
        raise BadFile(f"is damaged: its {what} are not a list, or too many; get a fresh copy")
    return value


def _pair(merge: object) -> tuple[str, str]:
    """A merge: two tokens, or, as older files have it, a string of two."""
    parts = merge.split(" ") if isinstance(merge, str) else merge
    if not isinstance(parts, list) or len(parts) != 2 or not all(isinstance(part, str) for part in parts):
        raise BadFile("is damaged: one of its merges is not two tokens; get a fresh copy")
    return parts[0], parts[1]


def _pattern(cutter: object) -> str:
    """The pattern of a pre-tokenizer: GPT-2's own in ByteLevel, or one Split before it."""
    match cutter:
        case {"type": "ByteLevel", "add_prefix_space": True}:
            raise BadFile("cannot be represented: its pre-tokenizer puts a space before the text")
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
            return oniguruma.read(pattern, drops_rest=behavior == "Removed")
        case {"type": "Sequence", "pretokenizers": [_, _, *_]}:
            raise BadFile(
                "cannot be represented: its pre-tokenizer splits the text several times, or not by a pattern "
                "that keeps all of it; here one pattern does it all"
            )
    raise BadFile("cannot be represented: its pre-tokenizer is neither ByteLevel nor one Split and ByteLevel")
