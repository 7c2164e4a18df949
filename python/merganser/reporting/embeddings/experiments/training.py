"""Sections about training: progress, dimensions and objectives. The last two train again."""

from collections.abc import Callable

from merganser.embed import study
from merganser.embed.embeddings import Embeddings
from merganser.embed.groups import Lists
from merganser.embed.settings import EmbedSettings
from merganser.embed.text import Text
from merganser.errors import EmbeddingsError
from merganser.reporting.embeddings import pictures
from merganser.reporting.section import Section
from merganser.reporting.tables import Table


def progress(embeddings: Embeddings) -> Section | None:
    history = embeddings.training.get("history") or []
    rows = []
    for epoch in sorted({row["epoch"] for row in history}):
        rows_of_epoch = [row for row in history if row["epoch"] == epoch]
        pairs = sum(row["pairs"] for row in rows_of_epoch)
        mean = next(
            (row["mean_similarity"] for row in rows_of_epoch if row["mean_similarity"] is not None), None
        )
        if pairs and mean is not None:
            loss = next((row["loss"] for row in reversed(rows_of_epoch) if row["loss"] is not None), None)
            seconds = sum(row["seconds"] for row in rows_of_epoch)
            rows.append(
                {"epoch": epoch, "loss": loss, "mean_similarity": mean, "pairs": pairs, "seconds": seconds}
            )
    if not rows:
        return None
    table = Table(
        ("epoch", "mean loss per pair", "mean cosine of two tokens", "pairs", "seconds"),
        tuple((r["epoch"], r["loss"], r["mean_similarity"], r["pairs"], r["seconds"]) for r in rows),
    )
    about = (
        "At the end of each epoch, the mean loss of a fixed sample of pairs and negatives, and the mean "
        "cosine of all pairs of vectors. At first all vectors move in the same direction, then they diverge."
    )
    return Section("progress", "Training progress", about, table, pictures.progress(rows))


def dimensions(
    embeddings: Embeddings, text: Text, settings: EmbedSettings, lists: Lists, tick: Callable[[], object]
) -> Section | None:
    try:
        rows = study.dimensions(text, settings, embeddings.tokenizer, lists, tick)
    except EmbeddingsError:  # too little text for a held-out split
        return None
    table = Table(
        (
            "dimensions",
            "mean rank of held-out neighbors",
            "mean cosine of synonyms",
            "mean cosine of all pairs of words",
            "margin between groups",
            "seconds per epoch",
        ),
        tuple(
            (r["dimension"], r["rank"], r["synonyms"], r["words"], r["margin"], r["seconds_per_epoch"])
            for r in rows
        ),
    )
    synonyms = sum(one in embeddings and other in embeddings for one, other in lists.synonyms)
    about = (
        "The same training with different dimensions, and with shared negatives because they are faster. A "
        "tenth of the text is held out; for its pairs, the rank is the share of tokens that the model "
        "considers likelier than the right one: 50% is chance. The cosine of "
        f"{synonyms} pairs of synonyms, such as {' and '.join(lists.synonyms[0])}, means something only next "
        "to that of all pairs of words, whose level depends on the training. The margin is how much more "
        "similar words of the same group are than words of different groups. "
        f"Means over {study.SEEDS} seeds with minimum and maximum; smaller differences are noise."
    )
    return Section("dimensions", "Quality by dimension", about, table, pictures.dimensions(rows))


def objectives(
    embeddings: Embeddings, text: Text, settings: EmbedSettings, lists: Lists, tick: Callable[[], object]
) -> Section | None:
    try:
        rows = study.objectives(text, settings, embeddings.tokenizer, lists, tick)
    except (EmbeddingsError, ValueError):  # too little text for a held-out split, or too few frequent tokens
        return None
    columns = (
        "",
        "seconds per epoch",
        "mean rank of held-out neighbors",
        "margin",
        "multiplications per batch",
    )
    table = Table(
        columns,
        tuple(
            (r["objective"], r["seconds_per_epoch"], r["rank"], r["margin"], r["operations_per_batch"])
            for r in rows
        ),
    )
    size = min(len(text.ids), study.SOFTMAX_SIZE)
    about = (
        f"The full softmax compares each neighbor with all {rows[0]['vocabulary']:,} tokens that are "
        "frequent enough, negative sampling with a few. Labels: mean rank of held-out neighbors (50% is "
        f"chance), and millions of multiplications per batch of {settings.batch_size:,} tokens. All on the "
        f"same {size:,} tokens, {min(settings.epochs, study.SOFTMAX_EPOCHS)} epochs, the time of the fastest."
    )
    return Section(
        "objectives", "Negative sampling and the full softmax", about, table, pictures.objectives(rows)
    )
