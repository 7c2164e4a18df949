"""Usage: how often a text makes a tokenizer yield each of its tokens.

Every unique pre-token is encoded once and counts as often as it occurs: the numbers are those of encoding it
all, because the tokens of a pre-token depend on nothing else. It loses to encoding if nearly every pre-token
is unique.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from merganser import _core
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
    counts = sample.counts(tokenizer.pattern_name or tokenizer.pattern)
    by_id = _core.token_frequencies(tokenizer, counts._native)
    ranks = tokenizer.mergeable_ranks
    ids = np.sort(np.fromiter(ranks.values(), dtype=np.int64, count=len(ranks)))
    frequencies = by_id[ids].astype(np.int64)  # they fit: `Sample` refuses a text of 2⁶³ bytes
    frequencies.flags.writeable = False
    return Usage(tokenizer, sample, ids, frequencies)


def use_sizes(tokenizer: Tokenizer, sizes: list[int], sample: Sample) -> list[Usage]:
    """The same for the tokenizers of these vocabulary sizes from the same training."""
    return [use(tokenizer.truncated(size), sample) for size in sizes]
