"""The vocabularies of real encodings, loaded by merganser and by tiktoken from the same files, offline.

They are read from `../shared/vocabs` or the folder in MERGANSER_VOCABS. Where one is missing, a smaller one
with the same properties is trained: see `stand_in_vocabs`.
"""

import base64
import json
import os
from functools import cache
from pathlib import Path

import merganser
import stand_in_vocabs
import tiktoken
from corpora import generated_folder

VOCABS = Path(os.environ.get("MERGANSER_VOCABS", Path(__file__).parents[3] / "shared" / "vocabs"))

#: Encoding: its file, its pattern, the file of its special tokens.
_FILES = {
    "gpt2": ("gpt2.tiktoken", "gpt2", None),
    "cl100k_base": ("cl100k_base.tiktoken", "gpt4", "cl100k.special.json"),
    "o200k_base": ("o200k_base.tiktoken", "o200k", "o200k.special.json"),
    "llama3": ("llama3.tiktoken", "llama3", "llama3.special.json"),
    "qwen3": ("qwen3.tiktoken", "qwen2", "qwen3.special.json"),
}
#: Encodings that tiktoken itself ships.
OPENAI = ("gpt2", "cl100k_base", "o200k_base")
ALL = tuple(_FILES)


def pattern(name: str) -> str:
    return _FILES[name][1]


def is_real(name: str) -> bool:
    """Whether this is the published vocabulary, whose figures are known."""
    ranks, _, special = _FILES[name]
    return all((VOCABS / file).exists() for file in (ranks, special) if file)


@cache
def _folder(name: str) -> Path:
    if is_real(name):
        return VOCABS
    ranks, _, special = _FILES[name]
    folder = generated_folder()
    stand_in_vocabs.write(name, folder / ranks, folder / special if special else None)
    return folder


def rank_file(name: str) -> Path:
    """Return the rank file."""
    return _folder(name) / _FILES[name][0]


def special_tokens(name: str) -> dict[str, int]:
    file = _FILES[name][2]
    if file is None:
        return {"<|endoftext|>": len(rank_file(name).read_bytes().splitlines())}
    tokens: dict[str, int] = json.loads((_folder(name) / file).read_text("utf-8"))
    return tokens


@cache
def ours(name: str) -> merganser.Tokenizer:
    return merganser.load(rank_file(name), pattern=_FILES[name][1], special_tokens=special_tokens(name))


@cache
def theirs(name: str) -> tiktoken.Encoding:
    """Return tiktoken's encoding, read without merganser."""
    lines = (line.split() for line in rank_file(name).read_bytes().splitlines())
    ranks = {base64.b64decode(token): int(rank) for token, rank in lines}
    pattern = merganser.Counts({}, pattern=_FILES[name][1]).pattern
    return tiktoken.Encoding(
        name, pat_str=pattern, mergeable_ranks=ranks, special_tokens=special_tokens(name)
    )
