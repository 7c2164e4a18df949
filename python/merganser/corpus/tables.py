"""Read the text column of Parquet files and Hugging Face datasets as buffers of documents.

Each row is a document. Only the text column is read, about 16 MB at a time, and its bytes go to the core
without becoming Python strings. Rows without text and corrupt files raise an error or are skipped and
reported, depending on `ReadOptions.on_error`.
"""

import os
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from merganser.corpus.addresses import reason
from merganser.corpus.read_options import ReadOptions
from merganser.corpus.remote import CHUNK, ConnectionLost, RemoteFile
from merganser.corpus.skipped import Skips
from merganser.errors import CorpusError, WriteError
from merganser.extras import imported
from merganser.files import stored_size

Document = str | bytes

#: The target size of a buffer, in bytes of text.
_BUFFER = 1 << 24


@dataclass(frozen=True)
class RowGroups:
    """Consecutive row groups of a Parquet file."""

    first: int
    end: int
    #: The number of rows before them.
    rows_before: int
    #: Their size in the file, in bytes.
    size: int


@dataclass
class ParquetFile:
    """A Parquet file, or some of its row groups; located but not read."""

    file: Path | RemoteFile
    reading: ReadOptions
    #: The maximum number of rows in a buffer.
    rows: int
    #: The row groups to read; all by default.
    groups: RowGroups | None = None
    #: The number of rows in the file; 0 until it is opened.
    length: int = field(default=0, init=False, compare=False)

    @property
    def origin(self) -> str:
        """A string that identifies this version of the file and the column that is read."""
        if isinstance(self.file, RemoteFile):
            return f"{self.file.origin} {self.reading.text_key}"
        try:
            status = self.file.stat()
        except OSError as error:
            raise CorpusError(f"cannot read {self.file}: {error.strerror}") from error
        return f"{self.file.absolute()} {status.st_size} {status.st_mtime_ns} {self.reading.text_key}"

    def divided(self, size: int) -> "list[ParquetFile]":
        """Return parts of about `size` bytes, of whole row groups; only the end of the file is read.

        A file that cannot be read is returned as it is: reading it reports the error.
        """
        parquet = imported("pyarrow.parquet", "data", f"reading {self.file}")
        if isinstance(self.file, RemoteFile) and not (self.file.size and self.file.is_seekable()):
            return [self]
        try:
            with ExitStack() as stack:
                metadata = parquet.ParquetFile(self._source(stack)).metadata
                groups = [metadata.row_group(group) for group in range(metadata.num_row_groups)]
                counts = [group.num_rows for group in groups]
                # Uncompressed, all columns; scaled to the size of the file.
                sizes = [group.total_byte_size for group in groups]
        except Exception:  # pyarrow raises the errors of several libraries
            return [self]
        scale = self.size / max(sum(sizes), 1)
        parts: list[ParquetFile] = []
        first, rows_before, rows, stored = 0, 0, 0, 0.0
        for group, (count, part) in enumerate(zip(counts, sizes, strict=True)):
            if stored and stored + part * scale > size:
                parts.append(replace(self, groups=RowGroups(first, group, rows_before, round(stored))))
                first, rows_before, rows, stored = group, rows_before + rows, 0, 0.0
            rows += count
            stored += part * scale
        last = RowGroups(first, len(groups), rows_before, round(stored))
        return [*parts, replace(self, groups=last)] if parts else [self]

    @property
    def size(self) -> int:
        """The size of the file or its row groups in bytes; 0 if unknown."""
        if self.groups is not None:
            return self.groups.size
        return self.file.size or 0 if isinstance(self.file, RemoteFile) else stored_size(self.file)

    def buffers(self, skips: Skips) -> Iterator[list[Document]]:
        rows_before = self.groups.rows_before if self.groups else 0
        column = _TextColumn(str(self.file), self.reading, skips, rows_before)
        try:
            with ExitStack() as stack:
                yield from self._buffers(column, stack)
        except (ConnectionLost, WriteError, ImportError):
            raise
        except CorpusError as error:
            column.report_corrupt(error)
        except Exception as error:
            corrupt = CorpusError(
                f"cannot read {self.file}: {reason(error)}; check that it is a complete Parquet file"
            )
            corrupt.__cause__ = error
            column.report_corrupt(corrupt)

    def _buffers(self, column: "_TextColumn", stack: ExitStack) -> Iterator[list[Document]]:
        parquet = imported("pyarrow.parquet", "data", f"reading {self.file}")
        key = self.reading.text_key
        # A buffer size makes pyarrow read a row group in parts instead of as a whole.
        source = self._source(stack)
        before = _status(source)
        opened = stack.enter_context(parquet.ParquetFile(source, buffer_size=CHUNK))
        self.length = opened.metadata.num_rows
        schema = opened.schema_arrow
        _check_column(schema.names, key, str(self.file))
        _check_text(schema.field(key).type, key, str(self.file))
        average = _average_size(opened.metadata)
        rows = max(1, min(self.rows, int(_BUFFER / max(average, 1))))
        groups = range(self.groups.first, self.groups.end) if self.groups else None
        for batch in opened.iter_batches(rows, groups, columns=[key], use_threads=False):
            yield column.texts(batch.column(0))
        if _status(source) != before:
            raise CorpusError(
                f"{self.file} changed while it was read; wait until nothing writes to it and run it again, "
                "or keep what was read with on_error='skip'"
            )

    def _source(self, stack: ExitStack) -> Any:
        if not isinstance(self.file, RemoteFile):
            return stack.enter_context(self.file.open("rb"))
        if self.file.size is not None and self.file.is_seekable():
            return stack.enter_context(self.file.open(sequential=False))
        return stack.enter_context(stack.enter_context(self.file.downloaded()).open("rb"))


