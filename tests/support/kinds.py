"""Small tokenizers of every BPE kind, trained on the spot by the library that owns the kind."""

import io
import json
from functools import cache
from pathlib import Path
from typing import Any

import owners
from corpora import corpus_text

_LLAMA3 = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}|"
    r" ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
_BYTES = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False}
_TO_SYMBOLS = {"type": "Replace", "pattern": {"String": " "}, "content": "▁"}
_FROM_SYMBOLS = {"type": "Replace", "pattern": {"String": "▁"}, "content": " "}
_LLAMA_DECODERS = [
    _FROM_SYMBOLS,
    {"type": "ByteFallback"},
    {"type": "Fuse"},
    {"type": "Strip", "content": " ", "start": 1, "stop": 0},
]


def split(pattern: str, behavior: str = "Isolated", invert: bool = False) -> dict[str, Any]:
    return {"type": "Split", "pattern": {"Regex": pattern}, "behavior": behavior, "invert": invert}


def added(content: str, **flags: bool) -> dict[str, Any]:
    names = ("single_word", "lstrip", "rstrip", "normalized", "special")
    return {"content": content, **dict.fromkeys(names, False), **flags}


def _sequence(kind: str, *parts: dict[str, Any]) -> dict[str, Any]:
    return {"type": "Sequence", kind: list(parts)}


