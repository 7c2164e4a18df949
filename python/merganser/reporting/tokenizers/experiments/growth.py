"""Growth: what more merges do, on text that was not trained on. All sizes are cut out of one training."""

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
    """Tokens per word, merge by merge."""
    values = [
        {"merges": step.merges, "tokens per word": round(tokens_per_word(step.usage), 4)}
        for step in study.steps
    ]
    # A logarithmic axis has no place for 0, but where there are no merges that is all there is.
    drawn = [value for value in values if value["merges"]] or values
    return Section(
        "merge-progression",
        "Merge progression",
        f"Average tokens per word of the held-out text after so many merges of one training ({WORD_RULE}). "
        "The first merges do the most.",
        Table(("merges", "tokens per word"), tuple(tuple(value.values()) for value in values)),
        pictures.curve(drawn, "merges", "tokens per word", log=drawn is not values),
    )


def sizes(study: Study) -> Section:
    """Tokens per sentence for the usual sizes, and what each thousand merges saves."""
    steps = [step for step in study.steps if step.merges in MERGES or step is study.steps[-1]]
    rows: list[tuple[Cell, ...]] = []
    for nth, step in enumerate(steps):
        here = tokens_per_sentence(step.usage)
        before = steps[nth - 1] if nth else None
        saved = None
        if before is not None:
            more = (step.merges - before.merges) / 1000
            saved = (tokens_per_sentence(before.usage) - here) / more
        rows.append(
            (step.merges, here, saved, bytes_per_token(step.usage), renyi_efficiency(step.usage.frequencies))
        )
    columns = (
        "merges",
        "tokens per sentence",
        "saved by each 1,000 merges more",
        "bytes per token",
        f"Rényi efficiency (α = {ALPHA:g}, V = 256 + merges)",
    )
    values = [{"merges": row[0], "tokens per sentence": row[1]} for row in rows]
    return Section(
        "vocabulary-size",
        "Vocabulary size against efficiency",
        f"Tokens per sentence of the held-out text ({SENTENCE_RULE}), for several sizes out of one training. "
        "Each thousand merges more saves less than the one before.",
        Table(columns, tuple(rows)),
        pictures.labelled_curve(values, "merges", "tokens per sentence"),
    )
