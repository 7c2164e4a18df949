"""Fourteen trainers, each a file that adds one idea to the one before. All give the same merges.

Each file can be read alone. All have the same function, `train(source, settings)`; the words, the tie rule
and the settings are in `words.py` and `settings.py`. `approximate.py` stands beside the ladder: it is fast,
and sometimes wrong.
"""

from collections.abc import Callable
from importlib import import_module

from merganser.learn.ladder.settings import Merges, Settings, Source

__all__ = ["STEPS", "Merges", "Settings", "Source", "load_step"]

#: The modules by number.
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

Train = Callable[[Source, Settings], Merges]


def load_step(number: int) -> Train:
    """The trainer of a step.

    >>> load_step(1)("low lower lowest", Settings(vocab_size=258))
    [(b'l', b'o'), (b'lo', b'w')]
    """
    train: Train = import_module(f"{__name__}.{STEPS[number]}").train
    return train
