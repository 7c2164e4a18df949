"""The sections of a report on tokenizers, in order."""

from collections.abc import Callable
from dataclasses import replace

from merganser.engines.local import ProgressCallback
from merganser.reporting.section import Section
from merganser.reporting.tokenizers.experiments import closeup, contrast, distribution, growth
from merganser.reporting.tokenizers.study import Study
from merganser.reporting.tokenizers.takeaways import takeaway

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

#: The sections whose charts show the first tokenizer only.
_OF_ONE = {"merge-progression", "token-lengths", "top-subwords", "vocabulary-size", "family-tree"}

#: The maximum number of tokenizers that a subtitle names.
_NAMED = 5


def sections(study: Study, progress: ProgressCallback | None = None) -> list[Section]:
    """Run all experiments."""
    results = []
    for nth, experiment in enumerate(_EXPERIMENTS, 1):
        section = experiment(study)
        subtitle = _subtitle(study, section.name)
        results.append(replace(section, subtitle=subtitle, takeaway=takeaway(study, section)))
        if progress:
            progress("measure", nth, len(_EXPERIMENTS))
    return results


def _subtitle(study: Study, section: str) -> str:
    """Name the tokenizers of a chart and the text they are measured on."""
    compared = study.compared if section in ("comparison", "frequency-rank") else study.usages
    shown = [study.name] if section in _OF_ONE else list(compared)
    names = ", ".join(shown[:_NAMED])
    if len(shown) > _NAMED:
        names += f" and {len(shown) - _NAMED} more"
    if len(shown) == 1 and section not in ("merge-progression", "vocabulary-size"):
        names += f", {study.main.tokenizer.vocab_size:,} tokens"
    text = study.own_domain or "built-in samples"
    if section == "top-subwords":
        text = study.pretokens_from
    elif section == "domains" and study.own_domain:
        text += ", and samples"
    elif section == "parity":
        text = "the same sentences in each language"
    return names if section == "family-tree" else f"{names}; measured on {text}"
