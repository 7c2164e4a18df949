"""The sections of a report on embeddings, in order."""

from merganser.embed import study
from merganser.embed.embeddings import Embeddings
from merganser.embed.settings import EmbedSettings
from merganser.embed.text import Text
from merganser.engines.local import ProgressCallback
from merganser.reporting.embeddings.experiments import meaning, similarity, training
from merganser.reporting.section import Section

#: How long sections take, relative to one training.
_PLANE_COST = 6
_SOFTMAX_COST = 12


def sections(
    embeddings: Embeddings, text: Text | None, progress: ProgressCallback | None = None
) -> list[Section]:
    """Run all experiments for which there is enough data."""
    lists = study.lists_for(embeddings)
    settings = EmbedSettings(**(embeddings.training.get("settings") or {}))
    dimensions = len(study.DIMENSIONS) * study.SEEDS if text else 0
    objectives = _SOFTMAX_COST + len(study.NEGATIVES) + 1 if text else 0
    total, done = _PLANE_COST + dimensions + objectives, 0

    def tick(cost: int = 1) -> None:
        nonlocal done
        done += cost
        if progress:
            progress("measure", done, total)

    results: list[Section | None] = [
        similarity.histograms(embeddings),
        similarity.heat_map(embeddings, lists),
        similarity.neighbors(embeddings, lists),
        *similarity.planes(embeddings, lists),
    ]
    tick(_PLANE_COST)
    if text is not None:
        results.append(training.dimensions(embeddings, text, settings, lists, tick))
    results.append(training.progress(embeddings))
    if text is not None:
        costs = iter([_SOFTMAX_COST])
        results.append(training.objectives(embeddings, text, settings, lists, lambda: tick(next(costs, 1))))
        results.append(meaning.ambiguous(embeddings, text, lists))
    results.append(meaning.evaluation(embeddings, lists))
    if progress and done < total:  # sections were left out
        progress("measure", total, total)
    return [section for section in results if section is not None]
