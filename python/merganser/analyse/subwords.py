"""The most frequent subwords of a text, by their place in a word.

A pre-token that is one token is a whole word; otherwise its first token is a prefix, its last a suffix, and
those between are inside. Only pre-tokens of letters count, and tokens of one letter do not. Every unique
pre-token is encoded once, at most `_MOST`, the most frequent ones: a second for a large corpus.
"""

from collections import Counter
from dataclasses import dataclass
from typing import Literal

from merganser.counts import Counts
from merganser.tokenizer import Tokenizer

Place = Literal["prefix", "inside", "suffix", "word"]

_MOST = 100_000

_FUNCTION_WORDS = """
a about above after again against all alone along also although always am among an and another any are
around as at away back be became because become been before behind being below between both but by came
can cannot could did do does done down during each either else even ever every few first for from further
gave get give given go got had has have having he her here hers herself him himself his how however i if
in indeed into is it its itself just last least less let like little long made make many may me mere might
mine more most much must my myself near neither never no none nor not nothing now of off often on once one
only or other others ought our ours ourselves out over own perhaps quite rather s said same saw say see
seem seemed shall she should since so some soon still such t take taken than that the thee their theirs
them themselves then there these they this those thou though through thus thy till to together too took
toward towards two under until up upon us very was we well went were what when where whether which while
who whole whom whose why will with within without would yet you your yours yourself
"""
#: English words that are frequent in any text, and so say nothing about it.
FUNCTION_WORDS = frozenset(_FUNCTION_WORDS.split())


@dataclass(frozen=True)
class Subword:
    """A token at one place in words, and how often it occurs there."""

    id: int
    place: Place
    occurrences: int


def subwords(tokenizer: Tokenizer, counts: Counts) -> list[Subword]:
    """Return the tokens of words by their place, most frequent first.

    Parameters
    ----------
    tokenizer
        The tokenizer to encode with.
    counts
        The pre-tokens of a text under the tokenizer's pattern, from `merganser.count`.

    Examples
    --------
    >>> import merganser
    >>> tokenizer = merganser.train(["low low low lowing lowing rowing"], 262)
    >>> found = subwords(tokenizer, merganser.count(["low rowing"]))
    >>> [(tokenizer.token_bytes(part.id), part.place) for part in found]
    [(b'ow', 'inside'), (b'low', 'word'), (b'ing', 'suffix')]
    """
    words = words_of(counts)
    encoded = tokenizer.encode_batch(list(words), disallowed_special=())
    seen: Counter[tuple[int, Place]] = Counter()
    for ids, times in zip(encoded, words.values(), strict=True):
        last = len(ids) - 1
        for nth, id in enumerate(ids):
            place: Place = (
                "word" if not last else "prefix" if not nth else "suffix" if nth == last else "inside"
            )
            seen[id, place] += times
    long = {id for id, _ in seen if len(tokenizer.token_bytes(id).decode("utf-8", "replace").strip()) > 1}
    found = [Subword(id, place, times) for (id, place), times in seen.items() if id in long]
    return sorted(found, key=lambda part: (-part.occurrences, part.id, part.place))


def words_of(counts: Counts) -> dict[str, int]:
    """Return the most frequent pre-tokens that are letters, with at most one space in front."""
    words: dict[str, int] = {}
    for pretoken, times in sorted(counts.to_dict().items(), key=lambda entry: -entry[1])[:_MOST]:
        try:
            text = pretoken.decode()
        except UnicodeDecodeError:
            continue
        if text.removeprefix(" ").isalpha():
            words[text] = times
    return words
