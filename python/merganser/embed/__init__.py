"""Embeddings: a vector for every token, learned from the tokens around it.

>>> from merganser import embed
>>> texts = ["the black cat sat on the mat", "the black dog sat on the rug"] * 40
>>> embeddings = embed.train(texts, settings=embed.EmbedSettings(subsample=0, epochs=30, threads=1))
>>> [neighbor.word for neighbor in embeddings.most_similar("cat", 1)]
['dog']

| module | content |
|---|---|
| `settings` | hyperparameters and presets |
| `text` | encoding a corpus as ids |
| `training`, `checkpoint` | training in intervals that can be interrupted and resumed |
| `torch` | the same training on a GPU |
| `vectors`, `embeddings` | the vectors as a value, and queries on them |
| `folder`, `safetensors`, `exports` | files: merganser's own and those of other programs |
| `evaluation`, `groups` | quality: published test sets, and our own lists of words |
| `similarities`, `projection`, `clusters`, `baselines`, `study` | what reports and maps show |
"""

from merganser.embed.baselines import one_hot
from merganser.embed.embeddings import Embeddings, Neighbor, WordRows, load
from merganser.embed.evaluation import Agreement, Analogies, evaluate
from merganser.embed.settings import PRESETS, EmbedSettings
from merganser.embed.training import Interval, train

__all__ = [
    "PRESETS",
    "Agreement",
    "Analogies",
    "EmbedSettings",
    "Embeddings",
    "Interval",
    "Neighbor",
    "WordRows",
    "evaluate",
    "load",
    "one_hot",
    "train",
]
