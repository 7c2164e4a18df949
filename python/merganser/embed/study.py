"""Study: what a report measures about embeddings; trains again and again on the text that lies beside them.

Costs about as much as ten trainings on the first `SIZE` tokens of the text. Quality is told in two ways:

- the margin between our groups of words, where the text has them;
- the mean place of held-out neighbours: every tenth block of the text is never trained on, and for its pairs,
  all tokens are put in order of how much likelier than usual the model takes them beside the neighbour. The
  place is the share of tokens of the text before the right one: 0 is always first, 0.5 is chance.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
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
#: Every tenth block of the text is held out.
_BLOCK, _EVERY = 500, 10
DIMENSIONS = (10, 25, 50, 100, 200)
NEGATIVES = (5, 10, 20)
#: The full softmax costs as much as the vocabulary is large, so here only tokens seen so often take part, and
#: the text is shorter; the same for all that it is compared with.
SOFTMAX_MIN_COUNT = 20
SOFTMAX_SIZE = 100_000
#: Of a training are taken the means over so many seeds.
SEEDS = 3
_PAIRS = 20_000


@dataclass(frozen=True)
class Outcome:
    """What a training came to."""

    #: Of the quickest epoch, for the machine may have other work in between.
    seconds_per_epoch: float
    #: The mean place of held-out neighbours.
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
    kept, held_out = parted(text)
    trainer = trainer_of(kept, settings)
    taken, pairs = [], 0
    for _ in range(settings.epochs):
        start = time.perf_counter()
        pairs += trainer.advance(trainer.batches_in_epoch)[2]
        taken.append(time.perf_counter() - start)
    made = Embeddings(
        trainer.vectors().reshape(-1, settings.embedding_dim), trainer.ids, trainer.counts, tokenizer
    )
    try:
        margin = separation(made, words).margin
    except EmbeddingsError:
        margin = None
    rank = held_out_rank(trainer, settings, held_out)
    return Outcome(min(taken), rank, margin, pairs, len(made))


def parted(text: Text) -> tuple[Text, Text]:
    """The text without every tenth block, and these blocks; no pair spans two of either."""
    cuts = np.arange(0, len(text.ids), _BLOCK)
    bounds = np.unique(np.concatenate([cuts, text.ends])).tolist()
    kept: list[tuple[int, int]] = []
    held_out: list[tuple[int, int]] = []
    for first, last in pairwise(bounds):
        (held_out if first // _BLOCK % _EVERY == _EVERY - 1 else kept).append((first, last))
    if not held_out:
        raise EmbeddingsError("the text is too short to hold a part of it out")
    return _joined(text, kept), _joined(text, held_out)


def _joined(text: Text, spans: list[tuple[int, int]]) -> Text:
    ids = np.concatenate([text.ids[first:last] for first, last in spans])
    return Text(ids, np.cumsum([last - first for first, last in spans], dtype=np.int64))


def held_out_rank(trainer: Trainer, settings: Settings, held_out: Text) -> float:
    """How often a token of the text, drawn at random, is held for likelier than the right one, beside
    neighbours that were never trained on."""
    counts = trainer.counts.astype(np.float64)
    share = settings.subsample * counts.sum() / counts
    keep = np.minimum(np.sqrt(share) + share, 1.0) if settings.subsample else np.ones(len(counts))
    centres, neighbours = _pairs(trainer.ids, keep, held_out, settings.window_size)
    vectors = trainer.vectors().reshape(len(counts), -1)
    outputs = trainer.outputs().reshape(len(counts), -1)
    # A score is to say how much likelier a token is here than anywhere. The softmax says how likely it is
    # here, negatives how much likelier than noise; and both see the text as subsampling leaves it.
    anywhere = counts * keep / (counts * keep).sum()
    noise = 0.0 if settings.objective == "softmax" else settings.noise_power * np.log(counts)
    places = 0.0
    for start in range(0, len(centres), 1024):
        part = slice(start, start + 1024)
        scores = vectors[neighbours[part]] @ outputs.T + noise - np.log(anywhere)
        right = scores[np.arange(len(scores)), centres[part]][:, None]
        places += float(((scores > right) @ anywhere + (scores == right) @ anywhere / 2).sum())
    return places / max(len(centres), 1)


def _pairs(
    ids: "NDArray[np.uint32]", keep: "NDArray[np.float64]", text: Text, window: int
) -> "tuple[NDArray[np.int64], NDArray[np.int64]]":
    """Pairs of the held-out text, subsampled as in training; a fixed sample where there are many."""
    chance = np.random.default_rng(0)
    row_of = np.full(int(max(ids.max(), text.ids.max())) + 1, -1, np.int64)
    row_of[ids] = np.arange(len(ids))
    centres, neighbours = [], []
    for document in text.documents():
        rows = row_of[document]
        rows = rows[rows >= 0]
        rows = rows[chance.random(len(rows)) < keep[rows]]
        for distance in range(1, min(window, len(rows) - 1) + 1):
            centres += [rows[distance:], rows[:-distance]]
            neighbours += [rows[:-distance], rows[distance:]]
    if not centres:
        raise EmbeddingsError("the text is too short to hold a part of it out")
    left, right = np.concatenate(centres), np.concatenate(neighbours)
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
        way = replace(settings, embedding_dim=dimension)
        rows.append({"dimension": dimension, **_seeds(text.first(SIZE), way, tokenizer, words)})
    return rows


def objectives(
    text: Text, settings: Settings, tokenizer: Tokenizer, words: groups.Groups
) -> list[dict[str, Any]]:
    """The full softmax against a few negatives: time, quality, and multiplications for a batch."""
    small = replace(settings, min_count=max(settings.min_count, SOFTMAX_MIN_COUNT))
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
        tokens = int(min(len(text.ids), SOFTMAX_SIZE) * (1 - 1 / _EVERY)) * way.epochs
        in_batch = outcome.pairs * way.batch_size / tokens
        rows.append(
            {
                "objective": name,
                **vars(outcome),
                # A dot product and two updates for each target: three multiplications a number.
                "operations_per_batch": int(in_batch * targets * way.embedding_dim * 3),
            }
        )
    return rows


def _seeds(text: Text, settings: Settings, tokenizer: Tokenizer, words: groups.Groups) -> dict[str, Any]:
    """The means over several seeds, with the least and the most."""
    outcomes = [
        vars(tried(text, replace(settings, seed=settings.seed + nth), tokenizer, words))
        for nth in range(SEEDS)
    ]
    row: dict[str, Any] = {}
    for name in ("seconds_per_epoch", "rank", "margin"):
        values = [outcome[name] for outcome in outcomes]
        known = None not in values
        row[name] = float(np.mean(values)) if known else None
        row[f"{name}_least"], row[f"{name}_most"] = (min(values), max(values)) if known else (None, None)
    return row
