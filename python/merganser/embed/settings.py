"""Hyperparameters of embeddings, named as the options of `merganser embed`, and three presets."""

import math
from dataclasses import asdict, dataclass, fields
from typing import Any, Literal

from merganser.errors import SettingsError

Objective = Literal["negatives", "shared", "softmax"]
Device = Literal["auto", "cpu", "cuda", "mps"]
Backend = Literal["core", "torch"]
OBJECTIVES: tuple[Objective, ...] = ("negatives", "shared", "softmax")


@dataclass(frozen=True)
class EmbedSettings:
    """The hyperparameters of a training.

    Parameters
    ----------
    embedding_dim
        The dimension of the vectors.
    window_size
        The number of tokens on each side that are neighbors.
    dynamic_window
        Whether to draw the window of each token from 1 to `window_size`, so that closer tokens count more.
    objective
        "negatives" contrasts each neighbor with a few random tokens; "shared" uses the same random tokens for
        all neighbors of a token, which is faster; "softmax" contrasts with all tokens, exact but slow.
    num_negative_samples
        The number of random tokens.
    batch_size
        The number of tokens of text that a thread processes at a time, with one learning rate. An interrupted
        training stops between two batches. Every pair is a separate step: gradients are not averaged.
    epochs
        The number of passes over the text.
    learning_rate, last_learning_rate
        The initial and final learning rate; it decreases linearly.
    subsample
        Tokens with a higher share of the text are dropped at random; 0 keeps all.
    noise_power
        Negatives are drawn with a probability proportional to their count to this power; 0 draws all tokens
        equally often (`--negatives uniform`).
    min_count
        Tokens that occur fewer times get no vector and are removed from the text.
    seed
        The random seed. One thread with the same seed produces the same vectors on the same machine.
    threads
        The maximum number of threads, all cores by default; fewer are used if that is faster.

    Raises
    ------
    SettingsError
        If a value is invalid.

    Examples
    --------
    >>> EmbedSettings(window_size=3).window_size
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
                raise SettingsError(f"{field.name} must be a finite number, got {value}")
            if field.type is int and (not isinstance(value, int) or value < 0):
                raise SettingsError(f"{field.name} must be an integer of at least 0, got {value!r}")
        if self.objective not in OBJECTIVES:
            raise SettingsError(f"objective must be one of {', '.join(OBJECTIVES)}, got {self.objective!r}")
        if self.threads is not None and self.threads < 1:
            raise SettingsError(f"threads must be at least 1, or None for all cores, got {self.threads}")

    def for_core(self) -> dict[str, Any]:
        """Return the settings under the names that the core uses."""
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
        """Return the settings that determine the vectors: all except the number of threads."""
        return {name: value for name, value in asdict(self).items() if name != "threads"}


#: Changes to the default settings, by name.
PRESETS: dict[str, dict[str, int]] = {
    "fast": {"batch_size": 2048, "num_negative_samples": 5, "window_size": 3, "epochs": 10},
    "balanced": {"batch_size": 512, "num_negative_samples": 10, "window_size": 5, "epochs": 10},
    "best": {"batch_size": 512, "num_negative_samples": 20, "window_size": 7, "epochs": 15},
}
