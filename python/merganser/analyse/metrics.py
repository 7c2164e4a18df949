"""Measures of how a tokenizer encodes a text, one number each. They are diagnostics, not verdicts.

They cost almost nothing once the text is encoded (`analyse.use`). Functions that take `frequencies` accept
any sequence of integers, one per token of the vocabulary.
"""

import math
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from merganser.analyse.usage import Usage
from merganser.errors import SettingsError
from merganser.tokenizer import Tokenizer

#: The order of Rényi entropy that correlates best with translation quality (Zouhar et al., 2023).
ALPHA = 2.5


def bytes_per_token(usage: Usage) -> float:
    """Return the bytes of UTF-8 per token, the compression of the text. Higher is better.

    Examples
    --------
    Eleven bytes in three tokens, `low`, ` low` and ` low`:

    >>> bytes_per_token(_example("low low low"))
    3.6666666666666665
    """
    return usage.sample.bytes / usage.tokens


def tokens_per_100_characters(usage: Usage) -> float:
    """Return the tokens per 100 characters, which unlike bytes is fair between scripts. Lower is better.

    Examples
    --------
    >>> round(tokens_per_100_characters(_example("low low low")), 2)
    27.27
    """
    return 100 * usage.tokens / usage.sample.characters


def tokens_per_word(usage: Usage) -> float:
    """Return the tokens per word, also called fertility. `WORD_RULE` defines a word.

    Examples
    --------
    Two words in four tokens, `low`, ` low`, `e` and `r`:

    >>> tokens_per_word(_example("low lower"))
    2.0
    """
    return usage.tokens / usage.sample.words


def tokens_per_sentence(usage: Usage) -> float:
    """Return the tokens per sentence. `SENTENCE_RULE` defines a sentence.

    Examples
    --------
    >>> tokens_per_sentence(_example("low. low low!"))
    2.5
    """
    return usage.tokens / usage.sample.sentences


def single_byte_share(usage: Usage) -> float:
    """Return the share of the tokens that are single bytes, which is high if the vocabulary fits badly.

    Examples
    --------
    Two of the tokens `low`, ` ` and `x`:

    >>> round(single_byte_share(_example("low x")), 3)
    0.667
    """
    single = np.isin(usage.ids, [usage.tokenizer.token_id(bytes([byte])) for byte in range(256)])
    return int(usage.frequencies[single].sum()) / usage.tokens


def vocabulary_use(frequencies: ArrayLike) -> float:
    """Return the share of the vocabulary that occurs in the text.

    Examples
    --------
    >>> vocabulary_use([5, 0, 1, 0])
    0.5
    """
    seen = _checked(frequencies)
    return int(np.count_nonzero(seen)) / len(seen)


def renyi_efficiency(frequencies: ArrayLike, alpha: float = ALPHA) -> float:
    """Return how evenly the text uses the vocabulary: its Rényi entropy relative to the maximum.

    The maximum is log V, where V is the size of the vocabulary; the efficiency is 1 if all tokens are equally
    frequent. Compare values only for the same `alpha`, and with similar V.

    Parameters
    ----------
    frequencies
        How often each token of the vocabulary occurs.
    alpha
        The order of the entropy, at least 0.

    Raises
    ------
    SettingsError
        If `alpha` or the frequencies are invalid.

    Examples
    --------
    Half of the tokens of a text are one token, a quarter another and a quarter a third, and V is 4. For
    alpha 2 the entropy is -log(1/4 + 1/16 + 1/16) = log(8/3), so:

    >>> round(renyi_efficiency([2, 1, 1, 0], alpha=2), 4), round(math.log(8 / 3) / math.log(4), 4)
    (0.7075, 0.7075)
    """
    seen = _checked(frequencies)
    if len(seen) < 2:
        raise SettingsError(
            "the Rényi efficiency of a vocabulary of one token is undefined; pass at least two frequencies"
        )
    if not 0 <= alpha < math.inf:
        raise SettingsError(f"alpha must be a finite number of at least 0, got {alpha}")
    shares = seen[seen > 0] / seen.sum()
    if alpha == 1:  # the limit is Shannon's entropy
        entropy = -float(np.sum(shares * np.log(shares)))
    else:
        # Relative to the largest share: otherwise all powers would underflow for a large alpha.
        most = float(shares.max())
        entropy = (alpha * math.log(most) + math.log(float(np.sum((shares / most) ** alpha)))) / (1 - alpha)
    return entropy / math.log(len(seen))


