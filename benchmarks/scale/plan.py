"""The settings of a run, and its texts."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from benchmarks import corpora
from benchmarks.scale import generate

BUDGET = "256MB"

# Larger texts are deleted after they are measured, unless --keep is given.
LARGE = 1_000_000_000

# With at least this many pre-tokens, a task takes half a minute.
MANY = 5_000_000


@dataclass(frozen=True)
class Text:
    """A generated text of about `size` bytes with about `unique` unique pre-tokens."""

    size: int
    unique: int

    @contextmanager
    def made(self, keep: bool) -> Iterator[Path]:
        """Yield the file, generated if necessary; a large file is then deleted unless `keep` is true."""
        name = f"scale-{self.size}-{self.unique}.txt"
        path = corpora.cached(name, lambda target: generate.write(target, self.size, self.unique))
        yield path
        if path.stat().st_size > LARGE and not keep:
            path.unlink()


@dataclass(frozen=True)
class Plan:
    """The texts of both series, and the text whose counts need 2 GB."""

    by_size: tuple[Text, ...]
    by_unique: tuple[Text, ...]
    heavy: Text
    vocab_size: int
    threads: int
    rounds: int
    folder: Path
    keep: bool = False

    def budgets(self, text: Text) -> tuple[str | None, ...]:
        """Return the memory budgets to compare: no limit, and the budget if it makes a difference."""
        return (None, BUDGET) if text.unique >= 1_000_000 else (None,)

    def turns(self, text: Text) -> int:
        """Return the number of rounds: long tasks average out their own noise and need fewer."""
        return self.rounds if text.unique < MANY else max(1, self.rounds // 3)


def full(threads: int, rounds: int, vocab_size: int, folder: Path, keep: bool) -> Plan:
    """Return the full plan: 8 MB to 4 GB of natural growth; 600 MB with 10⁵ to 3·10⁷ unique pre-tokens."""
    sizes = [s * 10**6 for s in (8, 32, 128, 512, 2_000, 4_000)]
    return Plan(
        by_size=tuple(Text(size, generate.natural(size)) for size in sizes),
        by_unique=tuple(Text(600_000_000, n * 10**5) for n in (1, 10, 30, 100, 300)),
        heavy=Text(700_000_000, 35_000_000),
        vocab_size=vocab_size,
        threads=threads,
        rounds=rounds,
        folder=folder,
        keep=keep,
    )


def quick(threads: int, vocab_size: int, folder: Path) -> Plan:
    """Return a small plan, for a smoke test."""
    return Plan(
        by_size=tuple(Text(size, generate.natural(size)) for size in (2_000_000, 8_000_000)),
        by_unique=(Text(20_000_000, 100_000), Text(20_000_000, 1_000_000)),
        heavy=Text(24_000_000, 1_200_000),
        vocab_size=vocab_size,
        threads=threads,
        rounds=1,
        folder=folder,
    )
