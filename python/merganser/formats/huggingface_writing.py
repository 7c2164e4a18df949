"""A tokenizer with stages as a `tokenizer.json`: the way back from a `Definition`.

Two kinds can be written. A definition that was read from a tokenizer.json, or trained with words that end in
`</w>`, is rewritten stage by stage: spaces become `▁` again, and patterns Oniguruma's. One of SentencePiece's
kind gets the stages that Hugging Face has for it, and the merges that its scores imply.

Whether the file means the same is not decided here: an export is read back, and its ids are compared with the
library's, before anything is written.
"""

import json
from typing import Any

from merganser.errors import ExportError
from merganser.formats import gpt2, oniguruma
from merganser.formats.definition import PREFIX, SUFFIX
from merganser.formats.stages import SPACE_SYMBOL, TO_SPACES, Stage, parts_of, sequence
from merganser.tokenizer import Tokenizer

_SUFFIX_TEXT, _PREFIX_TEXT = "</w>", "##"
_FROM_SPACES = {"type": "Replace", "pattern": {"String": " "}, "content": SPACE_SYMBOL}


def as_json(tokenizer: Tokenizer) -> dict[str, Any]:
    """Return the contents of the file."""
    known = tokenizer.definition
    assert known is not None
    settings: dict[str, Any] = json.loads(known[3])
    is_sentencepiece = (settings["normalizer"] or {}).get("type") == "SentencePiece"
    spaces = is_sentencepiece or _has_spaces(settings)
    spelled = {id: _spelled(token, settings, spaces) for token, id in known[0]}
    vocab = dict(spelled)
    for byte, id in enumerate(settings["byte_tokens"] or ()):
        if id is not None:
            vocab[id] = f"<0x{byte:02X}>"
    added_ids = {token["id"] for token in settings["added_tokens"]}
    for digits, id in settings["decode_only"]:
        if id in added_ids and id != settings["unknown"]:
            continue
        if id == settings["unknown"]:
            vocab[id] = "<unk>"
        else:
            vocab.setdefault(id, _spelled(bytes.fromhex(digits), settings, spaces))
    added = [_added(token) for token in settings["added_tokens"]]
    highest = max(vocab, default=-1)
    for token in added:  # those that follow the vocabulary are left out of it
        if token["id"] <= highest or is_sentencepiece:
            vocab[token["id"]] = token["content"]
    if len(set(vocab.values())) < len(vocab):
        raise ExportError(
            "two of its tokens are spelled alike in a tokenizer.json; save it with Tokenizer.save"
        )
    # Without a list of merges, those that the scores or ids imply.
    merges = [(left, right) for left, right, _ in known[1] or ()] or list(tokenizer.merges_as_ids)
    unlisted = [pair for pair in merges if not spelled.keys() >= set(pair)]
    if unlisted:
        raise ExportError(
            f"{len(unlisted)} of its merges join a character that is not a token, which a tokenizer.json "
            "cannot list; export it to sentencepiece"
        )
    stages = _sentencepiece_stages(settings) if is_sentencepiece else _stages(settings, spaces)
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": sorted(added, key=lambda token: int(token["id"])),
        **stages,
        "model": {
            "type": "BPE",
            "dropout": None,
            "unk_token": vocab.get(settings["unknown"]) if settings["unknown"] is not None else None,
            "continuing_subword_prefix": _PREFIX_TEXT if settings["prefix"] else None,
            "end_of_word_suffix": _SUFFIX_TEXT if settings["suffix"] else None,
            "fuse_unk": settings["fuse_unknown"],
            "byte_fallback": settings["byte_tokens"] is not None,
            "ignore_merges": settings["ignore_merges"],
            "vocab": {token: id for id, token in sorted(vocab.items())},
            "merges": [[spelled[left], spelled[right]] for left, right in merges],
        },
    }


