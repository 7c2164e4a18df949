"""One-hot vectors as a baseline: what is known before anything is learned."""

import numpy as np

from merganser.embed.embeddings import Embeddings
from merganser.errors import SettingsError

#: The maximum number of tokens: a one-hot vector has one number per token, so these take 400 MB.
MAX_TOKENS = 10_000


def one_hot(embeddings: Embeddings) -> Embeddings:
    """Return one-hot vectors of the same tokens: all are equally far apart, whatever they mean.

    Raises
    ------
    SettingsError
        If there are more than 10,000 tokens.

    Examples
    --------
    >>> import merganser
    >>> tokenizer = merganser.train(["a b"], 257)
    >>> one_hot(Embeddings(np.ones((2, 5)), [97, 98], [1, 1], tokenizer)).similarity("a", "b")
    0.0
    """
    size = len(embeddings)
    if size > MAX_TOKENS:
        raise SettingsError(
            f"one-hot vectors of {size:,} tokens would take {size**2 * 4 / 1e9:.1f} GB; "
            f"raise min_count to have at most {MAX_TOKENS:,} tokens"
        )
    vectors = np.eye(size, dtype=np.float32)
    return Embeddings(
        vectors, embeddings.ids, embeddings.counts, embeddings.tokenizer, {"baseline": "one-hot"}
    )
