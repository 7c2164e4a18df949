"""A drop-in replacement for the rustbpe package, on which nanochat trains its tokenizer.

In nanochat's `nanochat/tokenizer.py`, replace `import rustbpe` by `from merganser.chat import rustbpe`: all
else, including its pickled `tiktoken.Encoding`, stays as it is. Merges and ranks equal those of rustbpe.
"""

from collections.abc import Iterable, Iterator
from typing import Any

from merganser.tokenizer import Tokenizer as _Tokenizer
from merganser.tokenizer.frozen import FrozenDict
from merganser.training import train

__all__ = ["Tokenizer"]


class Ranks(FrozenDict[bytes, int]):
    """Ranks by the bytes of a token, which both readers of rustbpe's ranks accept.

    `tiktoken.Encoding(mergeable_ranks=…)` needs a dict. nanochat builds one from a list of pairs, so
    iteration yields pairs, unlike that of a dict.

    >>> ranks = Ranks({b"a": 97})
    >>> ranks[b"a"], {bytes(token): rank for token, rank in ranks}
    (97, {b'a': 97})
    """

    __slots__ = ()

    def __iter__(self) -> Iterator[Any]:
        return iter(self.items())


class Tokenizer:
    """A trainer with the methods of `rustbpe.Tokenizer`. Untrained, its tokens are the 256 bytes.

    Examples
    --------
    >>> tokenizer = Tokenizer()
    >>> tokenizer.train_from_iterator(iter(["low lower lowest"] * 9), 259)
    >>> tokenizer.encode("low lower"), tokenizer.vocab_size
    ([257, 258, 101, 114], 259)
    >>> tokenizer.merges
    {(108, 111): 256, (256, 119): 257, (32, 257): 258}
    """

    def __init__(self) -> None:
        self._trained = _untrained("nanochat")

    def train_from_iterator(
        self,
        iterator: Iterable[str],
        vocab_size: int,
        buffer_size: int = 8192,
        pattern: str | None = None,
    ) -> None:
        """Train on texts; replaces the result of an earlier training.

        Parameters
        ----------
        iterator
            The texts.
        vocab_size
            The number of tokens: 256 bytes and the merges.
        buffer_size
            The number of texts to pull from the iterator at a time.
        pattern
            The split pattern; rustbpe's by default, which is nanochat's with up to three digits.
        """
        self._trained = train(
            iterator,
            vocab_size,
            pattern=pattern or _untrained("nanochat").pattern.replace("{1,2}", "{1,3}"),
            special_tokens=(),
            separator=None,
            buffer_size=buffer_size,
        )

    def get_pattern(self) -> str:
        """Return the split pattern, a regular expression."""
        return self._trained.pattern

    def get_mergeable_ranks(self) -> Ranks:
        """Return the rank of every token: a dict, which yields pairs when iterated over; see `Ranks`."""
        return Ranks(self._trained.mergeable_ranks)

    @property
    def merges(self) -> FrozenDict[tuple[int, int], int]:
        """The id of each merged token by the ids of its two parts, in the order of the merges."""
        return self._trained.merges_as_ids

    @property
    def vocab_size(self) -> int:
        """The number of tokens: 256 bytes and the merges."""
        return self._trained.vocab_size

    def encode(self, text: str) -> list[int]:
        """Return the ids of a text."""
        return self._trained.encode_ordinary(text)

    def batch_encode(self, texts: list[str]) -> list[list[int]]:
        """Return the ids of each text, encoded on all cores."""
        return self._trained.encode_batch(texts)

    def decode(self, ids: Iterable[int]) -> str:
        """Return the text of ids; raises a `DecodeError` if they are not valid UTF-8."""
        return self._trained.decode(ids)


def _untrained(pattern: str) -> _Tokenizer:
    return _Tokenizer({bytes([byte]): byte for byte in range(256)}, pattern=pattern)