def _has_spaces(settings: dict[str, Any]) -> bool:
    """Return whether inner bytes have spaces where the file has `▁`."""
    return TO_SPACES in parts_of(settings["normalizer"], "normalizer")


def _spelled(token: bytes, settings: dict[str, Any], spaces: bool) -> str:
    start = end = ""
    if settings["prefix"]:
        start = "" if token.startswith(PREFIX) else _PREFIX_TEXT
        token = token.removeprefix(PREFIX)
    if settings["suffix"] and token.endswith(SUFFIX):
        end = _SUFFIX_TEXT
        token = token.removesuffix(SUFFIX)
    if settings["unit"] == "bytes":
        return start + gpt2.to_printable(token) + end
    text = token.decode(errors="replace")
    return start + (text.replace(" ", SPACE_SYMBOL) if spaces else text) + end


def _added(token: Stage) -> Stage:
    if token.get("kind") == "user_defined":
        content = token["content"].replace(" ", SPACE_SYMBOL)
        return {name: value for name, value in token.items() if name != "kind"} | {"content": content}
    return token


def _stages(settings: dict[str, Any], spaces: bool) -> dict[str, Stage | None]:
    """Return the four stages in Hugging Face's syntax."""
    parts = {
        kind: [_untranslated(part) for part in parts_of(settings[kind], kind)]
        for kind in ("normalizer", "pre_tokenizer", "post_processor", "decoder")
    }
    if spaces:
        metaspace = any(part["type"] == "Metaspace" for part in parts["pre_tokenizer"])
        parts["normalizer"] = [
            _FROM_SPACES if part == TO_SPACES else _marked(part)
            for part in parts["normalizer"]
            if not (metaspace and part == TO_SPACES)
        ]
        parts["pre_tokenizer"] = [_marked(part) for part in parts["pre_tokenizer"]]
        parts["decoder"] = [_marked(part) for part in parts["decoder"]]
    return {kind: sequence(found, kind) for kind, found in parts.items()}


def _marked(part: Stage) -> Stage:
    """Return a stage with `▁` in place of a space, where the inner form has the space."""
    match part:
        case {"type": "Prepend", "prepend": " "}:
            return part | {"prepend": SPACE_SYMBOL}
        case {"type": "Metaspace", "replacement": " "}:
            return part | {"replacement": SPACE_SYMBOL}
    return part


def _untranslated(part: Stage) -> Stage:
    match part:
        case {"pattern": {"Regex": str(pattern)}}:
            return part | {"pattern": {"Regex": oniguruma.to_oniguruma(pattern)}}
    return part


def _sentencepiece_stages(settings: dict[str, Any]) -> dict[str, Stage | None]:
    """Return the stages that do the work of SentencePiece's normalizer and decoder."""
    normalizer = settings["normalizer"]
    if normalizer["suffix_whitespace"]:
        raise ExportError("a tokenizer.json cannot put spaces after words; export it to sentencepiece")
    parts: list[Stage] = []
    if normalizer["charsmap"]:
        parts.append({"type": "Precompiled", "precompiled_charsmap": normalizer["charsmap"]})
    if normalizer["remove_extra_whitespaces"]:
        parts.append({"type": "Replace", "pattern": {"Regex": r"\A +| +\z"}, "content": ""})
        parts.append({"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": " "})
    if normalizer["add_dummy_prefix"]:
        parts.append({"type": "Prepend", "prepend": SPACE_SYMBOL})
    parts.append(_FROM_SPACES)
    decoders: list[Stage] = [TO_SPACES, {"type": "ByteFallback"}, {"type": "Fuse"}]
    if normalizer["add_dummy_prefix"]:
        decoders.append({"type": "Strip", "content": " ", "start": 1, "stop": 0})
    return {
        "normalizer": sequence(parts, "normalizer"),
        "pre_tokenizer": None,
        "post_processor": None,
        "decoder": sequence(decoders, "decoder"),
    }
