"""Readers: who will read an export, made of the very bytes that are to be written.

That is the live object of the other library where it is installed, and our own reader otherwise. They differ
only in what they prove: the one that the library gives our ids, the other that the files hold our tokens.
"""

import json
from collections.abc import Mapping
from importlib.util import find_spec
from typing import Any

from merganser.formats import gpt2, huggingface, tiktoken
from merganser.tokenizer import Tokenizer


def readers(tokenizer: Tokenizer, format: str, contents: bytes | Mapping[str, bytes]) -> dict[str, Any]:
    """Who reads the contents of an export, by name, for `verify_export`."""
    if format == "tiktoken":
        assert isinstance(contents, bytes)
        return _tiktoken(tokenizer, tiktoken.parse(contents))
    assert not isinstance(contents, bytes)
    if format == "gpt2":
        return _gpt2(tokenizer, contents[gpt2.VOCAB], contents[gpt2.MERGES])
    return _huggingface(contents[huggingface.FILE])


def _tiktoken(tokenizer: Tokenizer, ranks: dict[bytes, int]) -> dict[str, Any]:
    back = _with_the_rest(ranks, tokenizer, tokenizer.special_tokens)
    return {"tiktoken": back.to_tiktoken()} if find_spec("tiktoken") else {"our reader of ranks": back}


def _huggingface(data: bytes) -> dict[str, Any]:
    if find_spec("tokenizers"):
        from tokenizers import Tokenizer as Live

        return {"Hugging Face": Live.from_str(data.decode())}
    return {"our reader of tokenizer.json": huggingface.parse(data)}


def _gpt2(tokenizer: Tokenizer, vocab: bytes, merges: bytes) -> dict[str, Any]:
    ranks, specials, _ = gpt2.parse(vocab, merges)
    # The files do not say the pattern: whoever reads them without being told takes GPT-2's.
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
