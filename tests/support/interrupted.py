"""Folders of tokens in the state that an interrupted run leaves."""

import json
from pathlib import Path

from merganser.files import SEAL, sealed


def mark_incomplete(folder: Path) -> None:
    """Rewrite `tokens.json` as it was before the last shard was finished."""
    file = folder / "tokens.json"
    facts = json.loads(file.read_bytes())
    for total in ("shards", "tokens", "documents", "bytes", "invalid_bytes", SEAL):
        del facts[total]
    file.write_bytes(sealed({**facts, "complete": False}))
