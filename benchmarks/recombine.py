"""Generate text of any size from a corpus without repeating it: the `1GB` input.

Repeating 132 MB eight times would yield counts that are multiples of eight and no new pre-tokens. In a
real corpus, new words never stop appearing (Heaps' law). Therefore:

1. The corpus is split into words, at white space after other characters and at each Chinese or
   Japanese character, whose scripts have no spaces. The separator line is a word too. The text is a
   walk over these words: after each word, with probability 1/4, it jumps to another occurrence of
   the same word and continues there. Spans of about four words are copied, the joints are plausible,
   and documents end at separators.
2. Characters at random offsets are replaced by others of the same kind (Latin and Cyrillic
   lower-case letters, Chinese characters), at a rate chosen so that 1 GB generated from mixed has 5
   to 6 million unique pre-tokens under the gpt2 pattern, as measured for 1 GB of real mixed text.

Deterministic for a given corpus, size and numpy version. About a minute per GB, 4 GB of memory.
"""

from __future__ import annotations

from pathlib import Path
from typing import IO

import numpy as np
from numpy.typing import NDArray

from benchmarks.patterns import SEPARATOR

SEED = 20261115
WALKERS = 2048
BATCH = 64_000_000
JUMP = 0.25
# The fraction of replaceable characters that are replaced.
NOVELTY = 0.008

Bytes = NDArray[np.uint8]
Indices = NDArray[np.int64]


def write(source: Path, target: Path, size: int) -> None:
    """Write at most `size` bytes of whole documents generated from `source`."""
    random = np.random.default_rng(SEED)
    text = np.frombuffer(source.read_bytes(), dtype=np.uint8)
    starts = word_starts(text)
    lengths = np.diff(np.append(starts, len(text)))
    order, first, count, group = occurrences(word_hashes(text, starts, lengths))
    mark = ("\n" + SEPARATOR).encode()
    separators = separator_words(text, starts, lengths, mark)
    remaining = size
    with target.open("wb") as file:
        while remaining > 0:
            wanted = min(BATCH, remaining)
            steps = int(wanted / WALKERS / lengths.mean()) + 1
            path = np.empty((WALKERS, steps), dtype=np.int32)
            at = random.choice(separators, WALKERS) + 1
            for step in range(steps):
                at %= len(starts)
                path[:, step] = at
                jumps = np.flatnonzero(random.random(WALKERS) < JUMP)
                chosen = group[at[jumps]]
                offset = (random.random(len(jumps)) * count[chosen]).astype(np.int64)
                at[jumps] = order[first[chosen] + offset]
                at += 1
            generated = gathered(text, starts, lengths, path.ravel())
            mutate(generated, random)
            remaining = append(file, generated.tobytes(), mark + b"\n", remaining)


def append(file: IO[bytes], data: bytes, mark: bytes, remaining: int) -> int:
    """Write the whole documents of `data` that fit; return the number of bytes left to write."""
    end = data.rfind(mark, 0, remaining)
    if end < 0:
        return 0
    file.write(data[: end + len(mark)])
    left = remaining - end - len(mark)
    return left if left > BATCH // 20 else 0


def word_starts(text: Bytes) -> Indices:
    """Return where words start: at white space after other characters, and at East Asian characters.

    Bytes E3 … E9 start the characters from U+3000 to U+9FFF: kana, Chinese and their punctuation.
    """
    white = (text == 0x20) | (text == 0x0A)
    begins = white.copy()
    begins[1:] &= ~white[:-1]
    begins |= (text >= 0xE3) & (text <= 0xE9)
    begins[0] = True
    return np.flatnonzero(begins)


def word_hashes(text: Bytes, starts: Indices, lengths: Indices) -> NDArray[np.uint64]:
    """Return a 64-bit hash of each word: the sum of its bytes times powers of an odd number."""
    offset = np.arange(len(text), dtype=np.int64) - np.repeat(starts, lengths)
    powers = np.cumprod(np.full(int(lengths.max()), 0x9E3779B97F4A7C15, dtype=np.uint64), dtype=np.uint64)
    return np.add.reduceat((text.astype(np.uint64) + np.uint64(1)) * powers[offset], starts)


def occurrences(hashes: NDArray[np.uint64]) -> tuple[Indices, Indices, Indices, Indices]:
    """Group words by hash: `order[first[g] : first[g] + count[g]]` are the words of group g."""
    order = np.argsort(hashes, kind="stable")
    ranked = hashes[order]
    is_first = np.append(True, ranked[1:] != ranked[:-1])
    first = np.flatnonzero(is_first)
    count = np.diff(np.append(first, len(hashes)))
    group = np.empty(len(hashes), dtype=np.int64)
    group[order] = np.cumsum(is_first) - 1
    return order, first, count, group


def separator_words(text: Bytes, starts: Indices, lengths: Indices, mark: bytes) -> Indices:
    """Return the indices of the words that are separator lines."""
    likely = np.flatnonzero(lengths == len(mark))
    rows = text[starts[likely][:, None] + np.arange(len(mark))]
    found: Indices = likely[(rows == np.frombuffer(mark, dtype=np.uint8)).all(axis=1)]
    return found


def gathered(text: Bytes, starts: Indices, lengths: Indices, path: NDArray[np.int32]) -> Bytes:
    """Concatenate the words of a path."""
    sizes = lengths[path]
    ends = np.cumsum(sizes)
    shift = np.repeat(starts[path] - (ends - sizes), sizes)
    return text[shift + np.arange(int(ends[-1]))]


def mutate(text: Bytes, random: np.random.Generator) -> None:
    """Replace characters by others of the same kind, in place; UTF-8 stays valid.

    Separators are not changed: their letters are between `<|` and `|>`.
    """
    at = np.flatnonzero(random.random(len(text), dtype=np.float32) < NOVELTY)
    at = at[(at > 20) & (at < len(text) - 20)]
    byte, before = text[at], text[at - 1]
    latin = (byte >= 0x61) & (byte <= 0x7A) & ~near_mark(text, at)
    # Cyrillic а–п: D0 B0 … D0 BF.
    cyrillic = (before == 0xD0) & (byte >= 0xB0) & (byte <= 0xBF)
    # Chinese: the last of three bytes after E5 … E8 (U+5000 … U+8FFF).
    chinese = (text[at - 2] >= 0xE5) & (text[at - 2] <= 0xE8) & (before >= 0x80) & (byte >= 0x80)
    chinese &= (before < 0xC0) & (byte < 0xC0)
    for kind, low, high in ((latin, 0x61, 0x7B), (cyrillic, 0xB0, 0xC0), (chinese, 0x80, 0xC0)):
        text[at[kind]] = random.integers(low, high, int(kind.sum()), dtype=np.uint8)


def near_mark(text: Bytes, at: Indices) -> NDArray[np.bool_]:
    """Whether a letter may be part of a separator: `|` occurs within eleven bytes on both sides."""
    before = np.zeros(len(at), dtype=bool)
    after = np.zeros(len(at), dtype=bool)
    for distance in range(1, 12):
        before |= text[at - distance] == 0x7C
        after |= text[at + distance] == 0x7C
    return before & after
