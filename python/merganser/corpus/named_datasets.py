"""Named data sets: corpora that go by a name.

| name            | what it is                                                                           |
|-----------------|--------------------------------------------------------------------------------------|
| `python-stdlib` | the sources of the running interpreter's own library                                 |
| `frankenstein`  | Mary Shelley's novel, Project Gutenberg 84: one document, from "Letter 1" to the end |
| `wikitext2`     | WikiText-2, raw, the training split: every line a document (needs `[hf]`)            |

A file or folder of that name comes first. The latter two come over the network; where there is none, name a
copy that you have: `frankenstein=/path/to/pg84.txt`, or `wikitext2=/path/to/wiki.train.raw` (the Parquet file
of the split will do as well).

`frankenstein` is fetched once and kept, with its checksum, in `$MERGANSER_CACHE`, else in `merganser` in
`$XDG_CACHE_HOME` or `~/.cache`. `datasets` keeps `wikitext2` where it keeps everything.
"""

import hashlib
import io
import os
import re
import sys
import sysconfig
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from merganser.corpus.addresses import reason
from merganser.corpus.read_options import ReadOptions
from merganser.corpus.skipped import Skips
from merganser.corpus.tables import Dataset, Document, Parquet
from merganser.errors import CorpusError
from merganser.extras import imported
from merganser.files import files_below, make_folder, written_whole

#: The names that may be followed by `=` and a path.
OF_A_COPY = ("frankenstein", "wikitext2")

FRANKENSTEIN_URL = "https://www.gutenberg.org/cache/epub/84/pg84.txt"
#: Several times the size of the book: more than that is something else.
_LARGEST = 4 << 20

#: The heading, alone in its line; the first one is in the table of contents.
_LETTER_1 = re.compile(r"^[ \t]*Letter 1[ \t]*$", re.MULTILINE)
#: As older and as newer editions put it.
_END = re.compile(r"^[ \t]*(\*\*\* ?)?END OF (THE|THIS) PROJECT GUTENBERG", re.MULTILINE | re.IGNORECASE)

#: Folders of the standard library that are left out: packages that are not part of it, and the tests, which
#: some distributions do not ship and which hold files that are broken on purpose.
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


Found = list[Path] | Texts | Parquet | Dataset


def named(name: str, reading: ReadOptions, rows: int) -> Found | None:
    """The data set of that name, if there is one."""
    name, _, path = name.partition("=")
    copy = Path(path).expanduser() if path else None
    sets: dict[str, Callable[[], Found]] = {
        "frankenstein": lambda: frankenstein(copy),
        "wikitext2": lambda: wikitext2(copy, reading, rows),
    }
    if copy is None:
        sets["python-stdlib"] = python_stdlib
    return sets[name]() if name in sets else None


def python_stdlib() -> list[Path]:
    """The sources of the interpreter's own library, `pydoc_data` with its topics among them."""
    library = Path(sysconfig.get_path("stdlib"))
    # Not entering site-packages matters: it often holds ten times as many files as the library.
    files = [file for file in files_below(library, without=_NOT_STDLIB) if file.suffix == ".py"]
    if not files:
        raise CorpusError(f"{sys.executable} has no library sources in {library}; name another corpus")
    return sorted(files)


def frankenstein(copy: Path | None) -> Texts:
    """The novel, from a copy of Project Gutenberg's file or over the network."""
    data = _read(copy) if copy else _cached("pg84.txt", FRANKENSTEIN_URL)
    digest = hashlib.sha256(data).hexdigest()
    return Texts(f"frankenstein {digest}", (_novel(data, str(copy or "the text of frankenstein")),))