def _status(file: Any) -> tuple[int, int] | None:
    """Return the size and time of an open file; None for one that is not local."""
    try:
        status = os.fstat(file.fileno())
    except (AttributeError, OSError):
        return None
    return status.st_size, status.st_mtime_ns


def _average_size(metadata: Any) -> float:
    """Estimate the bytes per row, with all columns; too low where they are dictionary-encoded.

    Not the bytes of the text alone: pyarrow aborts the process if the metadata of a column is corrupt.
    """
    size = sum(metadata.row_group(group).total_byte_size for group in range(metadata.num_row_groups))
    return float(size / max(metadata.num_rows, 1))


@dataclass(frozen=True)
class HuggingFaceDataset:
    """One split of a Hugging Face dataset, in memory, on disk or streamed."""

    dataset: Any
    reading: ReadOptions
    rows: int
    name: str = "the dataset"

    @property
    def origin(self) -> str:
        """A string that identifies the dataset, if it has a fingerprint, and the column that is read."""
        return f"datasets {getattr(self.dataset, '_fingerprint', '')} {self.reading.text_key}"

    @property
    def size(self) -> int:
        """The size in memory or on disk, in bytes; 0 for a stream."""
        return int(self.dataset.data.nbytes) if _is_mapped(self.dataset) else 0

    @property
    def length(self) -> int:
        return len(self.dataset) if _is_mapped(self.dataset) else 0

    def buffers(self, skips: Skips) -> Iterator[list[Document]]:
        column = _TextColumn(self.name, self.reading, skips)
        key = self.reading.text_key
        if self.dataset.column_names is not None:  # a stream may not know its columns
            _check_column(self.dataset.column_names, key, self.name)
        if _is_mapped(self.dataset):
            yield from self._arrow_buffers(column)
        else:
            for batch in self.dataset.iter(self.rows):
                _check_column(list(batch), key, self.name)
                yield column.without_nulls(batch[key])

    def _arrow_buffers(self, column: "_TextColumn") -> Iterator[list[Document]]:
        key = self.reading.text_key
        dataset = self.dataset.select_columns([key]).with_format("arrow")
        start, rows = 0, min(256, self.rows)
        while start < len(dataset):
            values = dataset[start : start + rows].column(key)
            _check_text(values.type, key, self.name)
            yield column.texts(values)
            start += rows
            rows = max(1, min(self.rows, rows * _BUFFER // max(values.nbytes, 1)))


def is_dataset(source: object) -> bool:
    """Return whether a source is a Hugging Face dataset, without importing `datasets`."""
    datasets = sys.modules.get("datasets")
    if datasets is None:
        return False
    if isinstance(source, datasets.DatasetDict | datasets.IterableDatasetDict):
        splits = ", ".join(map(repr, source))
        raise CorpusError(
            f"the dataset has several splits, {splits}; pass one: dataset[{next(iter(source), '')!r}]"
        )
    return isinstance(source, datasets.Dataset | datasets.IterableDataset)


def _is_mapped(dataset: Any) -> bool:
    """Return whether the Arrow data can be read directly: not a stream, and without a transform."""
    mapped: bool = isinstance(dataset, sys.modules["datasets"].Dataset) and dataset.format["type"] != "custom"
    return mapped


class _TextColumn:
    """Extracts the texts of a column, counts its rows, and reports what is skipped."""

    def __init__(self, name: str, reading: ReadOptions, skips: Skips, rows_before: int = 0) -> None:
        self._name = name
        self._reading = reading
        self._skips = skips
        self._rows = rows_before

    def texts(self, column: Any) -> list[Document]:
        """Return the texts of an Arrow column."""
        if column.null_count:
            return self.without_nulls(column.to_pylist())
        self._rows += len(column)
        pyarrow = imported("pyarrow", "data", f"reading {self._name}")
        if pyarrow.types.is_dictionary(column.type):
            column = column.cast(column.type.value_type)
        texts: list[Document] = column.cast(pyarrow.large_binary()).to_pylist()
        return texts

    def without_nulls(self, texts: list[Any]) -> list[Document]:
        kept = [text for text in texts if text is not None]
        if len(kept) < len(texts):
            row = self._rows + texts.index(None) + 1
            message = f"{self._name}, row {row:,}: the column {self._reading.text_key!r} is null"
            if self._reading.on_error == "stop":
                raise CorpusError(f"{message}; fix the row, or skip such rows with on_error='skip'")
            self._skips.add(len(texts) - len(kept), 0, [message])
        self._rows += len(texts)
        return kept

    def report_corrupt(self, error: CorpusError) -> None:
        """Raise the error, or skip the rest of the file."""
        if self._reading.on_error == "stop":
            raise error
        self._skips.add(0, 1, [f"{error} (after row {self._rows:,})"])


def _check_column(names: list[str], key: str, name: str) -> None:
    if key not in names:
        columns = ", ".join(map(repr, names)) or "none"
        raise CorpusError(f"{name} has no column {key!r}; set text_key to one of its columns: {columns}")


def _check_text(kind: Any, key: str, name: str) -> None:
    types = imported("pyarrow.types", "data", f"reading {name}")
    value = kind.value_type if types.is_dictionary(kind) else kind
    is_text = (types.is_string, types.is_large_string, types.is_binary, types.is_large_binary)
    views = (getattr(types, "is_string_view", None), getattr(types, "is_binary_view", None))
    if not any(check and check(value) for check in (*is_text, *views)):
        raise CorpusError(
            f"the column {key!r} of {name} has the type {kind}, not text; set text_key to another column"
        )
