"""The measurements that the sections of a report share.

All vocabulary sizes come from one training: the tokenizer is truncated, never retrained.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from merganser.analyse.examples import DOMAINS, HARD, PARALLEL, SENTENCES
from merganser.analyse.sample import Sample
from merganser.analyse.usage import Usage, use, use_sizes
from merganser.tokenizer import Tokenizer

#: Numbers of merges to measure efficiency at, as far as the tokenizer has them.
MERGES = (500, 2_000, 5_000, 10_000, 32_000, 50_000)
_CURVE_POINTS = 16


@dataclass(frozen=True)
class Step:
    """The usage of a tokenizer truncated to its first `merges` merges."""

    merges: int
    usage: Usage


@dataclass(frozen=True)
class Study:
    """The usage of tokenizers on the same text, and texts to show."""

    #: By tokenizer name. Most of the report is about the first one.
    usages: Mapping[str, Usage]
    steps: tuple[Step, ...]
    #: Built-in texts by domain.
    domains: Mapping[str, Sequence[str]]
    #: Samples read from files, by domain.
    samples: Mapping[str, Sample]
    sentences: tuple[str, ...]
    hard: Mapping[str, str]
    parallel: Mapping[str, Sequence[str]]
    #: The token to draw the family tree of; None for a notable one.
    token: str | None

    @property
    def name(self) -> str:
        return next(iter(self.usages))

    @property
    def main(self) -> Usage:
        return self.usages[self.name]

    @property
    def tokenizer(self) -> Tokenizer:
        return self.main.tokenizer

    @property
    def compared(self) -> dict[str, Usage]:
        """The tokenizers to compare: all of them, or a single one with its truncations."""
        if len(self.usages) > 1:
            return dict(self.usages)
        truncations = {
            f"first {step.merges:,} merges": step.usage
            for step in self.steps
            if step.merges in MERGES and step.merges < self.steps[-1].merges
        }
        return {**self.usages, **dict(list(truncations.items())[-3:])}


def study(
    tokenizers: Mapping[str, Tokenizer],
    sample: Sample,
    *,
    samples: Mapping[str, Sample] | None = None,
    sentences: Sequence[str] = SENTENCES,
    parallel: Mapping[str, Sequence[str]] = PARALLEL,
    token: str | None = None,
) -> Study:
    """Measure every tokenizer on the sample, and the first one in many sizes."""
    usages = {name: use(tokenizer, sample) for name, tokenizer in tokenizers.items()}
    first = next(iter(tokenizers.values()))
    others = {language: texts for language, texts in parallel.items() if language != "English"}
    return Study(
        usages=usages,
        steps=tuple(_steps(first, next(iter(usages.values())), sample)),
        domains={**{name: (text,) for name, text in DOMAINS.items()}, **others},
        samples=samples or {},
        sentences=tuple(sentences),
        hard=HARD,
        parallel=parallel,
        token=token,
    )


def _steps(tokenizer: Tokenizer, usage: Usage, sample: Sample) -> list[Step]:
    """Return steps from 0 to all merges: evenly spaced on a log axis, plus the sizes in `MERGES`."""
    total = len(tokenizer.mergeable_ranks) - 256
    spaced = np.geomspace(10, max(total, 11), _CURVE_POINTS).round().astype(int).tolist()
    merges = sorted({0, *(size for size in (*spaced, *MERGES) if size < total)})
    special = len(tokenizer.special_tokens)
    usages = use_sizes(tokenizer, [256 + size + special for size in merges], sample)
    steps = [Step(size, used) for size, used in zip(merges, usages, strict=True)]
    return [*steps, Step(total, usage)] if total else steps
