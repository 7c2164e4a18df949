"""cl100k_base on disk, the patterns it is split by, and its twin as a `tokenizer.json`.

Every peer gets the same ranks. Those that read Hugging Face's format get a file made from them here:
the merges are derived from the ranks, once, and kept in the cache.
"""

from __future__ import annotations

import base64
import json
import os
import re
from pathlib import Path
from typing import Any

from benchmarks import corpora
from benchmarks.environment import REPOSITORY
from benchmarks.patterns import CUSTOM
from benchmarks.peers import merges_from_tokens
from benchmarks.printable import PRINTABLE

NAME = "cl100k_base"

# As tiktoken 0.14.0 words it; merganser calls it gpt4.
GPT4 = (
    r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+"
    r"| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|\s*[\r\n]|\s+(?!\S)|\s"
)

# Not a preset's in any number of digits: merganser makes an automaton of it.
OWN_WORDS = r" ?\p{L}+| ?\p{N}{1,4}| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"

# By the name that a task is given. Only gpt4 is cl100k_base's own.
PATTERNS = {
    "gpt4": GPT4,
    "nanochat": CUSTOM.replace("{1,4}", "{1,2}"),
    "nanochat {1,4}": CUSTOM,
    "own words": OWN_WORDS,
}


def without_counted_possessives(pattern: str) -> str:
    """`{1,3}+` as `{1,3}`: nothing follows it here, and in Ruby's syntax it repeats a repeat."""
    return re.sub(r"(?<=\d\})\+", "", pattern)


def without_possessives(pattern: str) -> str:
    """The same pre-tokens, for engines that have no possessive repeats.

    In these patterns nothing that follows a possessive repeat could match after giving back: the next
    thing is always of another class of characters, or there is no next thing.
    """
    return re.sub(r"(?<=[?*+])\+", "", without_counted_possessives(pattern))


def folder() -> Path:
    """Where the rank files are: MERGANSER_VOCABS, or `../shared/vocabs` beside the checkout."""
    return Path(os.environ.get("MERGANSER_VOCABS", REPOSITORY.parent / "shared" / "vocabs"))


def ranks_path() -> Path:
    """The `.tiktoken` file."""
    path = folder() / f"{NAME}.tiktoken"
    if not path.exists():
        raise SystemExit(
            f"{path} is missing: put {NAME}.tiktoken there, or name its folder in MERGANSER_VOCABS"
        )
    return path


def ranks() -> dict[bytes, int]:
    """Token → rank: each line of the file is the token in base64 and its rank."""
    lines = (line.split() for line in ranks_path().read_bytes().splitlines() if line)
    return {base64.b64decode(token): int(rank) for token, rank in lines}


def special_tokens() -> dict[str, int]:
    """The special tokens, from the JSON file beside the ranks."""
    path = folder() / f"{NAME.removesuffix('_base')}.special.json"
    found: dict[str, int] = json.loads(path.read_text(encoding="utf-8"))
    return found


def hugging_face(pattern: str) -> dict[str, Any]:
    """The vocabulary as a `tokenizer.json` that splits by this regular expression."""
    skeleton: dict[str, Any] = json.loads(corpora.cached(f"{NAME}.tokenizer.json", _write).read_text("utf-8"))
    skeleton["pre_tokenizer"]["pretokenizers"][0]["pattern"]["Regex"] = pattern
    return skeleton


def _write(target: Path) -> None:
    tokens = sorted(table := ranks(), key=table.__getitem__)
    shown = {byte: character for character, byte in PRINTABLE.items()}

    def written(token: bytes) -> str:
        return "".join(shown[byte] for byte in token)

    byte_level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False}
    split = {"type": "Split", "pattern": {"Regex": ""}, "behavior": "Isolated", "invert": False}
    model = {
        "type": "BPE",
        "dropout": None,
        "unk_token": None,
        "continuing_subword_prefix": None,
        "end_of_word_suffix": None,
        "fuse_unk": False,
        "byte_fallback": False,
        # tiktoken takes a pre-token that is a token as it stands.
        "ignore_merges": True,
        "vocab": {written(token): rank for token, rank in table.items()},
        "merges": [[written(a), written(b)] for a, b in merges_from_tokens(tokens)],
    }
    whole: dict[str, Any] = {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [],
        "normalizer": None,
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": [split, byte_level]},
        "post_processor": None,
        "decoder": byte_level,
        "model": model,
    }
    target.write_text(json.dumps(whole), encoding="utf-8")
