"""The stages of a tokenizer.json, checked and rewritten for the core.

Three things change. A normalizer that spells bytes as characters becomes a pre-tokenizer. Patterns of
Oniguruma become ours (`formats/oniguruma.py`). And where every space of the text becomes `▁`, the stages
keep the space and turn the rare `▁` of a text into one instead; tokens follow (`formats/definition.py`):

    Prepend "▁", Replace " " → "▁"        Prepend " ", Replace "▁" → " "
    Metaspace "▁"                         Metaspace " ", after Replace "▁" → " "
"""

from collections.abc import Mapping
from typing import Any, TypeAlias

from merganser.formats import BadFile, oniguruma
from merganser.tokenizer.template import around_text

Stage: TypeAlias = dict[str, Any]

SPACE_SYMBOL = "▁"
#: Stages may contain stages; deeper nesting than this is an attack.
_MAX_DEPTH = 16
#: The key under which a stage of type Sequence lists its parts.
_PARTS = {
    "normalizer": "normalizers",
    "pre_tokenizer": "pretokenizers",
    "decoder": "decoders",
    "post_processor": "processors",
}
#: Replaces every `▁` by a space.
TO_SPACES: Stage = {"type": "Replace", "pattern": {"String": SPACE_SYMBOL}, "content": " "}


def flattened(stage: Any, kind: str) -> list[Stage]:
    """Return the parts of a stage in order; patterns are translated.

    >>> flattened({"type": "Sequence", "normalizers": [{"type": "NFC"}, None]}, "normalizer")
    [{'type': 'NFC'}]
    """
    return [_translated(part) for part in parts_of(stage, kind)]


def parts_of(stage: Any, kind: str, depth: int = 0) -> list[Stage]:
    """Return the parts of a stage in order, as they are."""
    match stage:
        case None:
            return []
        case {"type": "Sequence", **rest} if depth < _MAX_DEPTH:
            parts = rest.get(_PARTS[kind])
            if isinstance(parts, list):
                return [inner for part in parts for inner in parts_of(part, kind, depth + 1)]
        case {"type": str()} if depth < _MAX_DEPTH:
            return [stage]
    raise BadFile(f"is corrupt: its {kind} is not an object with a type; get a fresh copy")


def sequence(parts: list[Stage], kind: str) -> Stage | None:
    """Return the stage that runs `parts` in turn, or None if there are none."""
    if len(parts) < 2:
        return parts[0] if parts else None
    return {"type": "Sequence", _PARTS[kind]: parts}


def around_text_of(post_processor: object) -> tuple[list[int], list[int]]:
    """Return the ids that a post-processor adds to a text; raise a `BadFile` if it does anything else."""
    parts = parts_of(post_processor, "post_processor")
    try:
        return around_text({"type": "Sequence", "processors": parts})
    except ValueError as error:
        raise BadFile(f"cannot be represented: {error}; load it with Hugging Face's tokenizers") from None


def template_processing(before: Mapping[str, int], after: Mapping[str, int]) -> Stage | None:
    """Return the post-processor that adds tokens, given by name and id; None if there are none."""
    if not before and not after:
        return None

    def added(tokens: Mapping[str, int]) -> list[Stage]:
        return [{"SpecialToken": {"id": name, "type_id": 0}} for name in tokens]

    single = [*added(before), {"Sequence": {"id": "A", "type_id": 0}}, *added(after)]
    return {
        "type": "TemplateProcessing",
        "single": single,
        "pair": [*single, {"Sequence": {"id": "B", "type_id": 1}}],
        "special_tokens": {
            name: {"id": name, "ids": [id], "tokens": [name]} for name, id in {**before, **after}.items()
        },
    }


def _translated(stage: Stage) -> Stage:
    """Return a stage with its pattern translated, and in the form of today if an old version wrote it."""
    match stage:
        case {"pattern": {"Regex": str(pattern)}}:
            return stage | {"pattern": {"Regex": oniguruma.translated(pattern)}}
        case {"type": "Metaspace"}:
            scheme = "never" if stage.get("add_prefix_space") is False else "always"
            return {
                "type": "Metaspace",
                "replacement": stage.get("replacement"),
                "prepend_scheme": stage.get("prepend_scheme", scheme),
                "split": stage.get("split", True),
            }
        case {"type": "ByteLevel"}:
            return {"add_prefix_space": True, "trim_offsets": True, "use_regex": True} | stage
    return stage


def has(parts: list[Stage], name: str) -> bool:
    return any(part["type"] == name for part in parts)


def bytes_after_normalizing(
    normalizers: list[Stage], pre_tokenizers: list[Stage]
) -> tuple[list[Stage], list[Stage]]:
    """Return stages in which a normalizer ByteLevel, if there is one, is the first pre-tokenizer instead."""
    if not has(normalizers, "ByteLevel"):
        return normalizers, pre_tokenizers
    if has(normalizers[:-1], "ByteLevel") or has(pre_tokenizers, "ByteLevel"):
        raise BadFile(
            "cannot be represented: its stages spell bytes as characters twice, or normalize them "
            "afterwards; load it with Hugging Face's tokenizers"
        )
    first = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False}
    return normalizers[:-1], [first, *pre_tokenizers]


