"""How the files of a corpus are read.

The file name determines the format, and the first bytes determine the compression:

| file name                          | documents                                                             |
|------------------------------------|-----------------------------------------------------------------------|
| `.jsonl`, `.ndjson`                | one JSON value per line: a string, or an object with the text at      |
|                                    | `text_key`                                                            |
| `.json`                            | the same values in one array, or one after another                    |
| `.csv`, `.tsv`                     | a header line and records with the text in the column `text_key`      |
| any other                          | plain text                                                            |
| any of these with                  | decompressed while reading                                            |
| `.gz`, `.zst`, `.xz` or `.bz2`     |                                                                       |

A `text_key` with dots descends into nested objects: `a.b` is the key `b` of the object at the key `a`, or the
key `a.b` itself.
"""

from dataclasses import dataclass
from typing import Literal, TypedDict

from merganser import _core
from merganser.corpus.sizes import size_of
from merganser.errors import SettingsError

OnError = Literal["stop", "skip"]


class ReadKeywords(TypedDict, total=False):
    """The fields of `ReadOptions`, as keyword arguments of the functions that read a corpus."""

    text_key: str
    on_error: OnError
    max_ratio: int
    max_size: int | str
    max_window: int | str
    max_record: int | str | None
    allow_binary: bool


@dataclass(frozen=True)
class ReadOptions:
    """Options for reading the files of a corpus.

    Functions that read a corpus, such as `train`, `encode_corpus` and `compare`, accept each of these as a
    keyword argument.

    Parameters
    ----------
    text_key : str
        The JSON key or table column that holds the text. Dots descend into nested objects.
    on_error : {"stop", "skip"}
        Whether unreadable input raises an error or is skipped: the record, the file, or the rest of a corrupt
        file. Skipped input is counted and reported in a `MerganserWarning`.
    max_ratio : int
        The largest allowed ratio of decompressed to compressed size. Applies past 64 MB of text.
    max_size : int or str
        The largest allowed size of a decompressed file, in bytes or as a string such as "500GB".
    max_window : int or str
        The most memory that decompressing one file may take. `zstd --long=31` needs "2GiB".
    max_record : int or str, optional
        The longest record, or stretch of text without a safe cut, which must be in memory as a whole: by
        default a share of the memory budget, smaller for more threads and for encoding. A longer one is
        unreadable input.
    allow_binary : bool
        Read binary files instead of rejecting or skipping them.

    Raises
    ------
    SettingsError
        If a value is out of range.

    Examples
    --------
    >>> ReadOptions(text_key="body", max_size="2GB").on_error
    'stop'

    >>> import tempfile
    >>> from pathlib import Path
    >>> import merganser
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, "a.jsonl")
    ...     _ = file.write_text('{"body": "some text"}')
    ...     merganser.count(file, text_key="body").total
    2
    """

    text_key: str = "text"
    on_error: OnError = "stop"
    max_ratio: int = 1000
    max_size: int | str = "1TB"
    max_window: int | str = "128MiB"
    max_record: int | str | None = None
    allow_binary: bool = False

    def __post_init__(self) -> None:
        if not isinstance(self.allow_binary, bool):
            raise SettingsError(f"allow_binary must be True or False, got {self.allow_binary!r}")
        self._native()
        self.record_limit(0)

    def record_limit(self, default: int) -> int:
        """Return `max_record` in bytes, or `default` if it was not passed."""
        if self.max_record is None:
            return default
        size = size_of(self.max_record, "max_record")
        if not isinstance(size, int) or not 0 < size < 2**64:
            raise SettingsError(
                f"max_record must be at least 1 byte and below 2**64, got {self.max_record!r}"
            )
        return size

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
                f"text_key must be a string, and the limits must be integers below 2**64: {error}"
            ) from None
