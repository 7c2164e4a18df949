"""Resolve a source (paths, globs, URLs, datasets, iterables) into the corpus it names."""

import errno
import glob
import os
import re
import warnings
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import chain, islice
from pathlib import Path

from merganser.corpus.addresses import as_url
from merganser.corpus.binary import is_skipped_binary, without_binary
from merganser.corpus.named_datasets import NAMES, Texts, named_dataset
from merganser.corpus.read_options import ReadOptions
from merganser.corpus.remote import RemoteFile, find
from merganser.corpus.skipped import Skips
from merganser.corpus.tables import Document, HuggingFaceDataset, ParquetFile, is_dataset
from merganser.errors import CorpusError, MerganserWarning, SettingsError, TokensError, did_you_mean
from merganser.extras import imported
from merganser.files import files_below, stored_size

Source = (
    str
    | os.PathLike[str]
    | Iterable[os.PathLike[str]]
    | Iterable[Document]
    | Iterable[Mapping[str, object]]  # a Hugging Face dataset
)

STDIN = "-"

#: The corpus that commands use by default, and the one they use if it cannot be downloaded.
DEFAULT, OFFLINE = "frankenstein", "python-stdlib"

#: Documents with a known origin.
Table = ParquetFile | HuggingFaceDataset | Texts

_COUNTS = (".counts", ".counts.tsv")
_COMPRESSED_COUNTS = tuple(f".counts.tsv.{suffix}" for suffix in ("gz", "zst", "xz", "bz2"))


@dataclass(frozen=True)
class Corpus:
    """The parts of a resolved corpus, in the order in which they are read. Any of them may be empty."""

    files: tuple[Path, ...] = ()
    counts: tuple[Path | RemoteFile, ...] = ()
    stdin: bool = False
    streams: tuple[RemoteFile, ...] = ()
    documents: Iterable[list[Document]] | None = None
    reading: ReadOptions = field(default_factory=ReadOptions)
    #: The input skipped so far.
    skips: Skips = field(default_factory=Skips, compare=False)

    @property
    def has_text(self) -> bool:
        return bool(self.files) or self.stdin or bool(self.streams) or self.documents is not None

    @property
    def is_known(self) -> bool:
        """Whether a later run can recognize and read the same text again."""
        return not self.stdin and (self.documents is None or isinstance(self.documents, TableDocuments))

    @property
    def origins(self) -> list[str]:
        """Strings that identify the streams and tables."""
        tables = self.documents.tables if isinstance(self.documents, TableDocuments) else ()
        return [part.origin for part in (*self.streams, *tables)]

    @property
    def size(self) -> int | None:
        """The stored size of the files and streams in bytes; None if one of them is unknown."""
        sizes = [stream.size for stream in self.streams]
        if self.stdin or None in sizes:
            return None
        return sum(map(stored_size, self.files)) + sum(size or 0 for size in sizes)

    @property
    def parts(self) -> int | None:
        """The number of inputs, as `after` counts them; None if documents of unknown number follow."""
        if self.documents is not None:
            return None
        return len(self.files) + self.stdin + len(self.streams)

    def after(self, parts: int) -> "Corpus":
        """Return the corpus without its first `parts`: files, then standard input, streams and documents.

        Documents are skipped by iterating over them.
        """
        files = self.files[parts:]
        parts = max(parts - len(self.files), 0)
        stdin = self.stdin and parts == 0
        parts = max(parts - self.stdin, 0)
        streams = self.streams[parts:]
        parts = max(parts - len(self.streams), 0)
        documents = None if self.documents is None else _skip_documents(self.documents, parts)
        return replace(self, files=files, stdin=stdin, streams=streams, documents=documents)


@dataclass
class TableProgress:
    """The stored bytes of the tables that were read; None before the first buffer."""

    bytes_read: int | None = None


