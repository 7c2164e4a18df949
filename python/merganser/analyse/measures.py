"""Measures: one number each, of what a tokenizer made of a text. Diagnostics, not verdicts.

They cost next to nothing once the text is used (`analyse.use`). Those that take `frequencies` take any
sequence of whole numbers, one for each token of the vocabulary.
"""

import math
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from merganser.analyse.usage import Usage
from merganser.errors import SettingsError
from merganser.tokenizer import Tokenizer

#: The order of Rényi's entropy that went best with the quality of translations: Zouhar and others, 2023.
ALPHA = 2.5


def bytes_per_token(usage: Usage) -> float:
    """Bytes of UTF-8 for each token: how far the text shrinks. More is better, between tokenizers.

    Eleven bytes in three tokens, `low`, ` low` and ` low`:

    >>> bytes_per_token(_example("low low low"))
    3.6666666666666665
    """
    return usage.sample.bytes / usage.tokens


def tokens_per_100_characters(usage: Usage) -> float:
    """Tokens for every hundred characters: the other way round, and fair between scripts.

    >>> round(tokens_per_100_characters(_example("low low low")), 2)
    27.27
    """
    return 100 * usage.tokens / usage.sample.characters


def tokens_per_word(usage: Usage) -> float:
    """Tokens for every word, also called fertility. `WORD_RULE` says what a word is.

    `low`, ` low`, `e`, `r` are four tokens of two words:

    >>> tokens_per_word(_example("low lower"))
    2.0
    """
    return usage.tokens / usage.sample.words


def tokens_per_sentence(usage: Usage) -> float:
    """Tokens for every sentence. `SENTENCE_RULE` says what a sentence is.

    >>> tokens_per_sentence(_example("low. low low!"))
    2.5
    """
    return usage.tokens / usage.sample.sentences


def single_byte_share(usage: Usage) -> float:
    """The share of the tokens that are one byte: where the vocabulary has no word for the text.

    Of `low`, ` ` and `x`, two are:

    >>> round(single_byte_share(_example("low x")), 3)
    0.667
    """
    single = np.isin(usage.ids, [usage.tokenizer.token_id(bytes([byte])) for byte in range(256)])
    return int(usage.frequencies[single].sum()) / usage.tokens


def vocabulary_use(frequencies: ArrayLike) -> float:
    """The share of the vocabulary that occurred at all.

    >>> vocabulary_use([5, 0, 1, 0])
    0.5
    """
    seen = _checked(frequencies)
    return int(np.count_nonzero(seen)) / len(seen)


def renyi_efficiency(frequencies: ArrayLike, alpha: float = ALPHA) -> float:
    """How evenly the text uses the vocabulary: Rényi's entropy of order `alpha` over the most it could be,
    the logarithm of V, the number of tokens. 1 if all are used alike. Compare it only for the same alpha,
    and mind V.

    Half of the tokens of a text are one token, a quarter is another and a quarter a third, V is 4. At alpha
    2 the entropy is -log(1/4 + 1/16 + 1/16) = log(8/3), so:

    >>> round(renyi_efficiency([2, 1, 1, 0], alpha=2), 4), round(math.log(8 / 3) / math.log(4), 4)
    (0.7075, 0.7075)
    """
    seen = _checked(frequencies)
    if len(seen) < 2:
        raise SettingsError(
            "with a vocabulary of one token there is nothing to compare; pass more frequencies"
        )
    if not 0 <= alpha < math.inf:
        raise SettingsError(f"alpha is a number from 0 on, not {alpha}")
    shares = seen[seen > 0] / seen.sum()
    if alpha == 1:  # the limit is Shannon's entropy
        entropy = -float(np.sum(shares * np.log(shares)))
    else:
        # Against the largest share, or all of them would vanish where alpha is large.
        most = float(shares.max())
        entropy = (alpha * math.log(most) + math.log(float(np.sum((shares / most) ** alpha)))) / (1 - alpha)
    return entropy / math.log(len(seen))


