"""Resolve a source (paths, globs, addresses, data sets, iterables) into the corpus it names."""

import glob
import os
import re
import warnings
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import chain, islice
from pathlib import Path

from merganser.corpus.addresses import address
from merganser.corpus.binary import refuse, without_binary
from merganser.corpus.named_datasets import Texts, named
from merganser.corpus.read_options import ReadOptions
from merganser.corpus.remote import RemoteFile, find
from merganser.corpus.skipped import Skips
from merganser.corpus.tables import Dataset, Document, Parquet, is_dataset
from merganser.errors import CorpusError, MerganserWarning, SettingsError, TokensError
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

#: What commands take where nothing is named: the first comes over the network once, the second is everywhere.
DEFAULT, OFFLINE = "frankenstein", "python-stdlib"

#: Documents that say where they come from.
Table = Parquet | Dataset | Texts

_COUNTS = (".counts", ".counts.tsv")
_PACKED_COUNTS = tuple(f".counts.tsv.{packed}" for packed in ("gz", "zst", "xz", "bz2"))


@dataclass(frozen=True)
class Corpus:
    """A corpus that was found. Any of these may be empty."""

    files: tuple[Path, ...] = ()
    counts: tuple[Path | RemoteFile, ...] = ()
    stdin: bool = False
    streams: tuple[RemoteFile, ...] = ()
    documents: Iterable[list[Document]] | None = None
    reading: ReadOptions = field(default_factory=ReadOptions)
    #: What had to be skipped so far.
    skips: Skips = field(default_factory=Skips, compare=False)

    @property
    def has_text(self) -> bool:
        return bool(self.files) or self.stdin or bool(self.streams) or self.documents is not None

    @property
    def is_known(self) -> bool:
        """Whether the same text can be had again, and known for it."""
        return not self.stdin and (self.documents is None or isinstance(self.documents, Tables))

    @property
    def origins(self) -> list[str]:
        """What tells the streams and documents from others, as far as they say."""
        tables = self.documents.tables if isinstance(self.documents, Tables) else ()
        return [part.origin for part in (*self.streams, *tables)]

    @property
    def size(self) -> int | None:
        """How many bytes the files and streams have, as they are stored; None if one does not say."""
        sizes = [stream.size for stream in self.streams]
        if self.stdin or None in sizes:
            return None
        return sum(map(stored_size, self.files)) + sum(size or 0 for size in sizes)

    def after(self, parts: int) -> "Corpus":
        """The same without its first parts: files, standard input, streams, documents.

        The documents that are left out are gone through.
        """
        files = self.files[parts:]
        parts = max(parts - len(self.files), 0)
        stdin = self.stdin and parts == 0
        parts = max(parts - self.stdin, 0)
        streams = self.streams[parts:]
        parts = max(parts - len(self.streams), 0)
        documents = None if self.documents is None else _without(self.documents, parts)
        return replace(self, files=files, stdin=stdin, streams=streams, documents=documents)


@dataclass
class Position:
    """How many bytes of tables were read, as they are stored; None before the first."""

    reached: int | None = None


@dataclass(frozen=True)
class Tables:
    """The documents of several tables, one after the other."""

    tables: tuple[Table, ...]
    skips: Skips
    position: Position = field(default_factory=Position, compare=False)

    @property
    def size(self) -> int:
        """How many bytes the tables have, as they are stored; 0 if one does not say."""
        sizes = [table.size for table in self.tables]
        return sum(sizes) if all(sizes) else 0

    def __iter__(self) -> Iterator[list[Document]]:
        """The buffers in order; while one is worked on, `position` is where it begins."""
        before = 0
        for table in self.tables:
            rows = 0
            for buffer in table.buffers(self.skips):
                self.position.reached = before + table.size * min(rows, table.length) // max(table.length, 1)
                rows += len(buffer)
                yield buffer
            before += table.size
        self.position.reached = before


def resolve(source: Source, buffer_size: int, reading: ReadOptions | None = None) -> Corpus:
    """Finds the corpus. Files are read only as far as it takes to tell text from binary."""
    reading = reading or ReadOptions()
    return replace(_resolve(source, buffer_size, reading), reading=reading)