@dataclass(frozen=True)
class TableDocuments:
    """The documents of several tables, in order."""

    tables: tuple[Table, ...]
    skips: Skips
    progress: TableProgress = field(default_factory=TableProgress, compare=False)

    @property
    def size(self) -> int:
        """The stored size of the tables in bytes; 0 if one of them is unknown."""
        sizes = [table.size for table in self.tables]
        return sum(sizes) if all(sizes) else 0

    def __iter__(self) -> Iterator[list[Document]]:
        """Yield the buffers in order; while one is processed, `progress` is where it starts."""
        before = 0
        for table in self.tables:
            rows = 0
            for buffer in table.buffers(self.skips):
                read = table.size * min(rows, table.length) // max(table.length, 1)
                self.progress.bytes_read = before + read
                rows += len(buffer)
                yield buffer
            before += table.size
        self.progress.bytes_read = before


def resolve(source: Source, buffer_size: int, reading: ReadOptions | None = None) -> Corpus:
    """Find the parts of a corpus, reading files only as far as needed to detect binary ones."""
    reading = reading or ReadOptions()
    return replace(_resolve(source, buffer_size, reading), reading=reading)


def is_read_once(source: Source) -> bool:
    """Return whether a source is exhausted after one pass: an iterator, or standard input.

    Strings in an iterable are documents, so only paths in it can name standard input.

    >>> is_read_once("-"), is_read_once([Path("a.txt"), Path("-")]), is_read_once(["-", "a document"])
    (True, True, False)
    """
    if isinstance(source, str | os.PathLike):
        return os.fspath(source) == STDIN
    if isinstance(source, Collection) and isinstance(next(iter(source), None), os.PathLike):
        return any(isinstance(item, os.PathLike) and os.fspath(item) == STDIN for item in source)
    return isinstance(source, Iterator)


def default() -> str:
    """Return the name of the default corpus; without a network, warn and return the offline one."""
    try:
        resolve(DEFAULT, 1)
    except CorpusError as error:
        message = f"using {OFFLINE}, because {DEFAULT} is not available: {error}"
        warnings.warn(message, MerganserWarning, stacklevel=2)
        return OFFLINE
    return DEFAULT


def _resolve(source: Source, buffer_size: int, reading: ReadOptions) -> Corpus:
    if buffer_size < 1:
        raise SettingsError(f"buffer_size must be at least 1, got {buffer_size}")
    if isinstance(source, str | os.PathLike):
        try:
            return _resolve_names([os.fspath(source)], buffer_size, reading)
        except NoSuchPath as error:
            if not isinstance(source, str) or not re.search(r"\s", source):
                raise
            raise CorpusError(f"{error}; to pass a text instead, wrap it in a list: [text]") from None
    if isinstance(source, bytes):
        raise CorpusError(
            "a corpus must be a path or an iterable, got bytes; to pass a text, wrap it in a list: [text]"
        )
    if is_dataset(source):
        skips = Skips()
        table = HuggingFaceDataset(source, reading, buffer_size)
        return Corpus(documents=TableDocuments((table,), skips), skips=skips)
    try:
        items: Iterator[object] = iter(source)
    except TypeError:
        kind = type(source).__name__
        raise CorpusError(
            f"a corpus must be a path or an iterable of paths or documents, got {kind}"
        ) from None
    first = next(items, None)
    if first is None:
        raise CorpusError("the corpus is empty; pass at least one path or document")
    if isinstance(first, str) and _may_be_path(first) and (Path(first).is_file() or as_url(first)):
        what = "a file of that name exists" if Path(first).is_file() else "it looks like a URL"
        message = f"{first!r} is read as a text, although {what}; to read files, pass Path objects"
        warnings.warn(message, MerganserWarning, stacklevel=4)
    items = chain([first], items)
    if isinstance(first, os.PathLike):
        return _resolve_names([_path(item) for item in items], buffer_size, reading)
    return Corpus(documents=_buffers(items, buffer_size))


def _may_be_path(text: str) -> bool:
    """Return whether a text is short enough for a file name; `is_file` raises for longer ones."""
    return len(text.encode("utf-8", "replace")) < 256


def _path(item: object) -> str:
    if not isinstance(item, os.PathLike):
        raise CorpusError(f"cannot mix paths and documents in one iterable: {item!r} is not a Path")
    return str(os.fspath(item))


def _buffers(documents: Iterator[object], size: int) -> Iterator[list[Document]]:
    while buffer := list(islice(documents, size)):
        yield buffer  # type: ignore[misc]  # the core checks the type of each document