def _novel(data: bytes, name: str) -> str:
    """What Mary Shelley wrote, with line ends as `\\n`."""
    # Universal newlines, as when Python reads a text file; the file may begin with a byte order mark.
    text = re.sub(r"\r\n?", "\n", data.decode("utf-8-sig", "replace"))
    letters = list(_LETTER_1.finditer(text))
    if len(letters) < 2:
        raise CorpusError(
            f"{name} is not Project Gutenberg 84: it lacks a second heading 'Letter 1'; "
            "to take a text as it is, name the file alone"
        )
    end = _END.search(text, letters[1].end())
    if end is None:
        raise CorpusError(
            f"{name} is not all of Project Gutenberg 84: it lacks 'End of the Project Gutenberg'; "
            "fetch it again"
        )
    return text[letters[1].start() : end.start()]


def wikitext2(copy: Path | None, reading: ReadOptions, rows: int) -> Texts | Parquet | Dataset:
    """WikiText-2, from a copy or through `datasets`."""
    if copy is None:
        return Dataset(_load_wikitext2(), ReadOptions(on_error=reading.on_error), rows, "wikitext2")
    if copy.suffix == ".parquet":
        return Parquet(copy, ReadOptions(on_error=reading.on_error), rows)
    data = _read(copy)
    # As `datasets` has them: a line keeps its end, and a line of white space is an empty text.
    try:
        lines = [line if line.strip() else "" for line in io.TextIOWrapper(io.BytesIO(data), "utf-8")]
    except UnicodeDecodeError as error:
        raise CorpusError(f"{copy} is not WikiText-2: {error}") from error
    return Texts(f"wikitext2 {hashlib.sha256(data).hexdigest()}", tuple(lines))


def _load_wikitext2() -> object:
    datasets = imported("datasets", "hf", "wikitext2")
    try:
        return datasets.load_dataset("wikitext", "wikitext-2-raw-v1", split="train")
    except Exception as error:  # of many kinds, from many packages
        raise CorpusError(
            f"wikitext2 comes over the network, through datasets, and that failed: {reason(error)}; "
            "with a copy on this machine, name wikitext2=/path/to/wiki.train.raw"
        ) from error


def cache_folder() -> Path:
    """Where what was fetched is kept."""
    if own := os.environ.get("MERGANSER_CACHE"):
        return Path(own).expanduser()
    shared = os.environ.get("XDG_CACHE_HOME")
    return Path(shared or "~/.cache").expanduser() / "merganser"


def _cached(name: str, url: str) -> bytes:
    """The file as it was when it was first fetched; its checksum lies beside it, as `sha256sum` writes it."""
    file = cache_folder() / name
    checksum = file.with_name(f"{name}.sha256")
    if file.exists() and checksum.exists():
        data = _read(file)
        if _read(checksum).split()[:1] != [hashlib.sha256(data).hexdigest().encode()]:
            raise CorpusError(f"{file} is damaged: its checksum does not match; delete it to fetch it again")
        return data
    data = _fetch(url)
    _novel(data, url)  # so that the page of a hotel's network is never kept
    make_folder(file.parent, "name another as MERGANSER_CACHE")
    # The text comes last: where this is interrupted, it is fetched again.
    with written_whole(checksum) as out:
        out.write(f"{hashlib.sha256(data).hexdigest()}  {name}\n".encode())
    with written_whole(file) as out:
        out.write(data)
    return data


def _fetch(url: str) -> bytes:
    from http.client import HTTPException
    from urllib.error import HTTPError
    from urllib.request import urlopen

    copy = "with a copy on this machine, name frankenstein=/path/to/pg84.txt"
    try:
        with urlopen(url, timeout=30) as answer:
            data: bytes = answer.read(_LARGEST + 1)
            promised = answer.headers.get("Content-Length")
    except HTTPError as error:
        raise CorpusError(f"{url} answers {error.code} {error.reason}; try again later, or {copy}") from error
    except (OSError, HTTPException) as error:
        raise CorpusError(
            f"cannot fetch {url}: {getattr(error, 'reason', error)}; is there a network? If not, {copy}"
        ) from error
    if len(data) > _LARGEST or promised not in (None, str(len(data))):
        raise CorpusError(
            f"{url} gave {len(data):,} bytes and had announced {promised}; try again, or {copy}"
        )
    return data


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise CorpusError(f"cannot read {path}: {error.strerror}") from error
