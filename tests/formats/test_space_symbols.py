"""Tokenizers with `▁` for spaces whose added tokens need the symbol to stay: ids and text of the owner."""

import json
import random
from pathlib import Path
from typing import Any

import kinds
import merganser
import pytest

tokenizers = pytest.importorskip("tokenizers")


@pytest.mark.parametrize(
    ("kind", "flags"),
    [
        ("Metaspace at the start", {}),
        ("Metaspace with splits", {}),
        ("Llama 2", {"lstrip": True}),
        ("Gemma", {"rstrip": True}),
    ],
)
def test_ids_and_text_are_those_of_the_owner(kind: str, flags: dict[str, Any], tmp_path: Path) -> None:
    state = json.loads(kinds.hugging_face(kind))
    size = len(state["model"]["vocab"])
    number = size + sum(token["content"] not in state["model"]["vocab"] for token in state["added_tokens"])
    state["added_tokens"].append(kinds.added("new token", normalized=True, **flags) | {"id": number})
    file = tmp_path / "tokenizer.json"
    file.write_text(json.dumps(state), "utf-8")
    owner, loaded = tokenizers.Tokenizer.from_file(str(file)), merganser.load(file)
    for text in ("the cat  sat", " new token a", "a new token\n b ▁x new token y", "  new token  "):
        expected = owner.encode(text, add_special_tokens=False).ids
        assert loaded.encode(text, allowed_special="all") == expected
    chance = random.Random(3)
    for _ in range(300):
        ids = [chance.randrange(size) for _ in range(chance.randrange(9))]
        assert loaded.decode(ids, "replace") == owner.decode(ids, skip_special_tokens=False)
