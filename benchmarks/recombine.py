"""Makes any amount of text out of a corpus, without repeating it: the `1GB` input.

Repeating 132 MB eight times would give counts that are multiples of eight and no new pre-token, which
no real corpus does: there, new words never stop (Heaps' law). So:

1. the corpus is cut into words (at white space that follows something else, and at each Chinese
   or Japanese character, whose scripts have no spaces; the separator line is a word too),
   and the text is a walk over them: after each word, with probability 1/4, the walk jumps to
   another occurrence of the same word and goes on from there. Spans of about four words are
   copied, the joints are plausible, documents end where separators come;
2. characters are then replaced at random places by others of their kind (Latin and Cyrillic
   lower-case letters, Chinese characters), at a rate chosen so that 1 GB made of mixed has 5 to 6
   million unique pre-tokens under the gpt2 pattern, as 1 GB of real mixed text was measured to have.

Deterministic: same corpus, size and numpy, same bytes. About a minute per GB, 4 GB of memory.
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
# Share of the replaceable characters that are replaced.
NOVELTY = 0.008

Bytes = NDArray[np.uint8]
Indices = NDArray[np.int64]


def write(source: Path, target: Path, size: int) -> None:
    """Write about `size` bytes (whole documents, never more) made of `source`."""
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
            made = gathered(text, starts, lengths, path.ravel())
            mutate(made, random)
            remaining = append(file, made.tobytes(), mark + b"\n", remaining)


def append(file: IO[bytes], data: bytes, mark: bytes, remaining: int) -> int:
    """Write the whole documents of `data` that fit; return what is left to write."""
    end = data.rfind(mark, 0, remaining)
    if end < 0:
        return 0
    file.write(data[: end + len(mark)])
    left = remaining - end - len(mark)
    return left if left > BATCH // 20 else 0


def word_starts(text: Bytes) -> Indices:
    """A word begins at white space that follows something else, and at each East Asian character.

    Bytes E3 … E9 begin the characters from U+3000 to U+9FFF: kana, Chinese, their punctuation.
    """
    white = (text == 0x20) | (text == 0x0A)
    begins = white.copy()
    begins[1:] &= ~white[:-1]
    begins |= (text >= 0xE3) & (text <= 0xE9)
    begins[0] = True
    return np.flatnonzero(begins)


def word_hashes(text: Bytes, starts: Indices, lengths: Indices) -> NDArray[np.uint64]:
    """A 64-bit hash of each word: its bytes times powers of an odd number, summed."""
    place = np.arange(len(text), dtype=np.int64) - np.repeat(starts, lengths)
    powers = np.cumprod(np.full(int(lengths.max()), 0x9E3779B97F4A7C15, dtype=np.uint64), dtype=np.uint64)
    return np.add.reduceat((text.astype(np.uint64) + np.uint64(1)) * powers[place], starts)


def occurrences(hashes: NDArray[np.uint64]) -> tuple[Indices, Indices, Indices, Indices]:
    """Words grouped by hash: `order[first[g] : first[g] + count[g]]` are the words of group g."""
    order = np.argsort(hashes, kind="stable")
    ranked = hashes[order]
    fresh = np.append(True, ranked[1:] != ranked[:-1])
    first = np.flatnonzero(fresh)
    count = np.diff(np.append(first, len(hashes)))
    group = np.empty(len(hashes), dtype=np.int64)
    group[order] = np.cumsum(fresh) - 1
    return order, first, count, group


def separator_words(text: Bytes, starts: Indices, lengths: Indices, mark: bytes) -> Indices:
    """The indices of the words that are a separator line."""
    likely = np.flatnonzero(lengths == len(mark))
    rows = text[starts[likely][:, None] + np.arange(len(mark))]
    found: Indices = likely[(rows == np.frombuffer(mark, dtype=np.uint8)).all(axis=1)]
    return found


def gathered(text: Bytes, starts: Indices, lengths: Indices, path: NDArray[np.int32]) -> Bytes:
    """The bytes of the words of a path, one after the other."""
    sizes = lengths[path]
    ends = np.cumsum(sizes)
    shift = np.repeat(starts[path] - (ends - sizes), sizes)
    return text[shift + np.arange(int(ends[-1]))]


def mutate(text: Bytes, random: np.random.Generator) -> None:
    """Replace characters by others of their kind, in place; UTF-8 stays valid.

    The separator is left alone: its letters stand between `<|` and `|>`.
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
    """Whether a letter may be part of a separator: `|` within eleven bytes on both sides."""
    before = np.zeros(len(at), dtype=bool)
    after = np.zeros(len(at), dtype=bool)
    for distance in range(1, 12):
        before |= text[at - distance] == 0x7C
        after |= text[at + distance] == 0x7C
    return before & after
