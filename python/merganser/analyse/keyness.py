"""Words that are characteristic of a text: those more frequent in it than in general English.

The keyness of a word is the ratio of its frequencies in the text and in general English, both per million
words, with `_SMOOTHING` added to each so that rare words do not lead the list. `general_english.txt` lists
the frequencies of common words; the others count as absent.
"""

from collections.abc import Mapping
from functools import cache
from pathlib import Path

from merganser.analyse.subwords import FUNCTION_WORDS

#: Written by tools/count_english.py.
FILE = Path(__file__).with_name("general_english.txt")
#: Added to both frequencies. Larger values favor frequent words.
_SMOOTHING = 100


def keyness(words: Mapping[str, int]) -> dict[str, float]:
    """Return how characteristic each word is of a text: above 1 if more frequent than in general English.

    Parameters
    ----------
    words
        The words of a text and how often each occurs, in lower case.

    Returns
    -------
    dict
        The keyness of each word; empty if the text is not English, that is, if fewer than a quarter of its
        words are English function words. In prose, about half are.

    Examples
    --------
    >>> found = keyness({"the": 60, "monster": 10, "walked": 5, "in": 25})
    >>> max(found, key=found.__getitem__)
    'monster'
    """
    total = sum(words.values())
    if not total or sum(words.get(word, 0) for word in FUNCTION_WORDS) < total / 4:
        return {}
    general = _general_english()
    return {
        word: (times * 1e6 / total + _SMOOTHING) / (general.get(word, 0) + _SMOOTHING)
        for word, times in words.items()
    }


@cache
def _general_english() -> dict[str, int]:
    """Return the frequencies of common words per million."""
    lines = FILE.read_text("utf-8").splitlines()[1:]
    return {word: int(times) for times, _, word in (line.partition(" ") for line in lines)}