#: Stages of a tokenizer.json by kind, and what else its model has.
HUGGING_FACE: dict[str, dict[str, Any]] = {
    "byte-level with NFC": {
        "normalizer": {"type": "NFC"},
        "pre_tokenizer": _sequence("pretokenizers", split(_LLAMA3), _BYTES),
    },
    "byte-level with NFKC": {
        "normalizer": {"type": "NFKC"},
        "pre_tokenizer": _BYTES | {"use_regex": True},
    },
    "three splits": {
        "normalizer": _sequence("normalizers"),
        "pre_tokenizer": _sequence(
            "pretokenizers", split(r"\p{N}{1,3}"), split("[一-龥]+"), split(r" ?[\p{L}\p{M}]+|\s+"), _BYTES
        ),
    },
    "Falcon": {
        "pre_tokenizer": _sequence(
            "pretokenizers",
            {"type": "Punctuation", "behavior": "Contiguous"},
            _BYTES | {"use_regex": True},
            {"type": "Digits", "individual_digits": False},
            split("[0-9][0-9][0-9]"),
        ),
    },
    "StarCoder": {
        "pre_tokenizer": _sequence(
            "pretokenizers", {"type": "Digits", "individual_digits": True}, _BYTES | {"use_regex": True}
        ),
    },
    "RoBERTa": {
        "pre_tokenizer": _BYTES | {"use_regex": True, "add_prefix_space": True},
        "added_tokens": [
            added("<s>", special=True, normalized=True),
            added("<mask>", special=True, lstrip=True),
            added("new word", single_word=True, normalized=True),
            added("##", rstrip=True),
        ],
    },
    "CLIP": {
        "normalizer": _sequence(
            "normalizers",
            {"type": "NFC"},
            {"type": "Replace", "pattern": {"Regex": r"\s+"}, "content": " "},
            {"type": "Lowercase"},
        ),
        "pre_tokenizer": _sequence(
            "pretokenizers",
            split(r"'s|'t|'re|'ve|'m|'ll|'d|[\p{L}]+|[\p{N}]|[^\s\p{L}\p{N}]+", "Removed", True),
            _BYTES,
        ),
        "model": {"end_of_word_suffix": "</w>"},
    },
    "a normalizer of bytes": {
        "normalizer": _sequence("normalizers", {"type": "NFC"}, {"type": "ByteLevel"}),
        "pre_tokenizer": split("Ġ?[^Ġ]+"),
    },
    "Llama 2": {
        "normalizer": _sequence("normalizers", {"type": "Prepend", "prepend": "▁"}, _TO_SYMBOLS),
        "decoder": _sequence("decoders", *_LLAMA_DECODERS),
        "model": {"byte_fallback": True, "fuse_unk": True, "unk_token": "<unk>"},
    },
    "Gemma": {
        "normalizer": _TO_SYMBOLS,
        "pre_tokenizer": {
            "type": "Split",
            "pattern": {"String": " "},
            "behavior": "MergedWithPrevious",
            "invert": False,
        },
        "decoder": _sequence("decoders", *_LLAMA_DECODERS[:3]),
        "model": {"byte_fallback": True, "fuse_unk": True, "unk_token": "<unk>"},
    },
    "Metaspace at the start": {
        "pre_tokenizer": {
            "type": "Metaspace",
            "replacement": "▁",
            "prepend_scheme": "first",
            "split": False,
        },
        "decoder": _sequence("decoders", *_LLAMA_DECODERS),
        "model": {"byte_fallback": True, "unk_token": "<unk>"},
    },
    "Metaspace with splits": {
        "pre_tokenizer": {
            "type": "Metaspace",
            "replacement": "▁",
            "prepend_scheme": "always",
            "split": True,
        },
        "decoder": {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": True},
        "model": {"unk_token": "<unk>", "fuse_unk": False},
    },
    "words of characters": {
        "normalizer": _sequence("normalizers", {"type": "NFKC"}, {"type": "Lowercase"}),
        "pre_tokenizer": {"type": "Whitespace"},
        "decoder": {"type": "BPEDecoder", "suffix": "</w>"},
        "model": {"unk_token": "<unk>", "fuse_unk": True, "end_of_word_suffix": "</w>"},
    },
    "OpenAI GPT": {
        "normalizer": {
            "type": "BertNormalizer",
            "clean_text": True,
            "handle_chinese_chars": True,
            "strip_accents": None,
            "lowercase": True,
        },
        "pre_tokenizer": {"type": "BertPreTokenizer"},
        "decoder": {"type": "BPEDecoder", "suffix": "</w>"},
        "model": {"unk_token": "<unk>", "end_of_word_suffix": "</w>"},
    },
    "continued words": {
        "pre_tokenizer": {"type": "WhitespaceSplit"},
        "decoder": {"type": "WordPiece", "prefix": "##", "cleanup": False},
        "model": {"unk_token": "<unk>", "continuing_subword_prefix": "##"},
    },
    "characters without a pre-tokenizer": {
        "normalizer": {"type": "Strip", "strip_left": True, "strip_right": True},
        "decoder": {"type": "Fuse"},
        "model": {"unk_token": "<unk>"},
    },
    "tokens that no merge produces": {
        "pre_tokenizer": _sequence("pretokenizers", split(_LLAMA3), _BYTES),
        "model": {"ignore_merges": True},
        "extra": ["ĠtheĠ", "Ġqueen", "xyzzy"],
    },
}


@cache
def text() -> str:
    """Return the text that the tokenizers are trained on. `##` is an added token and a prefix here."""
    texts = (corpus_text(name, 30_000) for name in ("english.txt", "multilingual.txt", "code.txt"))
    return "".join(texts).replace("##", "")


@cache
def hugging_face(name: str) -> str:
    """Return a trained tokenizer.json."""
    import tokenizers
    from tokenizers import models, trainers

    kind = HUGGING_FACE[name]
    model: dict[str, Any] = kind.get("model", {})
    fallback = model.get("byte_fallback", False)
    library = tokenizers.Tokenizer(models.BPE(**model))
    stages = {name: kind.get(name) for name in ("normalizer", "pre_tokenizer")}
    untrained = json.loads(library.to_str()) | stages
    library = tokenizers.Tokenizer.from_str(json.dumps(untrained))
    byte_level = "ByteLevel" in json.dumps(stages)
    trainer = trainers.BpeTrainer(
        vocab_size=700,
        show_progress=False,
        special_tokens=(["<unk>"] if model.get("unk_token") else [])
        + ([f"<0x{byte:02X}>" for byte in range(256)] if fallback else []),
        initial_alphabet=tokenizers.pre_tokenizers.ByteLevel.alphabet() if byte_level else [],
        limit_alphabet=300,
        max_token_length=12,
        **{
            name: model[name] for name in ("end_of_word_suffix", "continuing_subword_prefix") if name in model
        },
    )
    lines = text().splitlines(keepends=True)
    library.train_from_iterator(lines[::2], trainer)
    trained = json.loads(library.to_str())
    trained["model"] |= model
    for extra in kind.get("extra", []):
        trained["model"]["vocab"].setdefault(extra, len(trained["model"]["vocab"]))
    size = len(trained["model"]["vocab"])
    tokens = kind.get("added_tokens", [added("<|end|>", special=True), added("<tool>")])
    unknown = [token for token in trained["added_tokens"] if token["content"] == "<unk>"]
    trained["added_tokens"] = unknown + [token | {"id": size + at} for at, token in enumerate(tokens)]
    trained["decoder"] = kind.get("decoder", {**_BYTES, "use_regex": True, "add_prefix_space": True})
    return json.dumps(trained)


#: Settings of sentencepiece's trainer by kind.
SENTENCEPIECE: dict[str, dict[str, Any]] = {
    "nmt_nfkc": {},
    "identity with byte fallback": {
        "normalization_rule_name": "identity",
        "byte_fallback": True,
        "remove_extra_whitespaces": False,
        "split_digits": True,
    },
    "user-defined symbols": {
        "user_defined_symbols": ["<sep>", "the", "▁▁", "ing▁"],
        "control_symbols": ["<ctrl>"],
        "byte_fallback": True,
        "normalization_rule_name": "identity",
    },
    "spaces after words": {"treat_whitespace_as_suffix": True, "normalization_rule_name": "nfkc"},
    "no dummy prefix": {
        "add_dummy_prefix": False,
        "split_by_whitespace": False,
        "normalization_rule_name": "nfkc_cf",
        "unk_surface": "<?>",
    },
}


@cache
def sentencepiece(name: str) -> bytes:
    """Return a trained tokenizer.model."""
    import sentencepiece

    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(text().splitlines()),
        model_writer=model,
        model_type="bpe",
        **{"vocab_size": 1200, "character_coverage": 0.98, "minloglevel": 2, "num_threads": 1}
        | SENTENCEPIECE[name],
    )
    return model.getvalue()


def written(folder: Path, name: str) -> tuple[Path, owners.Owner]:
    """Write a tokenizer of a kind; return its file and its owner."""
    if name in SENTENCEPIECE:
        file = folder / "tokenizer.model"
        file.write_bytes(sentencepiece(name))
        return file, owners.of_sentencepiece(file)
    file = folder / "tokenizer.json"
    file.write_text(hugging_face(name), "utf-8")
    return file, owners.of_huggingface(file)
