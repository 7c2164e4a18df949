"""Settings of training, by the names that the command has for them; and three sets that go together."""

import math
from dataclasses import asdict, dataclass, fields
from typing import Any, Literal

from merganser.errors import SettingsError

Objective = Literal["negatives", "shared", "softmax"]
OBJECTIVES: tuple[Objective, ...] = ("negatives", "shared", "softmax")


@dataclass(frozen=True)
class Settings:
    """How to train.

    embedding_dim: numbers in a vector.
    window_size: how many tokens on each side are neighbours; drawn from 1 to it for each token where
        `dynamic_window`, so that near ones count more.
    objective: "negatives", a few random tokens to tell each neighbour from; "shared", the same few for all
        neighbours of a token, which is faster; "softmax", all other tokens, which is exact and slow.
    batch_size: how many tokens of text a thread takes at a time. They have one learning rate, and a training
        that is stopped ends between two batches. Every pair is a step of its own: no gradients are averaged.
    learning_rate: the largest; it falls in a straight line to `last_learning_rate`.
    subsample: tokens above this share of the text are left out now and then; 0 keeps all.
    noise_power: negatives are drawn by count to this power.
    min_count: tokens seen less often get no vector, and are left out of the text.
    seed: one thread with one seed gives the same numbers every time on the same machine.
    threads: at most so many, all cores if not given; fewer are used where that is faster.

    >>> Settings(window_size=3).window_size
    3
    """

    embedding_dim: int = 100
    window_size: int = 5
    dynamic_window: bool = True
    objective: Objective = "negatives"
    num_negative_samples: int = 10
    batch_size: int = 512
    epochs: int = 10
    learning_rate: float = 0.025
    last_learning_rate: float = 0.0001
    subsample: float = 1e-3
    noise_power: float = 0.75
    min_count: int = 5
    seed: int = 1
    threads: int | None = None

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if isinstance(value, float) and not math.isfinite(value):
                raise SettingsError(f"{field.name} is a number, not {value}")
            if field.type is int and (not isinstance(value, int) or value < 0):
                raise SettingsError(f"{field.name} is a whole number from 0 on, not {value!r}")
        if self.objective not in OBJECTIVES:
            raise SettingsError(f"objective is one of {', '.join(OBJECTIVES)}, not {self.objective!r}")
        if self.threads is not None and self.threads < 1:
            raise SettingsError(f"threads must be at least 1, or None for all cores, not {self.threads}")

    def for_core(self) -> dict[str, Any]:
        """The same by the names of the core."""
        return {
            "dimension": self.embedding_dim,
            "window": self.window_size,
            "dynamic_window": self.dynamic_window,
            "objective": self.objective,
            "negatives": self.num_negative_samples,
            "epochs": self.epochs,
            "rate": self.learning_rate,
            "last_rate": min(self.last_learning_rate, self.learning_rate),
            "subsample": self.subsample,
            "noise_power": self.noise_power,
            "min_count": self.min_count,
            "batch": self.batch_size,
            "seed": self.seed,
            "threads": self.threads or 0,
        }

    def facts(self) -> dict[str, Any]:
        """What decides the vectors: all but the number of threads."""
        return {name: value for name, value in asdict(self).items() if name != "threads"}


#: Sets of settings by name: what each changes of the defaults.
PRESETS: dict[str, dict[str, int]] = {
    "fast": {"batch_size": 2048, "num_negative_samples": 5, "window_size": 3, "epochs": 10},
    "balanced": {"batch_size": 512, "num_negative_samples": 10, "window_size": 5, "epochs": 10},
    "best": {"batch_size": 512, "num_negative_samples": 20, "window_size": 7, "epochs": 15},
}
