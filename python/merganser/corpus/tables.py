"""Tables: the text column of Parquet files and of Hugging Face datasets, as buffers of documents.

Every row is a document. Only the column with the text is read, some 16 MB of it at a time, and its bytes go
to the core as they are: no Python `str` is made of them. A row without text, and a file that is damaged, stop
the work or are skipped and reported, as `ReadOptions.on_error` says.
"""

import sys
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from merganser.corpus.addresses import reason
from merganser.corpus.read_options import ReadOptions
from merganser.corpus.remote import CHUNK, Lost, RemoteFile
from merganser.corpus.skipped import Skips
from merganser.errors import CorpusError, WriteError
from merganser.extras import imported
from merganser.files import stored_size

Document = str | bytes

#: Bytes of text in a buffer, as a rule.
_BUFFER = 1 << 24


@dataclass
class Parquet:
    """A Parquet file, found but not read."""

    file: Path | RemoteFile
    reading: ReadOptions
    #: How many rows a buffer has at most.
    rows: int
    #: How many rows it has; 0 before it was opened.
    length: int = field(default=0, init=False, compare=False)

    @property
    def origin(self) -> str:
        """What tells this file from others, and from itself when it has changed."""
        if isinstance(self.file, RemoteFile):
            return f"{self.file.origin} {self.reading.text_key}"
        try:
            status = self.file.stat()
        except OSError as error:
            raise CorpusError(f"cannot read {self.file}: {error.strerror}") from error
        return f"{self.file.absolute()} {status.st_size} {status.st_mtime_ns} {self.reading.text_key}"

    @property
    def size(self) -> int:
        """How many bytes it has; 0 if unknown."""
        return self.file.size or 0 if isinstance(self.file, RemoteFile) else stored_size(self.file)

    def buffers(self, skips: Skips) -> Iterator[list[Document]]:
        report = _Report(str(self.file), self.reading, skips)
        try:
            with ExitStack() as stack:
                yield from self._buffers(report, stack)
        except (Lost, WriteError, ImportError):
            raise
        except CorpusError as error:
            report.broken(error)
        except Exception as error:
            broken = CorpusError(f"cannot read {self.file}: {reason(error)}; is it a whole Parquet file?")
            broken.__cause__ = error
            report.broken(broken)

    def _buffers(self, report: "_Report", stack: ExitStack) -> Iterator[list[Document]]:
        parquet = imported("pyarrow.parquet", "data", f"reading {self.file}")
        key = self.reading.text_key
        # With a buffer, a part of a row group is read at a time; without, all of it.
        opened = stack.enter_context(parquet.ParquetFile(self._source(stack), buffer_size=CHUNK))
        self.length = opened.metadata.num_rows
        schema = opened.schema_arrow
        _check_column(schema.names, key, str(self.file))
        _check_text(schema.field(key).type, key, str(self.file))
        average = _average_size(opened.metadata, key)
        rows = max(1, min(self.rows, int(_BUFFER / max(average, 1))))
        for batch in opened.iter_batches(rows, columns=[key], use_threads=False):
            yield report.texts(batch.column(0))

    def _source(self, stack: ExitStack) -> Any:
        if not isinstance(self.file, RemoteFile):
            return stack.enter_context(self.file.open("rb"))
        if self.file.size is not None and self.file.allows_jumps():
            return stack.enter_context(self.file.opened(in_order=False))
        return stack.enter_context(stack.enter_context(self.file.copied()).open("rb"))


def _average_size(metadata: Any, key: str) -> float:
    """Bytes of text in a row, roughly: a dictionary makes it look smaller than it is."""
    size = 0
    for group in range(metadata.num_row_groups):
        columns = metadata.row_group(group)
        for number in range(columns.num_columns):
            if columns.column(number).path_in_schema == key:
                size += columns.column(number).total_uncompressed_size
    return float(size / max(metadata.num_rows, 1))