def added_after_normalizing(added: list[Stage], normalizers: list[Stage]) -> list[Stage]:
    """Return added tokens for stages in which a normalizer ByteLevel, if there is one, comes later.

    No character that spells a byte is white space, so nothing is stripped; and most are letters.
    """
    if not has(normalizers, "ByteLevel"):
        return added
    if single := next((token for token in added if token["normalized"] and token["single_word"]), None):
        raise BadFile(
            f"cannot be represented: its added token {single['content'][:40]!r} must be a single word of "
            "bytes that are spelled as letters; set its normalized or its single_word to false"
        )
    return [token | {"lstrip": False, "rstrip": False} if token["normalized"] else token for token in added]


def with_spaces(
    normalizers: list[Stage], pre_tokenizers: list[Stage], decoders: list[Stage], added: list[Stage]
) -> tuple[list[Stage], list[Stage], list[Stage]] | None:
    """Return equivalent stages whose inner form has a space for each `▁`, or None if there are none."""
    if not shows_spaces(decoders) or any(map(_strips_normalized, added)):
        return None
    decoders = [part | {"replacement": " "} if part["type"] == "Metaspace" else part for part in decoders]
    if len(pre_tokenizers) == 1 and pre_tokenizers[0].get("replacement") == SPACE_SYMBOL:
        # Added tokens are searched for in text that still distinguishes the two characters.
        if pre_tokenizers[0]["type"] != "Metaspace" or any(map(_has_space, added)):
            return None
        return [*normalizers, TO_SPACES], [pre_tokenizers[0] | {"replacement": " "}], decoders
    rewritten = _normalizers_with_spaces(normalizers)
    if rewritten is None or not all(map(_splits_at_spaces, pre_tokenizers)):
        return None
    # After the normalizer no text has a space, so a pre-tokenizer that splits at spaces does nothing.
    return rewritten, [], decoders


def decoded_suffix(decoders: list[Stage], suffix: str) -> str:
    """Return what the suffix of a word decodes to: a space if a decoder knows it, else itself."""
    known = any(part["type"] == "BPEDecoder" and part.get("suffix", "</w>") == suffix for part in decoders)
    return " " if known else suffix


def without_prefixes(decoders: list[Stage], prefix: str) -> list[Stage]:
    """Return decoders for tokens that have a space before words in place of a prefix inside words."""
    if not prefix:
        return decoders
    match decoders:
        case [{"type": "WordPiece", "prefix": written, "cleanup": False}] if written == prefix:
            return decoders
    raise BadFile(
        "cannot be represented: it has a continuing_subword_prefix, and its decoder is not WordPiece without "
        "cleanup; load it with Hugging Face's tokenizers"
    )


def shows_spaces(decoders: list[Stage]) -> bool:
    """Return whether the first decoder turns `▁` into spaces."""
    match decoders:
        case [{"type": "Replace", "pattern": {"String": "▁"}, "content": " "}, *_]:
            return True
        case [{"type": "Metaspace", "replacement": "▁"}, *_]:
            return True
    return False


def _has_space(token: Stage) -> bool:
    return bool(token["normalized"]) and any(space in token["content"] for space in (" ", SPACE_SYMBOL))


def _strips_normalized(token: Stage) -> bool:
    """Return whether a token includes the white space around it in normalized text, where `▁` is none."""
    return bool(token["normalized"] and (token["lstrip"] or token["rstrip"]))


def _splits_at_spaces(pre_tokenizer: Stage) -> bool:
    match pre_tokenizer:
        case {"type": "Split", "pattern": {"String": " "}, "invert": False}:
            return True
    return False


def _normalizers_with_spaces(normalizers: list[Stage]) -> list[Stage] | None:
    """Return normalizers that yield a space for each `▁`, or None if what follows the Replace could tell."""
    parts: list[Stage] = []
    found, indifferent = False, True
    for part in reversed(normalizers):
        match part:
            case {"type": "Replace", "pattern": {"String": " "}, "content": "▁"} if not found:
                parts.append(TO_SPACES)
                found = True
            case {"type": "Prepend", "prepend": "▁"} if indifferent:
                parts.append(part | {"prepend": " "})
            case _:
                indifferent = indifferent and _is_indifferent(part)
                parts.append(part)
                if not found and not indifferent:
                    return None
    return parts[::-1] if found else None


def _is_indifferent(normalizer: Stage) -> bool:
    """Return whether a normalizer treats a space as it does `▁`."""
    if normalizer["type"] == "Prepend":
        return not {" ", SPACE_SYMBOL} & set(str(normalizer.get("prepend")))
    return normalizer["type"] in ("NFC", "NFD", "Lowercase")
