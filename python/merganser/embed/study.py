"""Study: what a report measures about embeddings; trains again and again on the text that lies beside them.

Costs about as much as ten trainings on the first `SIZE` tokens of the text. Quality is told in two ways:

- the margin between our groups of words, where the text has them;
- how well held-out neighbours are foretold. A part of the text is never trained on. For its pairs, all tokens
  are put in order of how likely the model takes them beside the neighbour, and the figure is the mean place
  of the right one, as a share of the vocabulary: 0 is always first, 0.5 is chance.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from merganser.embed import groups
from merganser.embed.embeddings import Embeddings
from merganser.embed.evaluation import separation
from merganser.embed.settings import Settings
from merganser.embed.text import Text
from merganser.embed.training import Trainer, trainer_of
from merganser.errors import EmbeddingsError
from merganser.tokenizer import Tokenizer

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: Of the text, for one training.
SIZE = 300_000
#: What is held out.
SHARE = 0.1
DIMENSIONS = (10, 25, 50, 100, 200)
NEGATIVES = (5, 10, 20)
#: The full softmax costs as much as the vocabulary is large, so here only tokens seen so often take part, the
#: text is shorter, and the epochs are fewer; the same for all that it is compared with.
SOFTMAX_MIN_COUNT = 20
SOFTMAX_SIZE = 60_000
SOFTMAX_EPOCHS = 5
_PAIRS = 20_000


@dataclass(frozen=True)
class Outcome:
    """What a training came to."""

    seconds: float
    #: The mean place of held-out neighbours, as a share of the vocabulary.
    rank: float
    #: Between the groups of words; None where the text lacks them.
    margin: float | None
    pairs: int
    vocabulary: int


def lists_for(embeddings: Embeddings) -> groups.Lists:
    """The lists of the corpus by its name; of an unknown one, those with the most words in it."""
    named = groups.lists(embeddings.training.get("corpus"))
    if named is not None:
        return named

    def known(entry: groups.Lists) -> float:
        words = [word for group in entry.groups.values() for word in group]
        return sum(word in embeddings for word in words) / len(words)

    return max(groups.every().values(), key=known)


def tried(text: Text, settings: Settings, tokenizer: Tokenizer, words: groups.Groups) -> Outcome:
    """Trains on nine tenths of a text, and measures on the rest."""
    cut = int(len(text.ids) * (1 - SHARE))
    trainer = trainer_of(text.first(cut), settings)
    start = time.perf_counter()
    _, _, pairs, _ = trainer.advance(trainer.batches)
    seconds = time.perf_counter() - start
    made = Embeddings(
        trainer.vectors().reshape(-1, settings.embedding_dim), trainer.ids, trainer.counts, tokenizer
    )
    try:
        margin = separation(made, words).margin
    except EmbeddingsError:
        margin = None
    rank = held_out_rank(trainer, settings, text.after(cut))
    return Outcome(seconds, rank, margin, pairs, len(made))


def held_out_rank(trainer: Trainer, settings: Settings, held_out: Text) -> float:
    """The mean place of the right token among all, beside neighbours that were never trained on."""
    ids = trainer.ids
    row_of = np.full(int(max(ids.max(), held_out.ids.max())) + 1, -1, np.int64)
    row_of[ids] = np.arange(len(ids))
    centres, neighbours = _pairs(held_out, row_of, settings.window_size)
    vectors = trainer.vectors().reshape(len(ids), -1)
    outputs = trainer.outputs().reshape(len(ids), -1)
    # With negatives, a score says how much likelier than noise a token is; the softmax says how likely.
    noise = settings.noise_power * np.log(trainer.counts.astype(np.float64))
    prior = np.zeros(len(ids)) if settings.objective == "softmax" else noise
    places = 0.0
    for start in range(0, len(centres), 1024):
        part = slice(start, start + 1024)
        scores = vectors[neighbours[part]] @ outputs.T + prior
        right = scores[np.arange(len(scores)), centres[part]][:, None]
        places += float((scores > right).sum())
    return places / max(len(centres), 1) / max(len(ids) - 1, 1)


def _pairs(
    text: Text, row_of: "NDArray[np.int64]", window: int
) -> "tuple[NDArray[np.int64], NDArray[np.int64]]":
    """Pairs of the held-out text, a fixed sample where there are many; frequent tokens would drown others, so
    each pair is kept with a chance that falls with the count of its token."""
    chance = np.random.default_rng(0)
    centres, neighbours = [], []
    for document in text.documents():
        rows = row_of[document]
        rows = rows[rows >= 0]
        for distance in range(1, min(window, len(rows) - 1) + 1):
            centres += [rows[distance:], rows[:-distance]]
            neighbours += [rows[:-distance], rows[distance:]]
    if not centres:
        raise EmbeddingsError("the text is too short to hold a part of it out")
    left, right = np.concatenate(centres), np.concatenate(neighbours)
    counts = np.bincount(left, minlength=int(left.max()) + 1)
    kept = chance.random(len(left)) < 1 / np.sqrt(counts[left])
    left, right = left[kept], right[kept]
    if len(left) > _PAIRS:
        drawn = chance.choice(len(left), _PAIRS, replace=False)
        left, right = left[drawn], right[drawn]
    return left, right


def dimensions(
    text: Text, settings: Settings, tokenizer: Tokenizer, words: groups.Groups
) -> list[dict[str, Any]]:
    """Quality against the number of dimensions."""
    rows = []
    for dimension in DIMENSIONS:
        outcome = tried(text.first(SIZE), replace(settings, embedding_dim=dimension), tokenizer, words)
        rows.append({"dimension": dimension, **vars(outcome)})
    return rows


def objectives(
    text: Text, settings: Settings, tokenizer: Tokenizer, words: groups.Groups
) -> list[dict[str, Any]]:
    """The full softmax against a few negatives: time, quality, and multiplications for a batch."""
    small = replace(
        settings,
        min_count=max(settings.min_count, SOFTMAX_MIN_COUNT),
        epochs=min(settings.epochs, SOFTMAX_EPOCHS),
    )
    ways: Sequence[tuple[str, Settings]] = [
        ("full softmax", replace(small, objective="softmax")),
        *(
            (f"{n} negatives", replace(small, objective="negatives", num_negative_samples=n))
            for n in NEGATIVES
        ),
        ("10 shared negatives", replace(small, objective="shared", num_negative_samples=10)),
    ]
    rows = []
    for name, way in ways:
        outcome = tried(text.first(SOFTMAX_SIZE), way, tokenizer, words)
        targets = outcome.vocabulary if way.objective == "softmax" else way.num_negative_samples + 1
        tokens = int(min(len(text.ids), SOFTMAX_SIZE) * (1 - SHARE)) * way.epochs
        in_batch = outcome.pairs * way.batch_size / tokens
        rows.append(
            {
                "objective": name,
                **vars(outcome),
                "seconds_per_epoch": outcome.seconds / way.epochs,
                # A dot product and two updates for each target: three multiplications a number.
                "operations_per_batch": int(in_batch * targets * way.embedding_dim * 3),
            }
        )
    return rows
