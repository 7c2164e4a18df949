"""How often each token of a tokenizer occurs in a text.

Every unique pre-token is encoded once and weighted by its count. The result equals that of encoding the whole
text, because the tokens of a pre-token depend on nothing else. It is slower than encoding only if nearly
every pre-token is unique.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

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
    return _used(tokenizer, as_whole(tokenizer), sample)


def use_sizes(tokenizer: Tokenizer, sizes: list[int], sample: Sample) -> list[Usage]:
    """Return the usage of the tokenizer truncated to each of these vocabulary sizes."""
    whole = as_whole(tokenizer)
    ordinary = [size - len(tokenizer.special_tokens) for size in sizes]
    return [
        _used(tokenizer.truncated(size), whole.truncated(rest), sample)
        for size, rest in zip(sizes, ordinary, strict=True)
    ]


def as_whole(tokenizer: Tokenizer) -> Tokenizer:
    """Return a tokenizer that never splits: out of context, a pre-token might be split again."""
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
