"""Datasets that can be named as a corpus.

| name            | contents                                                                             |
|-----------------|--------------------------------------------------------------------------------------|
| `python-stdlib` | the standard library sources of the running interpreter                              |
| `frankenstein`  | Mary Shelley's novel, Project Gutenberg 84: one document, from "Letter 1" to the end |
| `wikitext2`     | the training split of raw WikiText-2: one document per line (needs `[hf]`)           |

A file or folder of the same name takes precedence. `frankenstein` and `wikitext2` are downloaded; without a
network, pass a local copy: `frankenstein=/path/to/pg84.txt` (as published, or without header and footer), or
`wikitext2=/path/to/wiki.train.raw` (or the Parquet file of the split).

`frankenstein` is cached with its checksum in `$MERGANSER_CACHE`, `$XDG_CACHE_HOME/merganser` or
`~/.cache/merganser`, whichever is set first. The `datasets` library caches `wikitext2`.
"""

import hashlib
import io
import os
import re
import sys
import sysconfig
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from merganser.corpus.addresses import reason
from merganser.corpus.read_options import ReadOptions
from merganser.corpus.skipped import Skips
from merganser.corpus.tables import Document, HuggingFaceDataset, ParquetFile
from merganser.errors import CorpusError
from merganser.extras import imported
from merganser.files import files_below, make_folder, written_whole

#: The names of all datasets.
NAMES = ("frankenstein", "wikitext2", "python-stdlib")
#: The names that may be followed by `=` and the path of a local copy.
OF_A_COPY = ("frankenstein", "wikitext2")

FRANKENSTEIN_URL = "https://www.gutenberg.org/cache/epub/84/pg84.txt"
#: Several times the size of the book: a larger response is not the book.
_MAX_DOWNLOAD = 4 << 20

#: The heading above the first letter, which names its recipient; in the contents, "Letter 2" follows.
_LETTER_1 = re.compile(
    r"^[ \t]*Letter 1[ \t]*$(?=(?:(?!^[ \t]*(?:Letter|Chapter) \d).){0,200}Mrs\. Saville)",
    re.MULTILINE | re.DOTALL,
)
#: The wordings of older and newer editions.
_END = re.compile(r"^[ \t]*(\*\*\* ?)?END OF (THE |THIS )?PROJECT GUTENBERG", re.MULTILINE | re.IGNORECASE)
#: The last words of the novel, by which a file without Project Gutenberg's footer is known to be whole.
_LAST_WORDS = "darkness and distance."

#: Excluded folders: third-party packages, and the tests, which some distributions do not ship and which
#: contain deliberately broken files.
_NOT_STDLIB = {"site-packages", "dist-packages", "__pycache__", "test", "tests", "idle_test"}


@dataclass(frozen=True)
class Texts:
    """Documents in memory."""

    origin: str
    documents: tuple[Document, ...]

    @property
    def size(self) -> int:
        return sum(map(len, self.documents))

    @property
    def length(self) -> int:
        return len(self.documents)

    def buffers(self, skips: Skips) -> Iterator[list[Document]]:
        yield list(self.documents)


NamedDataset = list[Path] | Texts | ParquetFile | HuggingFaceDataset


def named_dataset(name: str, reading: ReadOptions, rows: int) -> NamedDataset | None:
    """Return the dataset of that name, or None if there is none."""
    name, _, path = name.partition("=")
    copy = Path(path).expanduser() if path else None
    loaders: dict[str, Callable[[], NamedDataset]] = {
        "frankenstein": lambda: frankenstein(copy),
        "wikitext2": lambda: wikitext2(copy, reading, rows),
    }
    if copy is None:
        loaders["python-stdlib"] = python_stdlib
    return loaders[name]() if name in loaders else None


def python_stdlib() -> list[Path]:
    """Return the source files of the standard library, including `pydoc_data`."""
    library = Path(sysconfig.get_path("stdlib"))
    # Skip site-packages while walking: it often has ten times as many files as the library.
    files = [file for file in files_below(library, without=_NOT_STDLIB) if file.suffix == ".py"]
    if not files:
        raise CorpusError(f"{sys.executable} has no library sources in {library}; pass another corpus")
    return sorted(files)


def frankenstein(copy: Path | None) -> Texts:
    """Read the novel from a local copy, or from the cache or the network.

    The copy may be Project Gutenberg's file as published, or without its header, its footer or both.
    """
    data = _read(copy) if copy else _cached("pg84.txt", FRANKENSTEIN_URL)
    digest = hashlib.sha256(data).hexdigest()
    return Texts(f"frankenstein {digest}", (_novel(data, str(copy or "the text of frankenstein")),))


