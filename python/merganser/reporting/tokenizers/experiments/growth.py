"""Sections about the effect of more merges on held-out text. All sizes come from one training."""

from merganser.analyse.metrics import (
    ALPHA,
    bytes_per_token,
    renyi_efficiency,
    tokens_per_sentence,
    tokens_per_word,
)
from merganser.analyse.sample import SENTENCE_RULE, WORD_RULE
from merganser.reporting.section import Section
from merganser.reporting.tables import Cell, Table
from merganser.reporting.tokenizers import pictures
from merganser.reporting.tokenizers.study import MERGES, Study


def progression(study: Study) -> Section:
    """Tokens per word by number of merges."""
    values = [
        {"merges": step.merges, "tokens per word": round(tokens_per_word(step.usage), 4)}
        for step in study.steps
    ]
    return Section(
        "merge-progression",
        "Merge progression",
        f"Average tokens per word of the held-out text by number of merges ({WORD_RULE}). The first merges "
        "have the largest effect.",
        Table(("merges", "tokens per word"), tuple(tuple(value.values()) for value in values)),
        pictures.progression(values, "merges", "tokens per word"),
    )


def vocabulary_sizes(study: Study) -> Section:
    """Tokens per sentence for several sizes, and the tokens that 1,000 more merges save."""
    steps = [step for step in study.steps if step.merges in MERGES or step is study.steps[-1]]
    rows: list[tuple[Cell, ...]] = []
    for nth, step in enumerate(steps):
        tokens = tokens_per_sentence(step.usage)
        previous = steps[nth - 1] if nth else None
        saved = None
        if previous is not None:
            thousands = (step.merges - previous.merges) / 1000
            saved = (tokens_per_sentence(previous.usage) - tokens) / thousands
        rows.append(
            (
                step.merges,
                tokens,
                saved,
                bytes_per_token(step.usage),
                renyi_efficiency(step.usage.frequencies),
            )
        )
    columns = (
        "merges",
        "tokens per sentence",
        "saved per 1,000 more merges",
        "bytes per token",
        f"Rényi efficiency (α = {ALPHA:g}, V = 256 + merges)",
    )
    values = [{"merges": row[0], "tokens per sentence": row[1]} for row in rows]
    return Section(
        "vocabulary-size",
        "Efficiency by vocabulary size",
        f"Tokens per sentence of the held-out text ({SENTENCE_RULE}), for several sizes of one training. "
        "Each further 1,000 merges save less than the last.",
        Table(columns, tuple(rows)),
        pictures.labeled_curve(values, "merges", "tokens per sentence"),
    )
