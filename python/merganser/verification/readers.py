"""Open an export as its readers will, from the bytes that are about to be written.

The reader is a live object of the other library if that is installed, which proves that the library produces
our ids; otherwise merganser's own reader, which proves only that the files hold the tokenizer.
"""

import json
from collections.abc import Mapping
from importlib.util import find_spec
from typing import Any

from merganser.formats import gguf, gpt2, huggingface, minbpe, sentencepiece, tiktoken
from merganser.tokenizer import Tokenizer


def readers(tokenizer: Tokenizer, format: str, files: Mapping[str, bytes]) -> dict[str, Any]:
    """Return the readers of an export by name, for `verify_export`."""
    match format:
        case "tiktoken":
            return _tiktoken(tokenizer, tiktoken.parse(_ending(files, ".tiktoken")))
        case "gpt2":
            return _gpt2(tokenizer, files[gpt2.VOCAB], files[gpt2.MERGES])
        case "huggingface":
            return _huggingface(tokenizer, files[huggingface.FILE])
        case "sentencepiece":
            return _sentencepiece(_ending(files, ".model"))
    ours = {
        "minbpe": lambda: minbpe.parse(_ending(files, ".model")),
        "gguf": lambda: gguf.parse(_ending(files, ".gguf")),
    }
    # Token lengths cannot encode.
    return {f"our reader of {format}": ours[format]()} if format in ours else {}


def _ending(files: Mapping[str, bytes], suffix: str) -> bytes:
    return next(data for name, data in files.items() if name.endswith(suffix))


def _tiktoken(tokenizer: Tokenizer, ranks: dict[bytes, int]) -> dict[str, Any]:
    back = _with_the_rest(ranks, tokenizer, tokenizer.special_tokens)
    return {"tiktoken": back.to_tiktoken()} if find_spec("tiktoken") else {"our reader of ranks": back}


def _huggingface(tokenizer: Tokenizer, data: bytes) -> dict[str, Any]:
    found: dict[str, Any] = {}
    if find_spec("tokenizers"):
        from tokenizers import Tokenizer as Live

        found["Hugging Face"] = Live.from_str(data.decode())
    if not found or tokenizer.has_stages:
        found["our reader of tokenizer.json"] = huggingface.parse(data)
    return found


def _sentencepiece(data: bytes) -> dict[str, Any]:
    if find_spec("sentencepiece"):
        from sentencepiece import SentencePieceProcessor

        return {"SentencePiece": SentencePieceProcessor(model_proto=data)}
    return {"our reader of tokenizer.model": sentencepiece.parse(data).tokenizer()}


def _gpt2(tokenizer: Tokenizer, vocab: bytes, merges: bytes) -> dict[str, Any]:
    ranks, specials, _ = gpt2.parse(vocab, merges)
    # The files do not contain the pattern, and readers assume GPT-2's.
    if tokenizer.pattern_name == "gpt2" and find_spec("tokenizers"):
        from tokenizers import AddedToken, models, pre_tokenizers
        from tokenizers import Tokenizer as Live

        lines = merges.decode().split("\n")[1:]
        pairs = [(left, right) for left, _, right in (line.partition(" ") for line in lines if line)]
        live = Live(models.BPE(vocab=json.loads(vocab), merges=pairs))
        live.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        live.add_special_tokens([AddedToken(name, normalized=False, special=True) for name in specials])
        return {"Hugging Face": live}
    return {"our reader of vocab.json and merges.txt": _with_the_rest(ranks, tokenizer, specials)}


def _with_the_rest(ranks: dict[bytes, int], tokenizer: Tokenizer, specials: Mapping[str, int]) -> Tokenizer:
    return Tokenizer(ranks, pattern=tokenizer.pattern_name or tokenizer.pattern, special_tokens=specials)
