"""Analyse: figures about what a tokenizer does with text that it was not trained on.

Read a text once, let each tokenizer use it, and measure:

>>> import merganser
>>> from merganser import analyse
>>> tokenizer = merganser.train(["low lower lowest"] * 9, 260)
>>> sample = analyse.Sample.of(["low slower."])
>>> usage = analyse.use(tokenizer, sample)
>>> analyse.tokens_per_word(usage)
3.5

All of these are diagnostics: they say how text is cut, not how well a model will learn from it. They mean
most on held-out text, of the kind that the model will meet, and beside those of another tokenizer.
"""

from merganser.analyse.measures import (
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
