"""Experiments: the sections of a report, in order."""

from collections.abc import Callable

from merganser.engines.local import ProgressCallback
from merganser.reporting.section import Section
from merganser.reporting.tokenizers.experiments import closeup, contrast, distribution, growth
from merganser.reporting.tokenizers.study import Study

_ALL: tuple[Callable[[Study], Section], ...] = (
    growth.progression,
    distribution.lengths,
    distribution.top,
    contrast.domains,
    growth.sizes,
    closeup.hard,
    contrast.comparison,
    distribution.ranks,
    closeup.family_tree,
    contrast.parity_of_languages,
    closeup.sentences,
    closeup.vocabulary,
)


def sections(study: Study, progress: ProgressCallback | None = None) -> list[Section]:
    """All of them."""
    made = []
    for nth, experiment in enumerate(_ALL, 1):
        made.append(experiment(study))
        if progress:
            progress("measure", nth, len(_ALL))
    return made
