"""The cases of cases/chat.toml, and the ids and masks that they expect."""

import json
import sys
from pathlib import Path
from typing import Any

from merganser import Tokenizer
from merganser.chat import NANOCHAT

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

CASES: list[dict[str, Any]] = tomllib.loads(
    (Path(__file__).parents[2] / "cases" / "chat.toml").read_text("utf-8")
)["case"]
GOOD = [case for case in CASES if "error" not in case]
BAD = [case for case in CASES if "error" in case]


def name(case: dict[str, Any]) -> str:
    return str(case["name"])


def ids_of(stretch: str, tokenizer: Tokenizer) -> list[int]:
    """Return the ids of a marker name or of a text in JSON."""
    if stretch.startswith('"'):
        return tokenizer.encode_ordinary(json.loads(stretch))
    return [tokenizer.special_tokens[getattr(NANOCHAT, stretch)]]


def rendered(case: dict[str, Any], tokenizer: Tokenizer) -> tuple[list[int], list[int]]:
    ids: list[int] = []
    mask: list[int] = []
    for line in case["render"].strip().splitlines():
        learned, _, stretch = line.partition(" ")
        new = ids_of(stretch, tokenizer)
        ids += new
        mask += [int(learned)] * len(new)
    return ids, mask


def prompted(case: dict[str, Any], tokenizer: Tokenizer) -> list[int]:
    return [id for line in case["prompt"].strip().splitlines() for id in ids_of(line, tokenizer)]
