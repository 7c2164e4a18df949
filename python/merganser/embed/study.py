"""Experiments for a report on embeddings: repeated trainings on the text that is saved with them.

The cost is twenty trainings on the first `SIZE` tokens of the text. Quality is measured in three ways:

- the margin between our groups of words, if the text has them;
- the mean cosine of our pairs of synonyms, next to that of all pairs of words;
- the mean rank of held-out neighbors: every tenth block of the text is held out, and for each of its pairs
  all tokens are ranked by how much likelier than usual the model considers them next to the neighbor. The
  rank is the share of the text's tokens that precede the actual one: 0 is always first, 0.5 is chance.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from merganser.embed import groups
from merganser.embed.embeddings import Embeddings
from merganser.embed.evaluation import separation, synonym_similarity
from merganser.embed.settings import EmbedSettings
from merganser.embed.similarities import mean_similarity
from merganser.embed.text import Text
from merganser.embed.training import Trainer, core_trainer
from merganser.errors import EmbeddingsError
from merganser.tokenizer import Tokenizer

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: The number of tokens for one training.
SIZE = 300_000
#: Every tenth block of the text is held out.
_BLOCK, _EVERY = 500, 10
DIMENSIONS = (10, 25, 50, 100, 200)
NEGATIVES = (5, 10, 20)
#: The cost of the full softmax is proportional to the vocabulary, so all objectives are compared on a shorter
#: text, with only the tokens that occur this many times, and in few epochs.
SOFTMAX_MIN_COUNT = 20
SOFTMAX_SIZE = 100_000
SOFTMAX_EPOCHS = 5
#: The number of seeds to average over.
SEEDS = 3
_PAIRS = 10_000


@dataclass(frozen=True)
class Outcome:
    """The cost and quality of a training."""

    #: Duration of the fastest epoch, because the machine may be busy during others.
    seconds_per_epoch: float
    #: The mean rank of held-out neighbors.
    rank: float
    #: The margin between the groups of words; None if the text lacks them.
    margin: float | None
    #: The mean cosine of our synonyms; None if the text lacks them.
    synonyms: float | None
    #: The mean cosine of all pairs of words, to compare that of synonyms with.
    words: float
    pairs: int
    vocabulary: int


def lists_for(embeddings: Embeddings) -> groups.Lists:
    """Return the word lists of a named corpus; for any other, the lists that share most words with it."""
    named = groups.lists(embeddings.training.get("corpus"))
    if named is not None:
        return named

    def known(entry: groups.Lists) -> float:
        words = [word for group in entry.groups.values() for word in group]
        return sum(word in embeddings for word in words) / len(words)

    return max(groups.every().values(), key=known)


def train_and_measure(
    text: Text, settings: EmbedSettings, tokenizer: Tokenizer, lists: groups.Lists
) -> Outcome:
    """Train on nine tenths of a text and measure on the rest."""
    training, held_out = split_held_out(text)
    trainer = core_trainer(training, settings)
    seconds, pairs = [], 0
    for _ in range(settings.epochs):
        start = time.perf_counter()
        pairs += trainer.advance(trainer.batches_in_epoch)[2]
        seconds.append(time.perf_counter() - start)
    embeddings = Embeddings(
        trainer.vectors().reshape(-1, settings.embedding_dim), trainer.ids, trainer.counts, tokenizer
    )
    try:
        margin = separation(embeddings, lists.groups).margin
    except EmbeddingsError:
        margin = None
    rank = held_out_rank(trainer, settings, held_out)
    return Outcome(
        min(seconds),
        rank,
        margin,
        synonym_similarity(embeddings, lists.synonyms),
        mean_similarity(embeddings.vectors[embeddings.words]),
        pairs,
        len(embeddings),
    )


def split_held_out(text: Text) -> tuple[Text, Text]:
    """Return the text without every tenth block, and these blocks; no pair spans two blocks."""
    starts = np.arange(0, len(text.ids), _BLOCK)
    bounds = np.unique(np.concatenate([starts, text.ends])).tolist()
    training: list[tuple[int, int]] = []
    held_out: list[tuple[int, int]] = []
    for first, last in pairwise(bounds):
        (held_out if first // _BLOCK % _EVERY == _EVERY - 1 else training).append((first, last))
    if not held_out:
        raise _too_short()
    return _joined(text, training), _joined(text, held_out)


def _too_short() -> EmbeddingsError:
    return EmbeddingsError("the text is too short for a held-out split; train on more text")


def _joined(text: Text, spans: list[tuple[int, int]]) -> Text:
    ids = np.concatenate([text.ids[first:last] for first, last in spans])
    return Text(ids, np.cumsum([last - first for first, last in spans], dtype=np.int64))


def held_out_rank(trainer: Trainer, settings: EmbedSettings, held_out: Text) -> float:
    """Return the mean rank of the actual token next to held-out neighbors.

    It is the probability that a random token of the text is considered likelier there than the actual one.
    """
    counts = trainer.counts.astype(np.float64)
    share = settings.subsample * counts.sum() / counts
    keep = np.minimum(np.sqrt(share) + share, 1.0) if settings.subsample else np.ones(len(counts))
    centers, neighbors = _pairs(trainer.ids, keep, held_out, settings.window_size)
    vectors = trainer.vectors().reshape(len(counts), -1)
    outputs = trainer.outputs().reshape(len(counts), -1)
    # A score compares the probability of a token here with its overall probability. Softmax scores the
    # probability here, negatives the ratio to the noise; both are trained on the subsampled text.
    overall = counts * keep / (counts * keep).sum()
    noise = 0.0 if settings.objective == "softmax" else settings.noise_power * np.log(counts)
    usual = (noise - np.log(overall)).astype(
        np.float32
    )  # in double precision, this takes three times as long
    ranks = 0.0
    for start in range(0, len(centers), 1024):
        part = slice(start, start + 1024)
        scores = vectors[neighbors[part]] @ outputs.T + usual
        actual = scores[np.arange(len(scores)), centers[part]][:, None]
        above, equal = (scores > actual).sum(axis=0), (scores == actual).sum(axis=0)
        ranks += float((above + equal / 2) @ overall)
    return ranks / max(len(centers), 1)


def _pairs(
    ids: "NDArray[np.uint32]", keep: "NDArray[np.float64]", text: Text, window: int
) -> "tuple[NDArray[np.int64], NDArray[np.int64]]":
    """Return pairs of the held-out text, subsampled as in training; at most a fixed sample of them."""
    rng = np.random.default_rng(0)
    row_of = np.full(int(max(ids.max(), text.ids.max())) + 1, -1, np.int64)
    row_of[ids] = np.arange(len(ids))
    centers, neighbors = [], []
    for document in text.documents():
        rows = row_of[document]
        rows = rows[rows >= 0]
        rows = rows[rng.random(len(rows)) < keep[rows]]
        for distance in range(1, min(window, len(rows) - 1) + 1):
            centers += [rows[distance:], rows[:-distance]]
            neighbors += [rows[:-distance], rows[distance:]]
    if not centers:
        raise _too_short()
    left, right = np.concatenate(centers), np.concatenate(neighbors)
    if len(left) > _PAIRS:
        drawn = rng.choice(len(left), _PAIRS, replace=False)
        left, right = left[drawn], right[drawn]
    return left, right


def dimensions(
    text: Text,
    settings: EmbedSettings,
    tokenizer: Tokenizer,
    lists: groups.Lists,
    tick: Callable[[], object] = lambda: None,
) -> list[dict[str, Any]]:
    """Measure quality for several numbers of dimensions. `tick` is called after every training."""
    rows = []
    for dimension in DIMENSIONS:
        # Shared negatives are as good as others (see `objectives`), and three times as fast.
        variant = replace(settings, embedding_dim=dimension, objective="shared")
        figures = _over_seeds(text.first(SIZE), variant, tokenizer, lists, tick)
        rows.append({"dimension": dimension, **figures})
    return rows


def objectives(
    text: Text,
    settings: EmbedSettings,
    tokenizer: Tokenizer,
    lists: groups.Lists,
    tick: Callable[[], object] = lambda: None,
) -> list[dict[str, Any]]:
    """Compare the full softmax with a few negatives: time, quality, and multiplications per batch."""
    small = replace(
        settings,
        min_count=max(settings.min_count, SOFTMAX_MIN_COUNT),
        epochs=min(settings.epochs, SOFTMAX_EPOCHS),
    )
    variants: Sequence[tuple[str, EmbedSettings]] = [
        ("full softmax", replace(small, objective="softmax")),
        *(
            (f"{n} negatives", replace(small, objective="negatives", num_negative_samples=n))
            for n in NEGATIVES
        ),
        ("10 shared negatives", replace(small, objective="shared", num_negative_samples=10)),
    ]
    rows = []
    for name, variant in variants:
        outcome = train_and_measure(text.first(SOFTMAX_SIZE), variant, tokenizer, lists)
        tick()
        targets = outcome.vocabulary if variant.objective == "softmax" else variant.num_negative_samples + 1
        tokens = int(min(len(text.ids), SOFTMAX_SIZE) * (1 - 1 / _EVERY)) * variant.epochs
        pairs_per_batch = outcome.pairs * variant.batch_size / tokens
        rows.append(
            {
                "objective": name,
                **vars(outcome),
                # A dot product and two updates per target: three multiplications per dimension.
                "operations_per_batch": int(pairs_per_batch * targets * variant.embedding_dim * 3),
            }
        )
    return rows


def _over_seeds(
    text: Text,
    settings: EmbedSettings,
    tokenizer: Tokenizer,
    lists: groups.Lists,
    tick: Callable[[], object],
) -> dict[str, Any]:
    """Return the mean, minimum and maximum over several seeds."""
    outcomes = []
    for nth in range(SEEDS):
        variant = replace(settings, seed=settings.seed + nth)
        outcomes.append(vars(train_and_measure(text, variant, tokenizer, lists)))
        tick()
    row: dict[str, Any] = {}
    for name in ("seconds_per_epoch", "rank", "margin", "synonyms", "words"):
        values = [outcome[name] for outcome in outcomes]
        known = None not in values
        row[name] = float(np.mean(values)) if known else None
        row[f"{name}_least"], row[f"{name}_most"] = (min(values), max(values)) if known else (None, None)
    return row
