"""Corpus: what the caller points at becomes files, counts files, a stream or documents.

| given                       | means                                                                       |
|-----------------------------|-----------------------------------------------------------------------------|
| a `str` or `Path`           | a file; a folder (all files below it, sorted, hidden ones skipped); a glob; |
|                             | `-`, standard input; `python-stdlib`, the sources of the running            |
|                             | interpreter's own library. A file or folder of that name comes first.       |
| an iterable of `Path`       | each of them as above                                                       |
| an iterable of `str`/`bytes`| documents, pulled `buffer_size` at a time                                   |

A file whose name ends in `.counts` is taken as counts that were saved, not as text. Other files hold JSON,
CSV or text by their names, compressed or not: `merganser.reading` has the table.
"""

import glob
import os
import sys
import sysconfig
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from itertools import chain, islice
from pathlib import Path

from merganser.errors import CorpusError, MerganserWarning, SettingsError, TokensError
from merganser.reading import Reading, Skips

Document = str | bytes
Source = str | os.PathLike[str] | Iterable[os.PathLike[str]] | Iterable[Document]

STDIN = "-"
PYTHON_STDLIB = "python-stdlib"

#: Folders of the standard library that are left out: packages that are not part of it, and the tests, which
#: some distributions do not ship and which hold files that are broken on purpose.
_NOT_STDLIB = {"site-packages", "dist-packages", "__pycache__", "test", "tests", "idle_test"}


@dataclass(frozen=True)
class Corpus:
    """A corpus that was found. Any of these may be empty."""

    files: tuple[Path, ...] = ()
    counts: tuple[Path, ...] = ()
    stdin: bool = False
    documents: Iterable[list[Document]] | None = None
    reading: Reading = field(default_factory=Reading)
    #: What engines had to skip so far.
    skips: Skips = field(default_factory=Skips, compare=False)

    @property
    def has_text(self) -> bool:
        return bool(self.files) or self.stdin or self.documents is not None

    def after(self, parts: int) -> "Corpus":
        """The same without its first parts: files, the stream, documents. The iterable is gone through."""
        documents = None if self.documents is None else _without(self.documents, parts)
        return replace(
            self, files=self.files[parts:], stdin=self.stdin and parts <= len(self.files), documents=documents
        )


def resolve(source: Source, buffer_size: int, reading: Reading | None = None) -> Corpus:
    """Finds the corpus; nothing is read but the first item of an iterable."""
    return replace(_resolve(source, buffer_size), reading=reading or Reading())


def _resolve(source: Source, buffer_size: int) -> Corpus:
    if buffer_size < 1:
        raise SettingsError(f"buffer_size must be at least 1, not {buffer_size}")
    if isinstance(source, str | os.PathLike):
        return _at([Path(source)])
    if isinstance(source, bytes):
        raise CorpusError("a corpus is a path or an iterable of documents; wrap a single text: [text]")
    try:
        items: Iterator[object] = iter(source)
    except TypeError:
        kind = type(source).__name__
        raise CorpusError(f"a corpus is a path or an iterable of paths or documents, not {kind}") from None
    first = next(items, None)
    if first is None:
        raise CorpusError("the corpus is empty: there is nothing in the iterable")
    if isinstance(first, str) and len(first) < 256 and Path(first).is_file():
        message = (
            f"{first!r} is taken as a text, but there is a file of that name: for files, pass Path objects"
        )
        warnings.warn(message, MerganserWarning, stacklevel=4)
    items = chain([first], items)
    if isinstance(first, os.PathLike):
        return _at([_path(item) for item in items])
    return Corpus(documents=_buffers(items, buffer_size))


def _path(item: object) -> Path:
    if not isinstance(item, os.PathLike):
        raise CorpusError(f"paths and documents do not mix in one iterable: {item!r} is not a Path")
    return Path(item)


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
            "give the same corpus again, or start afresh with overwrite"
        )


def _at(paths: list[Path]) -> Corpus:
    found = [file for path in paths for file in _files(path)]
    return Corpus(
        files=tuple(file for file in found if file.suffix != ".counts" and str(file) != STDIN),
        counts=tuple(file for file in found if file.suffix == ".counts"),
        stdin=any(str(file) == STDIN for file in found),
    )


def _files(path: Path) -> list[Path]:
    name = str(path)
    if name == STDIN:
        return [path]
    try:
        return _existing(path, name)
    except OSError as error:
        # As when a text is given where a path is meant.
        shown = name if len(name) < 100 else f"{name[:100]}…"
        raise CorpusError(
            f"{shown} is not a path: {error.strerror}; a text goes in a list: [text]"
        ) from error


def _existing(path: Path, name: str) -> list[Path]:
    if path.is_dir():
        files = sorted(_below(path))
        if not files:
            raise CorpusError(f"there are no files in the folder {name}")
        return files
    if path.exists():
        return [path]
    if name == PYTHON_STDLIB:
        return python_stdlib()
    if glob.has_magic(name):
        files = sorted(Path(match) for match in glob.iglob(name, recursive=True) if Path(match).is_file())
        if not files:
            raise CorpusError(f"no file matches {name}")
        return files
    raise CorpusError(f"there is no file or folder {name}; check the path")


def _below(folder: Path) -> Iterator[Path]:
    def fail(error: OSError) -> None:
        raise CorpusError(f"cannot read the folder {error.filename}: {error.strerror}") from error

    for parent, folders, files in os.walk(folder, onerror=fail):
        folders[:] = [name for name in folders if not name.startswith(".")]
        for name in files:
            file = Path(parent, name)
            if not name.startswith(".") and file.is_file():
                yield file


def python_stdlib() -> list[Path]:
    """The sources of the interpreter's own library, `pydoc_data` with its topics among them."""
    library = Path(sysconfig.get_path("stdlib"))
    files = [
        file
        for file in _below(library)
        if file.suffix == ".py" and not _NOT_STDLIB & set(file.relative_to(library).parts)
    ]
    if not files:
        raise CorpusError(f"{sys.executable} has no library sources in {library}; name another corpus")
    return sorted(files)
