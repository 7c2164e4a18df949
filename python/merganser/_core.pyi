from collections.abc import Callable, Collection, Iterable, Iterator
from pathlib import Path
from typing import Literal, SupportsIndex, TypeAlias, final, overload

import numpy as np
from numpy.typing import NDArray
from typing_extensions import Self, disjoint_base

from merganser.tokenizer import Spans

__all__ = [
    "Counter",
    "Counts",
    "CountsReader",
    "Embedder",
    "Model",
    "Reading",
    "StreamDecoder",
    "TokenWriter",
    "Tokenizer",
    "__version__",
    "_panic_for_test",
    "fingerprint",
    "judge_beginning",
    "judge_file",
    "merge_counts",
    "preset_names",
    "shard_cuts",
    "split",
    "split_length",
    "top_counts",
    "train",
]

__version__: str

@final
class Counts:
    def __new__(
        cls,
        pretokens: dict[bytes, int],
        pattern: str,
        special_tokens: list[str],
        separator: str | None,
        invalid_bytes: int,
        documents: int,
    ) -> Counts: ...
    @staticmethod
    def load(path: Path) -> Counts: ...
    def save(self, path: Path) -> None: ...
    def plus(self, other: Counts) -> Counts: ...
    def to_dict(self) -> dict[bytes, int]: ...
    def most_common(self, n: int) -> list[tuple[bytes, int]]: ...
    def __len__(self) -> int: ...
    @property
    def total(self) -> int: ...
    @property
    def pattern(self) -> str: ...
    @property
    def pattern_name(self) -> str | None: ...
    @property
    def special_tokens(self) -> list[str]: ...
    @property
    def separator(self) -> str | None: ...
    @property
    def invalid_bytes(self) -> int: ...
    @property
    def documents(self) -> int: ...

@final
class Reading:
    def __new__(
        cls, *, text_key: str, on_error: str, max_ratio: int, max_size: int, max_window: int
    ) -> Reading: ...

def judge_file(path: Path, reading: Reading) -> str | None: ...
def judge_beginning(beginning: bytes, name: Path, reading: Reading) -> str | None: ...

@final
class Counter:
    def __new__(
        cls,
        pattern: str,
        special_tokens: list[str],
        separator: str | None,
        threads: int,
        progress: Callable[[str, int, int], object] | None,
    ) -> Counter: ...
    def add_documents(self, documents: list[str | bytes]) -> None: ...
    def add_files(self, paths: list[Path], reading: Reading) -> None: ...
    def add_range(self, path: Path, start: int, end: int, in_document: bool) -> None: ...
    def add_stream(self, chunks: Iterator[bytes], name: str, reading: Reading) -> None: ...
    def skipped(self) -> tuple[int, int, list[str]]: ...
    def spill_to(self, folder: Path, memory: int, seconds: float | None, job: str) -> None: ...
    def resume(
        self, runs: list[str], log_len: int, part: int, offset: int, within: int, in_document: bool
    ) -> None: ...
    @property
    def needs_disk(self) -> bool: ...
    def finish(self) -> Counts: ...
    def finish_to(self, out: Path, others: list[Path]) -> tuple[int, int, int, int]: ...
    def abandon(self) -> None: ...

@final
class CountsReader:
    def __new__(cls, path: Path) -> CountsReader: ...
    def read(self, n: int) -> list[tuple[bytes, int]]: ...
    @property
    def pattern(self) -> str: ...
    @property
    def pattern_name(self) -> str | None: ...
    @property
    def special_tokens(self) -> list[str]: ...
    @property
    def separator(self) -> str | None: ...
    @property
    def numbers(self) -> tuple[int, int, int, int]: ...

def merge_counts(
    paths: list[Path],
    outs: list[Path],
    scratch: Path,
    progress: Callable[[str, int, int], object] | None = None,
) -> tuple[int, int, int, int]: ...
def shard_cuts(
    path: Path, size: int, pattern: str, special_tokens: list[str], separator: str | None
) -> list[tuple[int, bool]]: ...
def top_counts(path: Path, n: int) -> list[tuple[bytes, int]]: ...

@final
class Embedder:
    def __new__(
        cls,
        tokens: NDArray[np.uint32],
        ends: NDArray[np.int64],
        *,
        dimension: int,
        window: int,
        dynamic_window: bool,
        objective: str,
        negatives: int,
        epochs: int,
        rate: float,
        last_rate: float,
        subsample: float,
        noise_power: float,
        min_count: int,
        batch: int,
        seed: int,
        threads: int,
    ) -> Embedder: ...
    def advance(
        self, batches: int, progress: Callable[[str, int, int], object] | None = None
    ) -> tuple[int, int, int]: ...
    def mean_loss(self) -> float | None: ...
    def restore(
        self, vectors: NDArray[np.float32], outputs: NDArray[np.float32], batches_done: int
    ) -> None: ...
    def vectors(self) -> NDArray[np.float32]: ...
    def outputs(self) -> NDArray[np.float32]: ...
    @property
    def ids(self) -> NDArray[np.uint32]: ...
    @property
    def counts(self) -> NDArray[np.uint64]: ...
    @property
    def batches_done(self) -> int: ...
    @property
    def batches_in_epoch(self) -> int: ...
    @property
    def batches(self) -> int: ...