def _novel(data: bytes, name: str) -> str:
    """Return the novel without Project Gutenberg's header and license, with `\\n` line endings."""
    # Universal newlines, as when Python reads a text file; the file may start with a byte order mark.
    text = re.sub(r"\r\n?", "\n", data.decode("utf-8-sig", "replace"))
    start = _LETTER_1.search(text)
    if start is None:
        raise CorpusError(
            f"{name} is not Project Gutenberg 84: it has no letter 'Letter 1' to Mrs. Saville; "
            "to use a different text, pass its path alone"
        )
    if end := _END.search(text, start.end()):
        return text[start.start() : end.start()]
    if not text.rstrip().endswith(_LAST_WORDS):
        raise CorpusError(
            f"{name} is incomplete: it ends neither with 'End of the Project Gutenberg' nor with the novel's "
            f"last words, '{_LAST_WORDS}'; download it again"
        )
    return text[start.start() :]


def wikitext2(copy: Path | None, reading: ReadOptions, rows: int) -> Texts | ParquetFile | HuggingFaceDataset:
    """Load WikiText-2 from a local copy or through `datasets`."""
    options = ReadOptions(on_error=reading.on_error)
    if copy is None:
        return HuggingFaceDataset(_load_wikitext2(), options, rows, "wikitext2")
    if copy.suffix == ".parquet":
        return ParquetFile(copy, options, rows)
    data = _read(copy)
    # As in `datasets`: a line keeps its line ending, and a line of white space is an empty text.
    try:
        lines = [line if line.strip() else "" for line in io.TextIOWrapper(io.BytesIO(data), "utf-8")]
    except UnicodeDecodeError as error:
        raise CorpusError(f"{copy} is not WikiText-2: {error}; pass wiki.train.raw") from error
    return Texts(f"wikitext2 {hashlib.sha256(data).hexdigest()}", tuple(lines))


def _load_wikitext2() -> object:
    from merganser.corpus.reachability import connecting  # imports ssl

    # Connect while `datasets` is imported; without a network, its requests are retried for 25 seconds.
    unreachable = connecting(os.environ.get("HF_ENDPOINT") or "https://huggingface.co")
    datasets = imported("datasets", "hf", "wikitext2")
    why = unreachable()
    try:
        with _offline(datasets) if why else nullcontext():
            return datasets.load_dataset("wikitext", "wikitext-2-raw-v1", split="train")
    except Exception as error:  # raised by many packages
        raise CorpusError(
            f"cannot download wikitext2 through datasets: {why or reason(error)}; "
            "if you have a local copy, pass wikitext2=/path/to/wiki.train.raw"
        ) from error


@contextmanager
def _offline(datasets: Any) -> Iterator[None]:
    """Make `datasets` look in its cache only."""
    from huggingface_hub import constants

    modules: tuple[Any, ...] = (datasets.config, constants)
    before = [module.HF_HUB_OFFLINE for module in modules]
    for module in modules:
        module.HF_HUB_OFFLINE = True
    try:
        yield
    finally:
        for module, value in zip(modules, before, strict=True):
            module.HF_HUB_OFFLINE = value


def cache_folder() -> Path:
    """Return the folder for downloaded files."""
    if folder := os.environ.get("MERGANSER_CACHE"):
        return Path(folder).expanduser()
    shared = os.environ.get("XDG_CACHE_HOME")
    return Path(shared or "~/.cache").expanduser() / "merganser"


def _cached(name: str, url: str) -> bytes:
    """Return a file from the cache, or download it; its checksum is stored in the format of `sha256sum`."""
    file = cache_folder() / name
    checksum = file.with_name(f"{name}.sha256")
    if file.exists() and checksum.exists():
        data = _read(file)
        if _read(checksum).split()[:1] != [hashlib.sha256(data).hexdigest().encode()]:
            raise CorpusError(
                f"{file} is corrupt: its checksum does not match; delete it to download it again"
            )
        return data
    data = _download(url)
    _novel(data, url)  # so that the login page of a captive portal is never cached
    make_folder(file.parent, "set MERGANSER_CACHE to another folder")
    # The text is written last, so an interrupted run downloads it again.
    with written_whole(checksum) as out:
        out.write(f"{hashlib.sha256(data).hexdigest()}  {name}\n".encode())
    with written_whole(file) as out:
        out.write(data)
    return data


def _download(url: str) -> bytes:
    from http.client import HTTPException
    from urllib.error import HTTPError
    from urllib.request import urlopen

    from merganser.corpus.reachability import connecting

    copy = "pass a local copy: frankenstein=/path/to/pg84.txt"
    if why := connecting(url)():
        raise CorpusError(f"cannot download {url}: {why}; check the network, or {copy}")
    try:
        with urlopen(url, timeout=30) as response:
            data: bytes = response.read(_MAX_DOWNLOAD + 1)
            length = response.headers.get("Content-Length")
    except HTTPError as error:
        raise CorpusError(
            f"{url} returned {error.code} {error.reason}; try again later, or {copy}"
        ) from error
    except (OSError, HTTPException) as error:
        raise CorpusError(
            f"cannot download {url}: {getattr(error, 'reason', error)}; check the network, or {copy}"
        ) from error
    if len(data) > _MAX_DOWNLOAD or length not in (None, str(len(data))):
        raise CorpusError(
            f"{url} returned {len(data):,} bytes, but its Content-Length is {length}; try again, or {copy}"
        )
    return data


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise CorpusError(f"cannot read {path}: {error.strerror}") from error
