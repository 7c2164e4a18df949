"""Usage: how often a text makes a tokenizer yield each of its tokens.

Every unique pre-token is encoded once and counts as often as it occurs: the numbers are those of encoding it
all, as what becomes of a pre-token depends on nothing else. 100 MB of mixed text take 3 s beyond counting,
most of it for the million unique pre-tokens. It loses to encoding where nearly every pre-token is different.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from merganser.analyse.sample import Sample
from merganser.tokenizer import Tokenizer


@dataclass(frozen=True, eq=False)
class Usage:
    """How often each token occurred. Special tokens are left out: text does not yield them."""

    tokenizer: Tokenizer
    sample: Sample
    #: All tokens that are not special, lowest first.
    ids: NDArray[np.int64]
    #: How often each of them occurred, in the same order. Never rounded.
    frequencies: NDArray[np.int64]

    @property
    def tokens(self) -> int:
        """How many tokens the text became."""
        return int(self.frequencies.sum())

    def top(self, n: int) -> list[tuple[int, int]]:
        """The `n` most frequent ids, each with its frequency; of equals, the lower id first."""
        places = np.argsort(-self.frequencies, kind="stable")[:n]
        return [(int(self.ids[place]), int(self.frequencies[place])) for place in places]


def use(tokenizer: Tokenizer, sample: Sample) -> Usage:
    """Encodes a sample, and counts the tokens.

    >>> import merganser
    >>> tokenizer = merganser.train(["low lower lowest"] * 9, 260)
    >>> usage = use(tokenizer, Sample.of(["low low low"]))
    >>> usage.tokens, [(tokenizer.token_bytes(id), times) for id, times in usage.top(2)]
    (3, [(b' low', 2), (b'low', 1)])
    """
    return _used(tokenizer, as_whole(tokenizer), sample)


def use_sizes(tokenizer: Tokenizer, sizes: list[int], sample: Sample) -> list[Usage]:
    """The same for the tokenizers of these vocabulary sizes from the same training."""
    whole = as_whole(tokenizer)
    ordinary = [size - len(tokenizer.special_tokens) for size in sizes]
    return [
        _used(tokenizer.truncated(size), whole.truncated(rest), sample)
        for size, rest in zip(sizes, ordinary, strict=True)
    ]


def as_whole(tokenizer: Tokenizer) -> Tokenizer:
    """One that takes every text as one pre-token: alone, a pre-token might be split once more."""
    return Tokenizer(tokenizer.mergeable_ranks, pattern="(?s).+")


def _used(tokenizer: Tokenizer, whole: Tokenizer, sample: Sample) -> Usage:
    pretokens = sample.pretokens(tokenizer.pattern_name or tokenizer.pattern)
    ranks = tokenizer.mergeable_ranks
    by_id = np.zeros(max(ranks.values()) + 1, dtype=np.int64)
    made, offsets = whole.encode_flat(pretokens.texts)
    # On integers: weights in floating point would be rounded from 2⁵³ on.
    np.add.at(by_id, made, np.repeat(pretokens.times, np.diff(offsets)))
    for byte, seen in pretokens.stray.items():
        by_id[ranks[byte]] += seen
    ids = np.sort(np.fromiter(ranks.values(), dtype=np.int64, count=len(ranks)))
    frequencies = by_id[ids]
    frequencies.flags.writeable = False
    return Usage(tokenizer, sample, ids, frequencies)
