"""Makes a corpus of a chosen size with a chosen number of different pieces, the same every time.

    python3 benchmarks/scale/generate.py corpus.txt --megabytes 1000 --unique 30000000

Half of the text and more is words that come again and again, the word of rank r about 1/r as often as the
first (Zipf); between them stand words that occur once or twice, about as many as `--unique` says. Words have
up to nine letters, ten words make a line and a thousand lines a document, with `<|endoftext|>` between them.
The text is made in chunks of numpy, at about 40 MB/s, and never held as a whole.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

SEED = 20261116
COMMON = 50_000
LETTERS = np.frombuffer(b"etaoinshrdlucmfwypvbgkjqxz", dtype=np.uint8)
WORDS_PER_CHUNK = 1_000_000
WORDS_PER_DOCUMENT = 10_000


def spelled(numbers: NDArray[np.uint64]) -> list[bytes]:
    """A word for each number, and no word for two: the number in base 26, the least letter first."""
    columns = []
    left = numbers.copy()
    while left.any() or not columns:
        columns.append(np.where(left > 0, LETTERS[(left % 26).astype(np.intp)], 0).astype(np.uint8))
        left //= np.uint64(26)
    padded = np.ascontiguousarray(np.stack(columns, axis=1))
    words: list[bytes] = padded.view(f"S{len(columns)}").ravel().tolist()
    return words


def scattered(numbers: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Numbers below 2⁴⁰ shuffled among themselves, so that neighbours do not spell alike."""
    mask = np.uint64((1 << 40) - 1)
    with np.errstate(over="ignore"):
        mixed = (numbers * np.uint64(0x9E3779B97F4A7C15)) & mask
        mixed ^= mixed >> np.uint64(21)
        return (mixed * np.uint64(0xD1B54A32D192ED03)) & mask


def write(target: Path, size: int, unique: int) -> None:
    """Writes about `size` bytes with about `unique` different words."""
    random = np.random.default_rng(SEED)
    ranks = np.arange(1, COMMON + 1)
    chances = np.cumsum(1.0 / ranks)
    common = np.array(spelled(scattered(ranks.astype(np.uint64)) % np.uint64(26**5)), dtype=object)
    words = max(size // 8, 1)
    rare_share = min(unique / words, 1.0)
    made = written = 0
    with target.open("wb") as file:
        while written < size:
            drawn = np.searchsorted(chances, random.random(WORDS_PER_CHUNK) * chances[-1])
            chunk = common[np.minimum(drawn, COMMON - 1)]
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
    parser.add_argument("--unique", type=int, default=1_000_000)
    arguments = parser.parse_args()
    write(arguments.target, int(arguments.megabytes * 1e6), arguments.unique)


if __name__ == "__main__":
    main()
