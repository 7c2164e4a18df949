"""Random texts and options for calls of two libraries, and their results as values that can be compared."""

import random
import warnings
from collections.abc import Callable
from typing import Any

PARTS = [
    *(
        "the cat",
        " sat",
        "  ",
        "\n\n",
        "\t",
        "中文",
        "👍🏽",
        "e\u0301",
        "ﬁ",
        "<s>",
        "</s>",
        " <mask> ",
        "<pad>",
    ),
    *(
        "<new>",
        "Hello",
        " WORLD",
        "'ll",
        "2024",
        "x" * 9,
        "\x00",
        "é",
        "ß",
        " new token ",
        "▁",
        "Ġ",
        ".",
        "'s",
    ),
    *("</w>", "new", "   ", "##", "\u00a0", "<|end|>", "<tool>"),
]
FIELDS = ("ids", "type_ids", "tokens", "offsets", "attention_mask", "special_tokens_mask", "word_ids")


class Chance(random.Random):
    """Chance with texts."""

    def text(self) -> str:
        return "".join(self.choices(PARTS, k=self.randrange(12)))

    def words(self) -> list[str]:
        return [self.text() for _ in range(self.randrange(4))]

    def maybe(self, options: dict[str, Any], name: str, *values: Any, chance: float = 0.4) -> None:
        if self.random() < chance:
            options[name] = self.choice(values)


def fields(encoding: Any) -> dict[str, Any]:
    """Return all fields of an encoding, and of what was cut off from it."""
    found = {name: getattr(encoding, name) for name in (*FIELDS, "sequence_ids", "n_sequences")}
    return found | {"overflowing": [fields(each) for each in encoding.overflowing], "len": len(encoding)}


def outcome(call: Callable[[], Any]) -> Any:
    """Return the result of a call, or its error."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return call()
    except Exception as error:
        return type(error), str(error)
