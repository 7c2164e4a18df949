"""The report on embeddings: a page, with every chart and table as a file.

Two sections train twenty more times, on the text that is stored with the embeddings; they are left out if it
was deleted. Takes 25 processor seconds for a novel, most of them on all cores, and reports progress after
every training.
"""

import os
from dataclasses import replace
from pathlib import Path

from merganser.embed.embeddings import Embeddings, load
from merganser.embed.folder import load_text
from merganser.engines.local import ProgressCallback
from merganser.files import check_folder
from merganser.reporting import page
from merganser.reporting.embeddings.experiments import sections
from merganser.reporting.embeddings.takeaways import takeaway, tiles


def write(
    embeddings_dir: str | os.PathLike[str],
    out: str | os.PathLike[str],
    progress: ProgressCallback | None = None,
) -> Path:
    """Write a report on a folder of embeddings to `out`, and return the path of its page."""
    embeddings = load(embeddings_dir)
    text = load_text(embeddings_dir)
    check_folder(Path(out), "choose another out=")
    subtitle = _subtitle(embeddings)
    results = [
        replace(section, subtitle=subtitle, takeaway=takeaway(section))
        for section in sections(embeddings, text, progress)
    ]
    about = _about(embeddings)
    return page.write(Path(out), "Embeddings report", about, results, progress, tiles(embeddings))


def _about(embeddings: Embeddings) -> list[str]:
    facts = embeddings.training
    lines = [
        f"{len(embeddings):,} token vectors of dimension {embeddings.dimension}, trained on "
        f"{_corpus(embeddings)}."
    ]
    if "pairs" in facts:
        lines.append(
            f"{facts['tokens']:,} tokens of text, {facts['pairs']:,} pairs, {facts['seconds']:.1f} s on "
            f"{facts['device']}."
        )
    settings = facts.get("settings")
    if settings:
        values = (f"{name} {value}" for name, value in settings.items() if value is not None)
        lines.append("; ".join(values) + ".")
    return lines


def _corpus(embeddings: Embeddings) -> str:
    corpus = str(embeddings.training.get("corpus", "a corpus")).partition("=")[0]
    return Path(corpus).name or corpus


def _subtitle(embeddings: Embeddings) -> str:
    """Name the tokenizer, the vectors and the corpus of all charts."""
    return (
        f"{embeddings.tokenizer.vocab_size:,}-token tokenizer; {len(embeddings):,} vectors of dimension "
        f"{embeddings.dimension}; trained on {_corpus(embeddings)}"
    )