def is_read_once(source: Source) -> bool:
    """Return whether a source is used up after one pass: an iterator, or standard input.

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
    """The corpus that is taken where none is named; without a network the other one, with a warning."""
    try:
        resolve(DEFAULT, 1)
    except CorpusError as error:
        message = f"{DEFAULT} cannot be had, so {OFFLINE} is taken in its place: {error}"
        warnings.warn(message, MerganserWarning, stacklevel=2)
        return OFFLINE
    return DEFAULT


def _resolve(source: Source, buffer_size: int, reading: ReadOptions) -> Corpus:
    if buffer_size < 1:
        raise SettingsError(f"buffer_size must be at least 1, not {buffer_size}")
    if isinstance(source, str | os.PathLike):
        try:
            return _at([os.fspath(source)], buffer_size, reading)
        except NoSuchPath as error:
            if not isinstance(source, str) or not re.search(r"\s", source):
                raise
            raise CorpusError(f"{error}; if it is a document, pass it in a list: [text]") from None
    if isinstance(source, bytes):
        raise CorpusError("a corpus is a path or an iterable of documents; wrap a single text: [text]")
    if is_dataset(source):
        skips = Skips()
        return Corpus(documents=Tables((Dataset(source, reading, buffer_size),), skips), skips=skips)
    try:
        items: Iterator[object] = iter(source)
    except TypeError:
        kind = type(source).__name__
        raise CorpusError(f"a corpus is a path or an iterable of paths or documents, not {kind}") from None
    first = next(items, None)
    if first is None:
        raise CorpusError("the corpus is empty: there is nothing in the iterable")
    if isinstance(first, str) and _may_be_path(first) and (Path(first).is_file() or address(first)):
        what = "there is a file of that name" if Path(first).is_file() else "it looks like an address"
        message = f"{first!r} is taken as a text, but {what}: for files, pass Path objects"
        warnings.warn(message, MerganserWarning, stacklevel=4)
    items = chain([first], items)
    if isinstance(first, os.PathLike):
        return _at([_path(item) for item in items], buffer_size, reading)
    return Corpus(documents=_buffers(items, buffer_size))


def _may_be_path(text: str) -> bool:
    """Whether a name can be so long: systems allow 255 bytes, and fail where they are asked for more."""
    return len(text.encode("utf-8", "replace")) < 256


def _path(item: object) -> str:
    if not isinstance(item, os.PathLike):
        raise CorpusError(f"paths and documents do not mix in one iterable: {item!r} is not a Path")
    return str(os.fspath(item))


def _buffers(documents: Iterator[object], size: int) -> Iterator[list[Document]]:
    while buffer := list(islice(documents, size)):
        yield buffer  # type: ignore[misc]  # the core checks each one's type as it borrows it


def _without(buffers: Iterable[list[Document]], documents: int) -> Iterator[list[Document]]:
    for buffer in buffers:
        rest = buffer[documents:]
        documents -= len(buffer) - len(rest)
        if rest:
            yield rest
    if documents:
        raise TokensError(
            f"the corpus has {documents:,} documents less than were encoded when it was interrupted; "
            "give the same corpus again, or start afresh with overwrite=True"
        )


def _at(names: list[str], rows: int, reading: ReadOptions) -> Corpus:
    files: list[Path] = []
    counts: list[Path | RemoteFile] = []
    streams: list[RemoteFile] = []
    tables: list[Table] = []
    skips = Skips()
    for part in chain.from_iterable(_parts(name, rows, reading) for name in names if name != STDIN):
        if isinstance(part, Table):
            tables.append(part)
        elif str(part).endswith(".parquet"):
            tables.append(Parquet(part, reading, rows))
        elif str(part).endswith(_COUNTS):
            counts.append(part)
        elif str(part).endswith(_PACKED_COUNTS):
            raise CorpusError(f"{part} holds counts that are compressed; unpack it first")
        elif isinstance(part, RemoteFile):
            streams.append(part)
        else:
            files.append(part)
    if any(isinstance(table, Parquet) for table in tables):
        # Found out now rather than after an hour of counting.
        imported("pyarrow.parquet", "data", "reading Parquet files")
    return Corpus(
        files=tuple(files),
        counts=tuple(counts),
        stdin=STDIN in names,
        streams=tuple(streams),
        documents=Tables(tuple(tables), skips) if tables else None,
        skips=skips,
    )


def _parts(name: str, rows: int, reading: ReadOptions) -> Iterable[Path | RemoteFile | Table]:
    """What goes by a name, in order."""
    if found := address(name):
        return find(found)
    try:
        files = _files(name, reading)
    except OSError as error:
        # As when a text is given where a path is meant.
        raise CorpusError(
            f"{_shown(name)} is not a path: {error.strerror}; if it is a document, pass it in a list: [text]"
        ) from error
    if files is not None:
        return files
    if data_set := named(name, reading, rows):
        return data_set if isinstance(data_set, list) else [data_set]
    if glob.has_magic(name):
        raise NoSuchPath(f"no file matches {_shown(name)}")
    raise NoSuchPath(f"there is no file or folder {_shown(name)}; check the path")


class NoSuchPath(CorpusError):
    """Nothing goes by this name."""


def _shown(name: str) -> str:
    line = re.sub(r"\s+", " ", name)
    return line if len(line) <= 100 else f"{line[:100]}…"


def _files(name: str, reading: ReadOptions) -> list[Path] | None:
    """The files that a path or a glob stands for, without binary ones; None where it stands for nothing."""
    path = Path(name)
    if path.is_dir():
        files = sorted(files_below(path))
        if not files:
            raise CorpusError(f"there are no files in the folder {name}")
        return _text_files(files, f"below {name}", reading)
    if path.exists():
        return [] if not _is_data(path) and refuse(path, reading) else [path]
    if glob.has_magic(name):
        found = sorted(Path(match) for match in glob.iglob(name, recursive=True) if Path(match).is_file())
        return _text_files(found, f"that match {name}", reading) if found else None
    return None


def _text_files(files: list[Path], found: str, reading: ReadOptions) -> list[Path]:
    """All but binary files, unless they are of a binary format that can be read."""
    data = {file for file in files if _is_data(file)}
    text = [file for file in files if file not in data]
    kept = data.union(without_binary(text, found, reading) if text else ())
    return [file for file in files if file in kept]


def _is_data(file: Path) -> bool:
    return file.name.endswith((".parquet", *_COUNTS, *_PACKED_COUNTS))