@final
class TokenWriter:
    def __new__(
        cls,
        tokenizer: Tokenizer,
        folder: Path,
        *,
        format: str,
        dtype: str,
        separator: str | None,
        prepend: int | None,
        append: int | None,
        allowed_special: list[str],
        shard_tokens: int,
        threads: int,
        progress: Callable[[str, int, int], object] | None,
    ) -> TokenWriter: ...
    def start_at(self, shard: int, part: int, offset: int, within: int) -> None: ...
    def add_documents(self, documents: list[str | bytes]) -> None: ...
    def add_files(self, paths: list[Path], reading: Reading) -> None: ...
    def add_stream(self, chunks: Iterator[bytes], name: str, reading: Reading) -> None: ...
    def skipped(self) -> tuple[int, int, list[str]]: ...
    def abandon(self) -> None: ...
    def finish(self) -> None: ...

@final
class Model:
    @staticmethod
    def from_ranks(
        mergeable_ranks: dict[bytes, int], pattern: str, special_tokens: dict[str, int]
    ) -> Model: ...
    @staticmethod
    def from_packed(packed: bytes, pattern: str, special_tokens: dict[str, int]) -> Model: ...

_Specials: TypeAlias = Literal["all"] | Collection[str]

@disjoint_base
class StreamDecoder:
    def __new__(
        cls,
        tokenizer: Tokenizer,
        errors: Literal["strict", "replace"] = "strict",
        *,
        skip_special: bool = False,
    ) -> Self: ...
    def push(self, ids: SupportsIndex | Iterable[int]) -> str: ...
    def finish(self) -> str: ...
    @property
    def pending(self) -> bytes: ...

@disjoint_base
class Tokenizer:
    def __new__(cls, model: Model) -> Self: ...
    def encode(
        self,
        text: str,
        *,
        allowed_special: _Specials = (),
        disallowed_special: _Specials = "all",
        prepend: str | int | None = None,
        append: str | int | None = None,
    ) -> list[int]: ...
    def encode_ordinary(self, text: str) -> list[int]: ...
    def encode_batch(
        self,
        texts: Iterable[str],
        *,
        allowed_special: _Specials = (),
        disallowed_special: _Specials = "all",
        prepend: str | int | None = None,
        append: str | int | None = None,
        threads: int | None = None,
    ) -> list[list[int]]: ...
    def encode_flat(
        self,
        texts: Iterable[str],
        *,
        allowed_special: _Specials = (),
        disallowed_special: _Specials = "all",
        prepend: str | int | None = None,
        append: str | int | None = None,
        threads: int | None = None,
    ) -> tuple[NDArray[np.uint32], NDArray[np.int64]]: ...
    @overload
    def count_tokens(  # type: ignore[overload-overlap]  # a str is also an Iterable[str]
        self,
        texts: str,
        *,
        allowed_special: _Specials = (),
        disallowed_special: _Specials = "all",
        prepend: str | int | None = None,
        append: str | int | None = None,
        threads: int | None = None,
    ) -> int: ...
    @overload
    def count_tokens(
        self,
        texts: Iterable[str],
        *,
        allowed_special: _Specials = (),
        disallowed_special: _Specials = "all",
        prepend: str | int | None = None,
        append: str | int | None = None,
        threads: int | None = None,
    ) -> list[int]: ...
    def encode_with_offsets(
        self,
        text: str,
        *,
        allowed_special: _Specials = (),
        disallowed_special: _Specials = "all",
        prepend: str | int | None = None,
        append: str | int | None = None,
    ) -> Spans: ...
    def decode(self, ids: Iterable[int], errors: Literal["strict", "replace"] = "strict") -> str: ...
    def decode_bytes(self, ids: Iterable[int]) -> bytes: ...
    def decode_batch(
        self,
        batch: Iterable[Iterable[int]],
        errors: Literal["strict", "replace"] = "strict",
        *,
        threads: int | None = None,
    ) -> list[str]: ...
    def decode_with_offsets(
        self, ids: Iterable[int], *, unit: Literal["characters", "bytes"] = "characters"
    ) -> tuple[str, list[int]]: ...
    def token_bytes(self, id: SupportsIndex) -> bytes: ...
    def token_id(self, token: bytes | str) -> int: ...
    def __contains__(self, id_or_token: SupportsIndex | bytes, /) -> bool: ...
    @property
    def mergeable_ranks(self) -> dict[bytes, int]: ...
    def packed_ranks(self) -> bytes: ...
    @property
    def special_tokens(self) -> dict[str, int]: ...
    @property
    def merges(self) -> list[tuple[bytes, bytes]]: ...
    @property
    def merges_as_ids(self) -> dict[tuple[int, int], int]: ...
    @property
    def pattern(self) -> str: ...
    @property
    def pattern_name(self) -> str | None: ...
    @property
    def vocab_size(self) -> int: ...
    @property
    def next_id(self) -> int: ...
    def truncated_model(self, vocab_size: int) -> Model: ...
    def equals(self, other: Tokenizer) -> bool: ...

def train(
    counts: Counts | Path,
    merges: int,
    special_tokens: list[str],
    *,
    tie_break: str,
    min_frequency: int,
    max_token_bytes: int | None,
    min_pretoken_count: int,
    certify: bool,
    base: Tokenizer | None,
    threads: int,
    memory: int | None,
    folder: Path,
    log: Path | None,
    afresh: bool,
    checkpoint_every: float,
    progress: Callable[[str, int, int], object] | None,
) -> tuple[Model, list[int], tuple[int, int], tuple[int, int] | None]: ...
def split(text: str, pattern: str = "gpt4") -> list[str]: ...
def split_length(text: str, pattern: str) -> int: ...
def fingerprint(tokenizer: Tokenizer) -> str: ...
def preset_names() -> list[str]: ...
def _panic_for_test() -> None: ...
