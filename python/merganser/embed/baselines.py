"""Baselines: the one-hot vector of every token, which is what there is before anything is learned."""

import numpy as np

from merganser.embed.embeddings import Embeddings
from merganser.errors import SettingsError

#: Its vectors have as many numbers as there are tokens: 400 MB for so many.
LARGEST = 10_000


def one_hot(embeddings: Embeddings) -> Embeddings:
    """The same tokens, each in a direction of its own: every two are equally far apart, whatever they mean.

    >>> import merganser
    >>> tokenizer = merganser.train(["a b"], 257)
    >>> one_hot(Embeddings(np.ones((2, 5)), [97, 98], [1, 1], tokenizer)).similarity("a", "b")
    0.0
    """
    size = len(embeddings)
    if size > LARGEST:
        raise SettingsError(
            f"one-hot vectors of {size:,} tokens would take {size**2 * 4 / 1e9:.1f} GB; "
            f"the baseline is for at most {LARGEST:,}: raise min_count"
        )
    vectors = np.eye(size, dtype=np.float32)
    return Embeddings(
        vectors, embeddings.ids, embeddings.counts, embeddings.tokenizer, {"baseline": "one-hot"}
    )
