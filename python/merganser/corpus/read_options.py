"""Reading: how the files of a corpus are read, and what had to be skipped.

What a file holds follows from its name, and how it is compressed from its first bytes:

| name                               | documents                                                             |
|------------------------------------|-----------------------------------------------------------------------|
| `.jsonl`, `.ndjson`                | one JSON value a line: an object with the text at `text_key`, or a    |
|                                    | string                                                                |
| `.json`                            | the same in one array, or one value after the other                   |
| `.csv`, `.tsv`                     | a header line and records; the text is in the column `text_key`       |
| everything else                    | text                                                                  |
| each also `.gz .zst .xz .bz2`      | decompressed as it is read                                            |

A file is judged by its first 64 KB, after decompression: one with a NUL byte, in UTF-16 or UTF-32, or with
more than 30% invalid UTF-8 is binary. It is refused if it was named, and skipped with a warning if a folder
or a glob has found it. Fewer invalid bytes are read, counted and reported.

A `text_key` with dots leads through objects: `a.b` is the key `b` of the object at the key `a`, or the key
`a.b`.
"""

from dataclasses import dataclass
from typing import Literal, TypedDict

from merganser import _core
from merganser.corpus.sizes import size_of
from merganser.errors import SettingsError

OnError = Literal["stop", "skip"]


class ReadKeywords(TypedDict, total=False):
    """The settings of `ReadOptions`, as `count`, `train` and `encode_corpus` take them by name."""

    text_key: str
    on_error: OnError
    max_ratio: int
    max_size: int | str
    max_window: int | str
    allow_binary: bool


@dataclass(frozen=True)
class ReadOptions:
    """How files are read.

    text_key: the key of JSON objects, or the column, that holds the text.
    on_error: "stop" at what cannot be read, or "skip" it: the record, the file, or the rest of a damaged
        file. What was skipped is counted, and a `MerganserWarning` says what it was.
    max_ratio: how many times its size a compressed file may grow to, once it has grown to 64 MB.
    max_size: how large a compressed file may become: bytes, or a string like "500GB".
    max_window: how much memory decompressing one file may take, likewise; `zstd --long=31` needs "2GiB".
    allow_binary: read files that are not text, instead of refusing or skipping them.

    `count`, `train` and `encode_corpus` take these by name: `count("x.jsonl.gz", text_key="body")`.

    >>> ReadOptions(text_key="body", max_size="2GB").on_error
    'stop'
    """

    text_key: str = "text"
    on_error: OnError = "stop"
    max_ratio: int = 1000
    max_size: int | str = "1TB"
    max_window: int | str = "128MiB"
    allow_binary: bool = False

    def __post_init__(self) -> None:
        if not isinstance(self.allow_binary, bool):
            raise SettingsError(f"allow_binary must be True or False, not {self.allow_binary!r}")
        self._native()

    def _native(self) -> _core.Reading:
        try:
            return _core.Reading(
                text_key=self.text_key,
                on_error=self.on_error,
                max_ratio=self.max_ratio,
                max_size=size_of(self.max_size, "max_size"),
                max_window=size_of(self.max_window, "max_window"),
            )
        except (TypeError, OverflowError) as error:
            raise SettingsError(
                f"text_key is a string, the limits are whole numbers below 2^64: {error}"
            ) from None
