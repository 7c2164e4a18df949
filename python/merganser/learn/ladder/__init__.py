"""Fourteen trainers, each a file that adds one idea to the one before. All return the same merges.

Each file can be read alone. All define `train(source, settings)`; words, the tie rule and the settings are in
`words.py` and `settings.py`. `approximate.py` is not part of the ladder: it is fast, and sometimes wrong.
"""

from collections.abc import Callable
from importlib import import_module

from merganser.learn.ladder.settings import LadderSettings, Merges, Source

__all__ = ["STEPS", "LadderSettings", "Merges", "Source", "load_step"]

#: The module of each step.
STEPS = {
    1: "step01_naive",
    2: "step02_type_frequency",
    3: "step03_streamed_counting",
    4: "step04_compiled_regex",
    5: "step05_incremental_updates",
    6: "step06_pair_index",
    7: "step07_memory_lean",
    8: "step08_windowed_updates",
    9: "step09_index_compaction",
    10: "step10_heap_selection",
    11: "step11_array_sequences",
    12: "step12_batched_deltas",
    13: "step13_adaptive_compaction",
    14: "step14_structure_of_arrays",
}

Train = Callable[[Source, LadderSettings], Merges]


def load_step(number: int) -> Train:
    """Return the trainer of a step.

    >>> load_step(1)("low lower lowest", LadderSettings(vocab_size=258))
    [(b'l', b'o'), (b'lo', b'w')]
    """
    train: Train = import_module(f"{__name__}.{STEPS[number]}").train
    return train
