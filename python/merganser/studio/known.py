"""Known vocabularies: the split pattern and the special tokens that a rank file lacks.

A vocabulary is recognized by its size and its last token. For others, a pattern is suggested by the longest
number that is one token, which the pattern of its training limits. Takes milliseconds for 200,000 tokens.
"""

from collections.abc import Mapping
from typing import NamedTuple

from merganser.tokenizer import Tokenizer

_LLAMA3_NAMED = {0: "begin_of_text", 1: "end_of_text", 6: "start_header_id", 7: "end_header_id", 9: "eot_id"}


class Known(NamedTuple):
    """A vocabulary that is published as a rank file."""

    title: str
    pattern: str
    special_tokens: Mapping[str, int]


def _llama3() -> dict[str, int]:
    """Return Llama 3's 256 special tokens: five have names, the others are numbered."""
    numbers = iter(range(256))
    names = (_LLAMA3_NAMED.get(n) or f"reserved_special_token_{next(numbers)}" for n in range(256))
    return {f"<|{name}|>": 128_000 + n for n, name in enumerate(names)}


_FIM = {"<|fim_prefix|>": 100_258, "<|fim_middle|>": 100_259, "<|fim_suffix|>": 100_260}
#: By the number of ranks and the token with the highest.
_KNOWN = {
    (50_256, b" gazed"): Known("GPT-2", "gpt2", {"<|endoftext|>": 50_256}),
    (100_256, b" Conveyor"): Known(
        "cl100k_base (GPT-4)", "gpt4", {"<|endoftext|>": 100_257} | _FIM | {"<|endofprompt|>": 100_276}
    ),
    (199_998, b" cocos"): Known(
        "o200k_base (GPT-4o)", "o200k", {"<|endoftext|>": 199_999, "<|endofprompt|>": 200_018}
    ),
    (128_000, "锦".encode()): Known("Llama 3", "llama3", _llama3()),
    (151_643, "⽗".encode()): Known(
        "Qwen", "qwen2", {"<|endoftext|>": 151_643, "<|im_start|>": 151_644, "<|im_end|>": 151_645}
    ),
}
#: The pattern by the largest number of digits in a token.
_BY_DIGITS = {1: "qwen2", 2: "nanochat", 3: "gpt4"}


def recognized(ranks: Mapping[bytes, int]) -> Known | None:
    """Return what is known about a vocabulary, or None."""
    return _KNOWN.get((len(ranks), max(ranks, key=ranks.__getitem__))) if ranks else None


def suggested_pattern(ranks: Mapping[bytes, int]) -> tuple[str, str]:
    """Return a preset for a rank file, and the reason in a sentence.

    >>> suggested_pattern({b"1": 0, b"12": 1, b"2024": 2})
    ('gpt2', 'Its longest number is a token of 4 digits, as in vocabularies of gpt2.')
    """
    found = recognized(ranks)
    if found is not None:
        return found.pattern, f"This is the vocabulary of {found.title}."
    digits = max((len(token) for token in ranks if token.isdigit()), default=0)
    pattern = _BY_DIGITS.get(digits, "gpt2")
    size = f"a token of {digits} digits" if digits > 1 else "one digit"
    return pattern, f"Its longest number is {size}, as in vocabularies of {pattern}."


def completed(tokenizer: Tokenizer) -> Tokenizer:
    """Return a tokenizer with the special tokens of its vocabulary if it is known and has none."""
    if tokenizer.special_tokens or tokenizer.pattern_name is None:
        return tokenizer
    found = recognized(tokenizer.mergeable_ranks)
    if found is None or found.pattern != tokenizer.pattern_name:
        return tokenizer
    return Tokenizer(
        tokenizer.mergeable_ranks, pattern=found.pattern, special_tokens=dict(found.special_tokens)
    )
