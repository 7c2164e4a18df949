"""What an engine must know to write token files: their settings, and where to start."""

from dataclasses import dataclass


@dataclass(frozen=True)
class TokenSettings:
    """What decides the bytes of the files, apart from tokenizer and corpus."""

    format: str
    dtype: str
    separator: str | None
    prepend: int | None
    append: int | None
    allowed_special: list[str]
    shard_tokens: int


@dataclass(frozen=True)
class Start:
    """The first shard that is still to be written, and where in the corpus it begins."""

    shard: int = 0
    part: int = 0
    offset: int = 0
    within: int = 0
