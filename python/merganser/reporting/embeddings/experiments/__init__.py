"""The sections of a report on embeddings, in order."""

from collections.abc import Callable, Sequence

from merganser.embed import study
from merganser.embed.embeddings import Embeddings
from merganser.embed.settings import EmbedSettings
from merganser.embed.text import Text
from merganser.engines.local import ProgressCallback
from merganser.reporting.embeddings.experiments import meaning, similarity, training
from merganser.reporting.section import Section


def sections(
    embeddings: Embeddings, text: Text | None, progress: ProgressCallback | None = None
) -> list[Section]:
    """Run all experiments for which there is enough data."""
    lists = study.lists_for(embeddings)
    settings = EmbedSettings(**(embeddings.training.get("settings") or {}))
    steps: list[Callable[[], Sequence[Section | None]]] = [
        lambda: [similarity.histograms(embeddings)],
        lambda: [similarity.heat_map(embeddings, lists)],
        lambda: [similarity.neighbors(embeddings, lists)],
        lambda: similarity.planes(embeddings, lists),
        lambda: [] if text is None else [training.dimensions(embeddings, text, settings, lists)],
        lambda: [training.progress(embeddings)],
        lambda: [] if text is None else [training.objectives(embeddings, text, settings, lists)],
        lambda: [] if text is None else [meaning.ambiguous(embeddings, text, lists)],
        lambda: [meaning.evaluation(embeddings, lists)],
    ]
    results: list[Section | None] = []
    for nth, step in enumerate(steps, 1):
        results += step()
        if progress:
            progress("measure", nth, len(steps))
    return [section for section in results if section is not None]
