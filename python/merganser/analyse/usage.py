"""How often each token of a tokenizer occurs in a text.

Every unique pre-token is encoded once and weighted by its count. The result equals that of encoding the whole
text, because the tokens of a pre-token depend on nothing else. It is slower than encoding only if nearly
every pre-token is unique.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from merganser import _core
from merganser.analyse.sample import Sample
from merganser.tokenizer import Tokenizer


@dataclass(frozen=True, eq=False)
class Usage:
    """The frequency of each ordinary token in a text; special tokens, which text never yields, are left out.

    Attributes
    ----------
    tokenizer, sample
        The tokenizer and the text.
    ids
        The ids of all ordinary tokens in ascending order.
    frequencies
        The exact number of occurrences of each of `ids`.
    """

    tokenizer: Tokenizer
    sample: Sample
    ids: NDArray[np.int64]
    frequencies: NDArray[np.int64]

    @property
    def tokens(self) -> int:
        """The number of tokens in the text."""
        return int(self.frequencies.sum())

    def top(self, n: int) -> list[tuple[int, int]]:
        """Return the `n` most frequent ids with their frequencies; ties are ordered by id."""
        rows = np.argsort(-self.frequencies, kind="stable")[:n]
        return [(int(self.ids[row]), int(self.frequencies[row])) for row in rows]


def use(tokenizer: Tokenizer, sample: Sample) -> Usage:
    """Encode a sample and count its tokens.

    Parameters
    ----------
    tokenizer
        The tokenizer to encode with.
    sample
        The text.

    Returns
    -------
    Usage
        The frequency of each token.

    Examples
    --------
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
    """Return the usage of the tokenizer truncated to each of these vocabulary sizes."""
    return [use(tokenizer.truncated(size), sample) for size in sizes]