def _skip_documents(buffers: Iterable[list[Document]], documents: int) -> Iterator[list[Document]]:
    for buffer in buffers:
        rest = buffer[documents:]
        documents -= len(buffer) - len(rest)
        if rest:
            yield rest
    if documents:
        raise TokensError(
            f"the corpus has {documents:,} fewer documents than the interrupted run encoded; "
            "pass the same corpus, or start over with overwrite=True"
        )


def _resolve_names(names: list[str], rows: int, reading: ReadOptions) -> Corpus:
    files: list[Path] = []
    counts: list[Path | RemoteFile] = []
    streams: list[RemoteFile] = []
    tables: list[Table] = []
    skips = Skips()
    for part in chain.from_iterable(_resolve_name(name, rows, reading) for name in names if name != STDIN):
        if isinstance(part, Table):
            tables.append(part)
        elif str(part).endswith(".parquet"):
            tables.append(ParquetFile(part, reading, rows))
        elif str(part).endswith(_COUNTS):
            counts.append(part)
        elif str(part).endswith(_COMPRESSED_COUNTS):
            raise CorpusError(f"{part} is a compressed counts file; decompress it first")
        elif isinstance(part, RemoteFile):
            streams.append(part)
        else:
            files.append(part)
    if any(isinstance(table, ParquetFile) for table in tables):
        # Fail now rather than after an hour of counting.
        imported("pyarrow.parquet", "data", "reading Parquet files")
    return Corpus(
        files=tuple(files),
        counts=tuple(counts),
        stdin=STDIN in names,
        streams=tuple(streams),
        documents=TableDocuments(tuple(tables), skips) if tables else None,
        skips=skips,
    )


def _resolve_name(name: str, rows: int, reading: ReadOptions) -> Iterable[Path | RemoteFile | Table]:
    """Return what a path, glob, URL or dataset name refers to, in order."""
    if url := as_url(name):
        return find(url)
    try:
        files = _files(name, reading)
    except OSError as error:
        if error.errno != errno.ENAMETOOLONG:
            raise CorpusError(
                f"cannot read {_abbreviated(name)}: {error.strerror}; check its permissions"
            ) from error
        # A text was passed instead of a path.
        raise CorpusError(
            f"{_abbreviated(name)} is not a path: {error.strerror}; "
            "to pass a text instead, wrap it in a list: [text]"
        ) from error
    if files is not None:
        return files
    if dataset := named_dataset(name, reading, rows):
        return dataset if isinstance(dataset, list) else [dataset]
    if glob.has_magic(name):
        raise NoSuchPath(f"no file matches {_abbreviated(name)}; check the glob")
    near = did_you_mean(name, NAMES)
    raise NoSuchPath(f"there is no file or folder {_abbreviated(name)}; check the path{near}")


class NoSuchPath(CorpusError):
    """No file, folder or dataset has this name."""


def _abbreviated(name: str) -> str:
    line = re.sub(r"\s+", " ", name)
    return line if len(line) <= 100 else f"{line[:100]}…"


def _files(name: str, reading: ReadOptions) -> list[Path] | None:
    """Return the files of a path or glob, without binary ones; None if nothing matches."""
    path = Path(name)
    if path.is_dir():
        files = sorted(files_below(path))
        if not files:
            raise CorpusError(f"the folder {name} contains no files; check the path")
        return _text_files(files, f"below {name}", reading)
    if path.exists():
        return [] if not _is_data(path) and is_skipped_binary(path, reading) else [path]
    if glob.has_magic(name):
        matches = sorted(Path(match) for match in glob.iglob(name, recursive=True) if Path(match).is_file())
        return _text_files(matches, f"that match {name}", reading) if matches else None
    return None


def _text_files(files: list[Path], found: str, reading: ReadOptions) -> list[Path]:
    """Return the files without binary ones, except for Parquet and counts files."""
    data = {file for file in files if _is_data(file)}
    text = [file for file in files if file not in data]
    kept = data.union(without_binary(text, found, reading) if text else ())
    return [file for file in files if file in kept]


def _is_data(file: Path) -> bool:
    return file.name.endswith((".parquet", *_COUNTS, *_COMPRESSED_COUNTS))
