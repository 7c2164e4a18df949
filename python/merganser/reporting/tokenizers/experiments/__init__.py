"""The sections of a report on tokenizers, in order."""

from collections.abc import Callable

from merganser.engines.local import ProgressCallback
from merganser.reporting.section import Section
from merganser.reporting.tokenizers.experiments import closeup, contrast, distribution, growth
from merganser.reporting.tokenizers.study import Study

_EXPERIMENTS: tuple[Callable[[Study], Section], ...] = (
    growth.progression,
    distribution.lengths,
    distribution.top_subwords,
    contrast.domains,
    growth.vocabulary_sizes,
    closeup.hard_texts,
    contrast.comparison,
    distribution.frequency_ranks,
    closeup.family_tree,
    contrast.language_parity,
    closeup.sentences,
    closeup.vocabulary,
)


def sections(study: Study, progress: ProgressCallback | None = None) -> list[Section]:
    """Run all experiments."""
    results = []
    for nth, experiment in enumerate(_EXPERIMENTS, 1):
        results.append(experiment(study))
        if progress:
            progress("measure", nth, len(_EXPERIMENTS))
    return results
