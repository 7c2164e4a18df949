"""Embeddings: a vector for every token, learned from the tokens around it, and what can be seen in them.

>>> from merganser import embed
>>> texts = ["the black cat sat on the mat", "the black dog sat on the rug"] * 40
>>> made = embed.train(texts, settings=embed.Settings(subsample=0, epochs=30, threads=1))
>>> [near.word for near in made.most_similar("cat", 1)]
['dog']

| file | what it does |
|---|---|
| `settings` | what can be set, and the presets |
| `text` | a corpus becomes ids |
| `training` | ids become vectors, in intervals that can be interrupted |
| `embeddings` | the vectors, and asking them questions |
| `folder`, `exports` | files: our own, and those of others |
| `evaluation`, `groups` | how much meaning there is: sets of others, and lists of our own |
| `torch` | the same training on a GPU |
| `report` | all pictures on one page |
"""

from merganser.embed.baselines import one_hot
from merganser.embed.embeddings import Embeddings, Neighbour, load
from merganser.embed.evaluation import Agreement, Analogies, evaluate
from merganser.embed.settings import PRESETS, Settings
from merganser.embed.training import Interval, train

__all__ = [
    "PRESETS",
    "Agreement",
    "Analogies",
    "Embeddings",
    "Interval",
    "Neighbour",
    "Settings",
    "evaluate",
    "load",
    "one_hot",
    "train",
]
