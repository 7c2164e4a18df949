"""Generate 10 million unique pre-tokens with Zipf counts and a mean length of 9 bytes: `zipf10m`.

For training from counts, where only the number of pre-tokens matters. Pre-tokens consist of syllables, so
that there are pairs to merge; half of them start with a space, and shorter ones tend to be more frequent. The
pre-token of rank r has the count max(1, 10 × n / r). Deterministic for a given n and numpy version. Written
as `pre-token<TAB>count` lines and, by merganser, as `.counts`.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import IO

import numpy as np
from numpy.typing import NDArray

SEED = 20261115
ONSETS = b"b br c ch cl d dr f fl g gr h j k l m n p pl pr qu r s sh sl sp st str t th tr v w z"
VOWELS = b"a e i o u ai ea ee ie ou"
CODAS = b"r n l s t m d ck ng nd st"
CHUNK = 1_000_000


def syllables() -> list[bytes]:
    """Return all syllables, simple ones first."""
    onsets, vowels, codas = ONSETS.split(), VOWELS.split(), CODAS.split()
    simple = [o + v for v in vowels for o in onsets] + [v + c for v in vowels for c in codas]
    return simple + [o + v + c for v in vowels[:5] for o in onsets[:16] for c in codas]


def pretokens(n: int) -> tuple[list[bytes], NDArray[np.int64]]:
    """Return `n` unique pre-tokens, the most frequent first, and their counts."""
    random = np.random.default_rng(SEED)
    table = np.array(syllables(), dtype=object)
    weights = 1.0 / (np.arange(len(table)) + 8)
    weights /= weights.sum()
    found: dict[bytes, None] = {}
    while len(found) < n:
        parts = random.choice([2, 3, 4], CHUNK, p=[0.80, 0.18, 0.02])
        spaced = np.where(random.random(CHUNK) < 0.5, b" ", b"")
        drawn = table[random.choice(len(table), (CHUNK, 4), p=weights)]
        words = spaced.astype(object)
        for column in range(4):
            words = words + np.where(parts > column, drawn[:, column], b"")
        found.update(dict.fromkeys(words.tolist()))
    unique = list(found)[:n]
    lengths = np.fromiter(map(len, unique), dtype=np.float64, count=n)
    order = np.argsort(lengths + random.gumbel(0.0, 4.0, n), kind="stable")
    counts = np.maximum(1, 10 * n // np.arange(1, n + 1))
    return [unique[i] for i in order], counts


def write_tsv(target: Path, n: int, unrelated: int = 0) -> None:
    """Write `pre-token<TAB>count` lines: n pre-tokens, and `unrelated` ones that share no pair with them.

    The unrelated pre-tokens are upper-case and occur once each, and the counts of the others are
    multiplied by a million, so that no upper-case pair is ever the most frequent.
    """
    texts, counts = pretokens(n)
    with target.open("wb") as file:
        write_lines(file, texts, counts * (1_000_000 if unrelated else 1))
        if unrelated:
            others = [pretoken.upper() for pretoken in pretokens(unrelated)[0]]
            write_lines(file, others, np.ones(unrelated, dtype=np.int64))


def write_lines(file: IO[bytes], texts: list[bytes], counts: NDArray[np.int64]) -> None:
    """Write the lines, a million at a time."""
    for start in range(0, len(texts), CHUNK):
        lines = zip(texts[start : start + CHUNK], counts[start : start + CHUNK], strict=True)
        file.writelines(b"%s\t%d\n" % line for line in lines)


def read_tsv(path: Path) -> Iterator[dict[bytes, int]]:
    """Read the lines, a million at a time."""
    batch: dict[bytes, int] = {}
    with path.open("rb") as file:
        for line in file:
            pretoken, _, count = line.rstrip(b"\n").rpartition(b"\t")
            batch[pretoken] = int(count)
            if len(batch) == CHUNK:
                yield batch
                batch = {}
    if batch:
        yield batch


def write_counts(tsv: Path, target: Path) -> None:
    """Convert a TSV file to merganser's format."""
    import merganser

    pretokens: dict[bytes, int] = {}
    for batch in read_tsv(tsv):
        pretokens.update(batch)
    merganser.Counts(pretokens).save(target)
