"""cl100k_base on disk, the patterns to split with, and the same vocabulary as a `tokenizer.json`.

Every peer gets the same ranks. Peers that read Hugging Face's format get a file built from them: the merges
are derived from the ranks once and cached.
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

# As written in tiktoken 0.14.0; merganser calls it gpt4.
GPT4 = (
    r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+"
    r"| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|\s*[\r\n]|\s+(?!\S)|\s"
)

# Not a variant of any preset: merganser compiles it to an automaton.
OWN_WORDS = r" ?\p{L}+| ?\p{N}{1,4}| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"

# By name, as passed to tasks. Only gpt4 belongs to cl100k_base.
PATTERNS = {
    "gpt4": GPT4,
    "nanochat": CUSTOM.replace("{1,4}", "{1,2}"),
    "nanochat {1,4}": CUSTOM,
    "own words": OWN_WORDS,
}


def without_counted_possessives(pattern: str) -> str:
    """Replace `{1,3}+` by `{1,3}`: nothing follows it here, and Ruby's syntax would repeat the repetition."""
    return re.sub(r"(?<=\d\})\+", "", pattern)


def without_possessives(pattern: str) -> str:
    """Return a pattern with the same pre-tokens, for engines without possessive quantifiers.

    In these patterns, nothing that follows a possessive quantifier could match after backtracking: it is
    always of another character class, or there is nothing.
    """
    return re.sub(r"(?<=[?*+])\+", "", without_counted_possessives(pattern))


def folder() -> Path:
    """Return the folder of the rank files: MERGANSER_VOCABS, or `../shared/vocabs` next to the checkout."""
    return Path(os.environ.get("MERGANSER_VOCABS", REPOSITORY.parent / "shared" / "vocabs"))


def ranks_path() -> Path:
    """Return the path of the `.tiktoken` file."""
    path = folder() / f"{NAME}.tiktoken"
    if not path.exists():
        raise SystemExit(
            f"{path} is missing: put {NAME}.tiktoken there, or name its folder in MERGANSER_VOCABS"
        )
    return path


def ranks() -> dict[bytes, int]:
    """Return the rank of each token: every line of the file is a token in base64 and its rank."""
    lines = (line.split() for line in ranks_path().read_bytes().splitlines() if line)
    return {base64.b64decode(token): int(rank) for token, rank in lines}


def special_tokens() -> dict[str, int]:
    """Return the special tokens, from the JSON file next to the ranks."""
    path = folder() / f"{NAME.removesuffix('_base')}.special.json"
    found: dict[str, int] = json.loads(path.read_text(encoding="utf-8"))
    return found


def hugging_face(pattern: str) -> dict[str, Any]:
    """Return the vocabulary as a `tokenizer.json` that splits with this regular expression."""
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
        # tiktoken does not merge a pre-token that is a token.
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
