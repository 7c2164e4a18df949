"""Shuffle without a list: a permutation of 0 … n - 1 that is computed where it is needed.

A Feistel network permutes the numbers of as many bits as n - 1 has. A result that is not below n is permuted
again, until it is (cycle walking), so that the numbers below n are permuted among themselves. Cost: no
memory, whatever n is, and about 1 µs for each index in batches of some hundred.

The idea is that of format-preserving encryption (Black and Rogaway, 2002). This is not encryption: the rounds
mix with a multiplication, which is enough for the order of training data.
"""

import hashlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

#: Each round mixes one half of the bits into the other half, and that one back.
_ROUNDS = 6


class Shuffle:
    """A permutation of the numbers below `size`, chosen by a seed and an epoch.

    Parameters
    ----------
    size
        How many numbers there are.
    seed, epoch
        Integers that choose the permutation.

    Examples
    --------
    >>> import numpy as np
    >>> shuffled = Shuffle(10, seed=1, epoch=0)(np.arange(10))
    >>> sorted(shuffled.tolist()) == list(range(10))
    True
    """

    def __init__(self, size: int, seed: int, epoch: int) -> None:
        bits = max(2, (size - 1).bit_length())
        self._size = size
        self._low_bits = bits // 2
        self._high_bits = bits - self._low_bits
        digest = hashlib.shake_128(f"{seed} {epoch} {size}".encode()).digest(16 * _ROUNDS)
        # Odd, so that every multiplication is invertible and none is trivial.
        self._keys = [
            int.from_bytes(digest[start : start + 8], "little") | 1 for start in range(0, len(digest), 8)
        ]

    def __call__(self, indices: "NDArray[np.int64]") -> "NDArray[np.int64]":
        """Return the number at each index of the permutation."""
        import numpy as np

        numbers = self._permuted(indices.astype(np.uint64))
        while (outside := numbers >= self._size).any():
            numbers[outside] = self._permuted(numbers[outside])
        return numbers.astype(np.int64)

    def _permuted(self, numbers: "NDArray[np.uint64]") -> "NDArray[np.uint64]":
        import numpy as np

        width = np.uint64(self._low_bits)
        low = numbers & np.uint64((1 << self._low_bits) - 1)
        high = numbers >> width
        for nth in range(0, len(self._keys), 2):
            high ^= _mixed(low, self._keys[nth], self._high_bits)
            low ^= _mixed(high, self._keys[nth + 1], self._low_bits)
        return high << width | low


def _mixed(half: "NDArray[np.uint64]", key: int, bits: int) -> "NDArray[np.uint64]":
    """Return `bits` bits that depend on all bits of `half` and of the key."""
    import numpy as np

    mixed = (half + np.uint64(key >> 32)) * np.uint64(key)
    mixed ^= mixed >> np.uint64(29)
    mixed *= np.uint64(0xBF58476D1CE4E5B9)
    return mixed >> np.uint64(64 - bits)