@dataclass(frozen=True)
class Dataset:
    """A Hugging Face dataset: one split, in memory, on disk or streamed."""

    dataset: Any
    reading: ReadOptions
    rows: int
    name: str = "the dataset"

    @property
    def origin(self) -> str:
        """What tells this dataset from others, as far as it says."""
        return f"datasets {getattr(self.dataset, '_fingerprint', '')} {self.reading.text_key}"

    @property
    def size(self) -> int:
        """How many bytes it has in memory or on disk; 0 if it is a stream."""
        return int(self.dataset.data.nbytes) if _is_mapped(self.dataset) else 0

    @property
    def length(self) -> int:
        return len(self.dataset) if _is_mapped(self.dataset) else 0

    def buffers(self, skips: Skips) -> Iterator[list[Document]]:
        report = _Report(self.name, self.reading, skips)
        key = self.reading.text_key
        if self.dataset.column_names is not None:  # a stream need not know
            _check_column(self.dataset.column_names, key, self.name)
        if _is_mapped(self.dataset):
            yield from self._from_arrow(report)
        else:
            for batch in self.dataset.iter(self.rows):
                _check_column(list(batch), key, self.name)
                yield report.without_nulls(batch[key])

    def _from_arrow(self, report: "_Report") -> Iterator[list[Document]]:
        key = self.reading.text_key
        dataset = self.dataset.select_columns([key]).with_format("arrow")
        start, rows = 0, min(256, self.rows)
        while start < len(dataset):
            column = dataset[start : start + rows].column(key)
            _check_text(column.type, key, self.name)
            yield report.texts(column)
            start += rows
            rows = max(1, min(self.rows, rows * _BUFFER // max(column.nbytes, 1)))


def is_dataset(source: object) -> bool:
    """Whether this is a dataset of Hugging Face; `datasets` is not imported for it."""
    datasets = sys.modules.get("datasets")
    if datasets is None:
        return False
    if isinstance(source, datasets.DatasetDict | datasets.IterableDatasetDict):
        splits = ", ".join(map(repr, source))
        raise CorpusError(
            f"this dataset has the splits {splits}; pick one: dataset[{next(iter(source), '')!r}]"
        )
    return isinstance(source, datasets.Dataset | datasets.IterableDataset)


def _is_mapped(dataset: Any) -> bool:
    """Whether its rows can be had as they lie in memory: it is no stream, and nothing transforms them."""
    mapped: bool = isinstance(dataset, sys.modules["datasets"].Dataset) and dataset.format["type"] != "custom"
    return mapped


class _Report:
    """Takes the texts out of a column, keeps count of the rows, and reports what is skipped."""

    def __init__(self, name: str, reading: ReadOptions, skips: Skips) -> None:
        self._name = name
        self._reading = reading
        self._skips = skips
        self._rows = 0

    def texts(self, column: Any) -> list[Document]:
        """Those of a column of Arrow."""
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
            message = f"{self._name}, row {row:,}: there is no text in {self._reading.text_key!r}"
            if self._reading.on_error == "stop":
                raise CorpusError(f"{message}; mend it, or leave such rows out with on_error='skip'")
            self._skips.add(len(texts) - len(kept), 0, [message])
        self._rows += len(texts)
        return kept

    def broken(self, error: CorpusError) -> None:
        """The rest of the file cannot be read."""
        if self._reading.on_error == "stop":
            raise error
        self._skips.add(0, 1, [f"{error} (after row {self._rows:,})"])


def _check_column(names: list[str], key: str, name: str) -> None:
    if key not in names:
        columns = ", ".join(map(repr, names)) or "none"
        raise CorpusError(f"{name} has no column {key!r}; its columns are {columns}: name one as text_key")


def _check_text(kind: Any, key: str, name: str) -> None:
    types = imported("pyarrow.types", "data", f"reading {name}")
    value = kind.value_type if types.is_dictionary(kind) else kind
    is_text = (types.is_string, types.is_large_string, types.is_binary, types.is_large_binary)
    views = (getattr(types, "is_string_view", None), getattr(types, "is_binary_view", None))
    if not any(check and check(value) for check in (*is_text, *views)):
        raise CorpusError(f"the column {key!r} of {name} holds {kind}, not text: name another as text_key")
