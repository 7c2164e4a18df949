"""Study: what a report is about, worked out once. The sections of the report read it.

Every vocabulary size comes from one training: the tokenizer is cut down, never trained again.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from merganser.analyse.examples import DOMAINS, HARD, PARALLEL, SENTENCES
from merganser.analyse.sample import Sample
from merganser.analyse.usage import Usage, use, use_sizes
from merganser.tokenizer import Tokenizer

#: Merges at which efficiency is looked at, where there are so many.
MERGES = (500, 2_000, 5_000, 10_000, 32_000, 50_000)
_CURVE_POINTS = 16


@dataclass(frozen=True)
class Step:
    """The first so many merges of a tokenizer, on the sample."""

    merges: int
    usage: Usage


@dataclass(frozen=True)
class Study:
    """Tokenizers by name, what they made of the same text, and texts to show."""

    #: The first is the one that most of the report is about.
    usages: Mapping[str, Usage]
    steps: tuple[Step, ...]
    #: Samples of kinds of text: texts by name.
    domains: Mapping[str, Sequence[str]]
    #: More of them, read from files.
    samples: Mapping[str, Sample]
    sentences: tuple[str, ...]
    hard: Mapping[str, str]
    parallel: Mapping[str, Sequence[str]]
    #: The token whose family is drawn; a notable one if not given.
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
        """What stands side by side: the tokenizers, or one beside its own beginnings."""
        if len(self.usages) > 1:
            return dict(self.usages)
        beginnings = {
            f"its first {step.merges:,} merges": step.usage
            for step in self.steps
            if step.merges in MERGES and step.merges < self.steps[-1].merges
        }
        return {**self.usages, **dict(list(beginnings.items())[-3:])}


def study(
    tokenizers: Mapping[str, Tokenizer],
    sample: Sample,
    *,
    samples: Mapping[str, Sample] | None = None,
    sentences: Sequence[str] = SENTENCES,
    parallel: Mapping[str, Sequence[str]] = PARALLEL,
    token: str | None = None,
) -> Study:
    """Lets every tokenizer use the sample, and the first one in many sizes."""
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
    """From none to all of the merges: evenly on a logarithmic axis, and the usual sizes."""
    every = len(tokenizer.mergeable_ranks) - 256
    spaced = np.geomspace(10, max(every, 11), _CURVE_POINTS).round().astype(int).tolist()
    merges = sorted({0, *(size for size in (*spaced, *MERGES) if size < every)})
    special = len(tokenizer.special_tokens)
    usages = use_sizes(tokenizer, [256 + size + special for size in merges], sample)
    steps = [Step(size, used) for size, used in zip(merges, usages, strict=True)]
    return [*steps, Step(every, usage)] if every else steps