def gini(frequencies: ArrayLike) -> float:
    """Return how unevenly the text uses the vocabulary: 0 if all tokens are equally frequent, up to 1.

    Examples
    --------
    If one of two tokens never occurs, the mean difference of two tokens is half of the maximum:

    >>> gini([0, 8]), gini([4, 4])
    (0.5, 0.0)
    """
    seen = np.sort(_checked(frequencies))
    ranks = np.arange(1, len(seen) + 1)
    return float(np.sum((2 * ranks - len(seen) - 1) * (seen / seen.sum())) / len(seen))


def coverage(frequencies: ArrayLike, top: int) -> float:
    """Return the share of the text's tokens that are among the `top` most frequent.

    Examples
    --------
    >>> coverage([6, 1, 3, 0], top=2)
    0.9
    """
    if top < 1:
        raise SettingsError(f"top must be at least 1 token, got {top}")
    seen = np.sort(_checked(frequencies))
    return int(seen[-top:].sum()) / int(seen.sum())


def parity(
    tokenizer: Tokenizer, texts: Mapping[str, Sequence[str]], reference: str | None = None
) -> dict[str, float]:
    """Return the number of tokens of the same text in each language, relative to a reference language.

    Parameters
    ----------
    tokenizer
        The tokenizer to measure.
    texts
        The same sentences, in the same order, in each language.
    reference
        The language with the value 1.0; the first by default.

    Returns
    -------
    dict[str, float]
        The ratio for each language: 2.0 means twice as many tokens.

    Raises
    ------
    SettingsError
        If the languages do not have the same number of sentences, or the reference is missing or empty.

    Examples
    --------
    >>> bytes_only = Tokenizer({bytes([byte]): byte for byte in range(256)})
    >>> parity(bytes_only, {"English": ["Yes", "No"], "Russian": ["Да", "Нет"]})
    {'English': 1.0, 'Russian': 2.0}
    """
    if not texts:
        raise SettingsError("parity needs sentences in at least one language; texts is empty")
    reference = next(iter(texts)) if reference is None else reference
    if reference not in texts:
        raise SettingsError(
            f"reference {reference!r} is not a language of texts; use one of {', '.join(texts)}"
        )
    sizes = {language: len(sentences) for language, sentences in texts.items()}
    if len(set(sizes.values())) > 1:
        listed = ", ".join(f"{language} {size}" for language, size in sizes.items())
        raise SettingsError(
            f"parity needs the same sentences in every language, but their numbers are {listed}"
        )
    tokens = {
        language: sum(tokenizer.count_tokens(list(sentences), disallowed_special=()))
        for language, sentences in texts.items()
    }
    if not tokens[reference]:
        raise SettingsError(f"the sentences in {reference} are empty; choose another reference")
    return {language: number / tokens[reference] for language, number in tokens.items()}


def measures(usage: Usage, *, alpha: float = ALPHA, top: int = 1000) -> dict[str, float]:
    """Return all measures of one tokenizer on one text, by descriptive name.

    Parameters
    ----------
    usage
        The tokenizer's usage on the text, from `use`.
    alpha
        The order of Rényi entropy; see `renyi_efficiency`.
    top
        The number of most frequent tokens; see `coverage`.

    Examples
    --------
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
        raise SettingsError("frequencies must be integers of at least 0, one per token")
    if not seen.any():
        raise SettingsError("all frequencies are 0; measure a text that contains tokens")
    return seen.astype(np.int64)


def _example(text: str, vocab_size: int = 259) -> Usage:
    """Return a usage for the examples above; `low` and ` low` are tokens."""
    from merganser.analyse.sample import Sample
    from merganser.analyse.usage import use
    from merganser.training import train

    return use(train(["low low"] * 9, vocab_size), Sample.of([text]))
