"""The measurements that the sections of a report share.

All vocabulary sizes come from one training: the tokenizer is truncated, never retrained.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from merganser.analyse.examples import DOMAINS, HARD, PARALLEL, PROSE, SENTENCES
from merganser.analyse.sample import Sample
from merganser.analyse.usage import Usage, use, use_sizes
from merganser.counts import Counts
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
    #: The name of the text that is measured on, as a domain; None if it is the built-in samples.
    own_domain: str | None
    #: The pre-tokens to show the most frequent subwords of, and the name of their text.
    pretokens: Counts
    pretokens_from: str
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
        own = len(self.tokenizer.mergeable_ranks) - 256
        others = [step for step in self.steps if step.merges in MERGES and step.merges != own]
        others.sort(key=lambda step: abs(np.log(step.merges / max(own, 1))))
        nearest = sorted(others[:3], key=lambda step: step.merges)
        return {**self.usages, **{f"first {step.merges:,} merges": step.usage for step in nearest}}


def study(
    tokenizers: Mapping[str, Tokenizer],
    sample: Sample,
    *,
    samples: Mapping[str, Sample] | None = None,
    sentences: Sequence[str] = SENTENCES,
    parallel: Mapping[str, Sequence[str]] = PARALLEL,
    token: str | None = None,
    own_domain: str | None = None,
    grown: Tokenizer | None = None,
    learned: Counts | None = None,
    corpus: str = "corpus",
) -> Study:
    """Measure every tokenizer on the sample, and the first one in many sizes.

    `own_domain` is the name of the sample, which then takes the place of the built-in prose. `grown` has more
    merges of the same training as the first tokenizer, and `learned` are the counts that it was trained on,
    those of `corpus`.
    """
    usages = {name: use(tokenizer, sample) for name, tokenizer in tokenizers.items()}
    first = next(iter(tokenizers.values()))
    others = {language: texts for language, texts in parallel.items() if language != "English"}
    built_in = {name: (text,) for name, text in DOMAINS.items() if own_domain is None or name != PROSE}
    return Study(
        usages=usages,
        steps=tuple(_steps(grown or first, next(iter(usages.values())), sample)),
        domains={**built_in, **others},
        samples=samples or {},
        own_domain=own_domain,
        pretokens=sample.counts(first.pattern_name or first.pattern) if learned is None else learned,
        pretokens_from="the held-out text" if learned is None else f"the training corpus ({corpus})",
        sentences=tuple(sentences),
        hard=HARD,
        parallel=parallel,
        token=token,
    )


def _steps(tokenizer: Tokenizer, usage: Usage, sample: Sample) -> list[Step]:
    """Return steps from 0 to all merges: evenly spaced on a log axis, plus the sizes in `MERGES`."""
    total = len(tokenizer.mergeable_ranks) - 256
    measured = len(usage.tokenizer.mergeable_ranks) - 256
    spaced = np.geomspace(10, max(total, 11), _CURVE_POINTS).round().astype(int).tolist()
    merges = sorted({0, total, *(size for size in (*spaced, *MERGES) if size < total)} - {measured})
    special = len(tokenizer.special_tokens)
    usages = use_sizes(tokenizer, [256 + size + special for size in merges], sample)
    steps = [Step(size, used) for size, used in zip(merges, usages, strict=True)]
    return sorted([*steps, Step(measured, usage)], key=lambda step: step.merges)
