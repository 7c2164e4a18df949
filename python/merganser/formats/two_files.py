"""`vocab.json` and `merges.txt` of kinds other than GPT-2's, as a `tokenizer.json`.

The two files do not say how text is normalized and split; the tokens do, or `tokenizer_config.json` beside
them, which names the class. What transformers does for that class decides:

| kind | recognized by | text |
|---|---|---|
| CLIP | `</w>` ends words, bytes as in GPT-2's files | NFC, one space for white space, lower case |
| OpenAI GPT (2018) | `</w>` ends words, characters | BERT's normalizer and pre-tokenizer |
| GPT-2, RoBERTa, Qwen | none of these | a byte-level pattern: given, or known by the class |
"""

from typing import Any

from merganser.formats import BadFile, gpt2, oniguruma
from merganser.formats.definition import Definition, added_token
from merganser.formats.huggingface_definition import definition

SUFFIX = "</w>"
_CLIP_PATTERN = r"<\|startoftext\|>|<\|endoftext\|>|'s|'t|'re|'ve|'m|'ll|'d|[\p{L}]+|[\p{N}]|[^\s\p{L}\p{N}]+"
#: Patterns by the beginning of `tokenizer_class`.
_CLASSES = {
    **dict.fromkeys(("GPT2", "Roberta", "Bart", "LED", "Longformer", "CodeGen", "Blenderbot", "MVP"), "gpt2"),
    "Qwen2": "qwen2",
}
_BYTE_LEVEL = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}


def pattern_of(config: bytes | None) -> str | None:
    """Return the pattern of the class that a `tokenizer_config.json` names, or None."""
    if config is None:
        return None
    parsed = gpt2.parse_json(config)
    name = parsed.get("tokenizer_class") if isinstance(parsed, dict) else None
    if not isinstance(name, str) or parsed.get("add_prefix_space"):
        return None
    return next(
        (pattern for start, pattern in _CLASSES.items() if name.startswith(f"{start}Tokenizer")), None
    )


def ends_words(vocab: dict[str, int]) -> bool:
    """Return whether tokens end with `</w>` where a word ends."""
    return any(token.endswith(SUFFIX) and token != SUFFIX for token in vocab)


def word_ending(vocab: dict[str, int], pairs: list[tuple[str, str]]) -> Definition:
    """Return the definition of a tokenizer whose tokens end words with `</w>`."""
    alphabet = {gpt2.to_printable(bytes([byte])) for byte in range(256)}
    is_clip = alphabet <= vocab.keys()
    unknown = "<|endoftext|>" if is_clip else "<unk>"
    model = {
        "type": "BPE",
        "vocab": vocab,
        "merges": [list(pair) for pair in pairs],
        "unk_token": unknown if unknown in vocab else None,
        "end_of_word_suffix": SUFFIX,
    }
    stages = _CLIP if is_clip else _OPENAI_GPT
    names = ("<|startoftext|>", "<|endoftext|>") if is_clip else ("<unk>",)
    added = [added_token(name, vocab[name], special=True) for name in names if name in vocab]
    if is_clip and len(added) == 2:
        start, end = ([name, vocab[name]] for name in names)
        stages = stages | {
            "post_processor": {"type": "RobertaProcessing", "sep": end, "cls": start, **_ROBERTA}
        }
    return definition({"added_tokens": added, **stages}, model)


def byte_level(vocab: dict[str, int], pairs: list[tuple[str, str]], pattern: str) -> Definition:
    """Return the definition of a byte-level tokenizer that is not plain, such as RoBERTa's."""
    merged = {left + right for left, right in pairs}
    others = [token for token in vocab if token not in merged and not _is_byte(token)]
    full = oniguruma.with_fallback(pattern) if pattern not in oniguruma.preset_patterns() else None
    split = full or oniguruma.to_oniguruma(oniguruma.preset_patterns()[pattern])
    steps = [
        {"type": "Split", "pattern": {"Regex": split}, "behavior": "Isolated", "invert": False},
        _BYTE_LEVEL | {"use_regex": False},
    ]
    config = {
        "added_tokens": [added_token(token, vocab[token], special=True) for token in others],
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": steps},
        "decoder": _BYTE_LEVEL,
    }
    return definition(config, {"vocab": vocab, "merges": [list(pair) for pair in pairs]})


def _is_byte(token: str) -> bool:
    try:
        return len(gpt2.from_printable(token)) == 1
    except KeyError:
        return False


_ROBERTA = {"trim_offsets": False, "add_prefix_space": False}
_CLIP: dict[str, Any] = {
    "normalizer": {
        "type": "Sequence",
        "normalizers": [
            {"type": "NFC"},
            {"type": "Replace", "pattern": {"Regex": r"\s+"}, "content": " "},
            {"type": "Lowercase"},
        ],
    },
    "pre_tokenizer": {
        "type": "Sequence",
        "pretokenizers": [
            {"type": "Split", "pattern": {"Regex": _CLIP_PATTERN}, "behavior": "Removed", "invert": True},
            _BYTE_LEVEL,
        ],
    },
    "decoder": _BYTE_LEVEL,
}
_OPENAI_GPT: dict[str, Any] = {
    "normalizer": {
        "type": "BertNormalizer",
        "clean_text": True,
        "handle_chinese_chars": True,
        "strip_accents": None,
        "lowercase": True,
    },
    "pre_tokenizer": {"type": "BertPreTokenizer"},
    "decoder": {"type": "BPEDecoder", "suffix": SUFFIX},
}


def checked(vocab: bytes, merges: bytes) -> tuple[dict[str, int], list[tuple[str, str]]]:
    """Return the vocabulary and the merges of the two files."""
    ids = gpt2.checked_vocabulary(gpt2.parse_json(vocab))
    if not ids:
        raise BadFile("is corrupt: its vocabulary is empty; get a fresh copy")
    return ids, gpt2.parse_merges(merges)
