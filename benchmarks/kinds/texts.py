"""Hostile texts: those that take a careless encoder far too long, by their number of characters."""

from __future__ import annotations

import random
from collections.abc import Callable


def _random(letters: str) -> Callable[[int], str]:
    return lambda count: "".join(random.Random(count).choices(letters, k=count))


HOSTILE: dict[str, Callable[[int], str]] = {
    "one letter": lambda count: "a" * count,
    "spaces": lambda count: " " * count,
    "▁": lambda count: "▁" * count,
    "newlines": lambda count: "\n" * count,
    "combining marks": lambda count: "e" + "\u0301" * count,
    "random letters": _random("abcdefghijklmnopqrstuvwxyz"),
    "random CJK": _random("".join(map(chr, range(0x4E00, 0x9FA6)))),
    "punctuation": _random("!?.,;:'\"-()"),
    "digits": _random("0123456789"),
}
