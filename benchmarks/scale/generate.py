"""Generate a corpus of a given size with a given number of unique pre-tokens, reproducibly.

    python3 benchmarks/scale/generate.py corpus.txt --megabytes 1000 --unique 30000000

More than half of the text consists of common words; the word of rank r occurs about 1/r as often as the first
one (Zipf's law). Between them are rare words that occur once or twice, about `--unique` of them. Words have
up to nine letters, a line has ten words, and a document has a thousand lines and ends with `<|endoftext|>`.
The text is generated in numpy chunks at about 40 MB/s and is never in memory as a whole.

Without `--unique`, the number equals that of natural text of this size (`natural`).
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

SEED = 20261116
COMMON = 50_000  # fewer if `unique` is small: each word is two pre-tokens, with and without a space before it
LETTERS = np.frombuffer(b"etaoinshrdlucmfwypvbgkjqxz", dtype=np.uint8)
RARE = 9.8  # mean length of a rare word, including the space before it
WORDS_PER_CHUNK = 1_000_000
WORDS_PER_DOCUMENT = 10_000

# Measured with the gpt2 pattern: 1.05 million unique pre-tokens in the 132 MB of `mixed` (English, code and
# fifteen languages), 5.5 million in 1 GB. The exponent between the two is 0.82 (Heaps' law).
MIXED_SIZE, MIXED_UNIQUE, GROWTH = 132e6, 1.05e6, 0.82


def natural(size: int) -> int:
    """Return the number of unique pre-tokens in natural text of `size` bytes.

    >>> natural(132_000_000), natural(1_000_000_000)
    (1050000, 5524827)
    """
    return round(MIXED_UNIQUE * (size / MIXED_SIZE) ** GROWTH)


def spelled(numbers: NDArray[np.uint64]) -> list[bytes]:
    """Return a unique word for each number: its digits in base 26, least significant first."""
    columns = []
    left = numbers.copy()
    while left.any() or not columns:
        columns.append(np.where(left > 0, LETTERS[(left % 26).astype(np.intp)], 0).astype(np.uint8))
        left //= np.uint64(26)
    padded = np.ascontiguousarray(np.stack(columns, axis=1))
    words: list[bytes] = padded.view(f"S{len(columns)}").ravel().tolist()
    return words


def scattered(numbers: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Permute the numbers below 2⁴⁰, so that consecutive numbers are not spelled alike."""
    mask = np.uint64((1 << 40) - 1)
    with np.errstate(over="ignore"):
        mixed = (numbers * np.uint64(0x9E3779B97F4A7C15)) & mask
        mixed ^= mixed >> np.uint64(21)
        return (mixed * np.uint64(0xD1B54A32D192ED03)) & mask


def write(target: Path, size: int, unique: int) -> None:
    """Write about `size` bytes with about `unique` unique pre-tokens."""
    random = np.random.default_rng(SEED)
    frequent = min(COMMON, unique // 4)
    ranks = np.arange(1, frequent + 1)
    chances = np.cumsum(1.0 / ranks)
    common = np.array(spelled(scattered(ranks.astype(np.uint64)) % np.uint64(26**5)), dtype=object)
    usual = 1 + float(np.diff(chances, prepend=0.0) @ [len(word) for word in common]) / chances[-1]
    rare_words = unique - 2 * frequent
    words = (size - rare_words * (RARE - usual)) / usual
    rare_share = rare_words / words if words > rare_words else 1.0
    made = written = 0
    with target.open("wb") as file:
        while written < size:
            drawn = np.searchsorted(chances, random.random(WORDS_PER_CHUNK) * chances[-1])
            chunk = common[np.minimum(drawn, frequent - 1)]
            rare = np.flatnonzero(random.random(WORDS_PER_CHUNK) < rare_share)
            numbers = np.arange(made, made + len(rare), dtype=np.uint64) + np.uint64(26**6)
            chunk[rare] = spelled(scattered(numbers))
            made += len(rare)
            for start in range(0, WORDS_PER_CHUNK, WORDS_PER_DOCUMENT):
                document = chunk[start : start + WORDS_PER_DOCUMENT].tolist()
                text = b"\n".join(b" ".join(document[at : at + 10]) for at in range(0, len(document), 10))
                written += file.write(text + b"<|endoftext|>")
                if written >= size:
                    break


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("target", type=Path)
    parser.add_argument("--megabytes", type=float, default=100)
    parser.add_argument("--unique", type=int, help="as in natural text if not given")
    arguments = parser.parse_args()
    size = int(arguments.megabytes * 1e6)
    write(arguments.target, size, arguments.unique or natural(size))


if __name__ == "__main__":
    main()
