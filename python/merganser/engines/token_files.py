"""The settings of token files, and the position in the corpus at which to start writing them."""

from dataclasses import dataclass


@dataclass(frozen=True)
class TokenSettings:
    """The settings that, with the tokenizer and the corpus, determine the bytes of the files."""

    format: str
    dtype: str
    separator: str | None
    prepend: int | None
    append: int | None
    allowed_special: list[str]
    shard_tokens: int


@dataclass(frozen=True)
class StartPosition:
    """The first shard to write, and where in the corpus it begins."""

    shard: int = 0
    part: int = 0
    offset: int = 0
    within: int = 0
