"""Experiments: the sections of a report, in order."""

from collections.abc import Callable

from merganser.analyse.experiments import closeup, contrast, distribution, growth
from merganser.analyse.section import Section
from merganser.analyse.study import Study

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


def sections(study: Study) -> list[Section]:
    """All of them."""
    return [experiment(study) for experiment in _ALL]
