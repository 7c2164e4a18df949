"""Measure how tokenizers encode text.

Read a text once, encode it with each tokenizer, and measure:

>>> import merganser
>>> from merganser import analyse
>>> tokenizer = merganser.train(["low lower lowest"] * 9, 260)
>>> sample = analyse.Sample.of(["low slower."])
>>> usage = analyse.use(tokenizer, sample)
>>> analyse.tokens_per_word(usage)
3.5

All measures are diagnostics: they describe how text is tokenized, not how well a model will learn from it.
They are most meaningful on held-out text like that of the intended use, and in comparison with another
tokenizer.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from merganser.analyse.metrics import (
        bytes_per_token,
        coverage,
        gini,
        measures,
        parity,
        renyi_efficiency,
        single_byte_share,
        tokens_per_100_characters,
        tokens_per_sentence,
        tokens_per_word,
        vocabulary_use,
    )
    from merganser.analyse.sample import SENTENCE_RULE, WORD_RULE, Sample
    from merganser.analyse.usage import Usage, use, use_sizes
    from merganser.analyse.vocabulary import near_duplicates, rare, undecodable, unreachable

__all__ = [
    "SENTENCE_RULE",
    "WORD_RULE",
    "Sample",
    "Usage",
    "bytes_per_token",
    "coverage",
    "gini",
    "measures",
    "near_duplicates",
    "parity",
    "rare",
    "renyi_efficiency",
    "single_byte_share",
    "tokens_per_100_characters",
    "tokens_per_sentence",
    "tokens_per_word",
    "undecodable",
    "unreachable",
    "use",
    "use_sizes",
    "vocabulary_use",
]


def __getattr__(name: str) -> Any:
    """Import a public name on first use: `merganser.compare` must not import numpy, which imports pickle."""
    if name in __all__:
        for module in ("sample", "usage", "vocabulary", "metrics"):
            value = getattr(import_module(f"merganser.analyse.{module}"), name, None)
            if value is not None:
                globals()[name] = value
                return value
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