def gini(frequencies: ArrayLike) -> float:
    """How unevenly the text uses the vocabulary: 0 if all tokens occur alike, near 1 if few do all the work.

    Of two tokens, one never occurs: the mean difference of any two is 1/2 of what it could be.

    >>> gini([0, 8]), gini([4, 4])
    (0.5, 0.0)
    """
    seen = np.sort(_checked(frequencies))
    ranks = np.arange(1, len(seen) + 1)
    return float(np.sum((2 * ranks - len(seen) - 1) * (seen / seen.sum())) / len(seen))


def coverage(frequencies: ArrayLike, top: int) -> float:
    """The share of the text's tokens that are one of the `top` most frequent.

    >>> coverage([6, 1, 3, 0], top=2)
    0.9
    """
    if top < 1:
        raise SettingsError(f"the top is at least one token, not {top}")
    seen = np.sort(_checked(frequencies))
    return int(seen[-top:].sum()) / int(seen.sum())


def parity(
    tokenizer: Tokenizer, texts: Mapping[str, Sequence[str]], reference: str | None = None
) -> dict[str, float]:
    """How many tokens the same text takes in each language, against a reference: 2.0 is twice as many.

    texts: for each language, the same sentences in the same order.
    reference: the language that is 1.0; the first if not given.

    >>> bytes_only = Tokenizer({bytes([byte]): byte for byte in range(256)})
    >>> parity(bytes_only, {"English": ["Yes", "No"], "Russian": ["Да", "Нет"]})
    {'English': 1.0, 'Russian': 2.0}
    """
    if not texts:
        raise SettingsError("parity needs the same sentences in at least one language")
    reference = next(iter(texts)) if reference is None else reference
    if reference not in texts:
        raise SettingsError(f"{reference} is not one of the languages: {', '.join(texts)}")
    sizes = {language: len(sentences) for language, sentences in texts.items()}
    if len(set(sizes.values())) > 1:
        told = ", ".join(f"{language} {size}" for language, size in sizes.items())
        raise SettingsError(f"parity needs the same sentences in every language, but there are {told}")
    tokens = {
        language: sum(tokenizer.count_tokens(list(sentences), disallowed_special=()))
        for language, sentences in texts.items()
    }
    if not tokens[reference]:
        raise SettingsError(f"the sentences in {reference} are empty; there is nothing to compare with")
    return {language: made / tokens[reference] for language, made in tokens.items()}


def measures(usage: Usage, *, alpha: float = ALPHA, top: int = 1000) -> dict[str, float]:
    """All figures of one tokenizer on one text, by a name that says how each is meant.

    >>> list(measures(_example("low low low")))[:2]
    ['bytes per token', 'tokens per 100 characters']
    """
    seen = usage.frequencies
    return {
        "bytes per token": bytes_per_token(usage),
        "tokens per 100 characters": tokens_per_100_characters(usage),
        "tokens per word": tokens_per_word(usage),
        "tokens per sentence": tokens_per_sentence(usage),
        "vocabulary use": vocabulary_use(seen),
        f"Rényi efficiency (α = {alpha:g}, V = {len(seen):,})": renyi_efficiency(seen, alpha),
        "Gini coefficient": gini(seen),
        "share of single-byte tokens": single_byte_share(usage),
        f"coverage of the top {top:,} tokens": coverage(seen, top),
    }


def _checked(frequencies: ArrayLike) -> NDArray[np.int64]:
    seen = np.asarray(frequencies)
    if seen.ndim != 1 or not np.issubdtype(seen.dtype, np.integer) or not seen.size or seen.min() < 0:
        raise SettingsError("frequencies are whole numbers from 0 on, one for each token")
    if not seen.any():
        raise SettingsError("no token occurred, so there is nothing to measure; pass a text that has some")
    return seen.astype(np.int64)


def _example(text: str, vocab_size: int = 259) -> Usage:
    """For the examples above: `low` and ` low` are tokens, and the bytes."""
    from merganser.analyse.sample import Sample
    from merganser.analyse.usage import use
    from merganser.training import train

    return use(train(["low low"] * 9, vocab_size), Sample.of([text]))
