"""Text for the programs here: any local corpus of plain text as one string, cut to a size."""

import sys
import warnings
from codecs import getincrementaldecoder
from pathlib import Path

from merganser.corpus import resolve
from merganser.errors import CorpusError, MerganserWarning

#: What is taken where nothing is named; it comes over the network once.
DEFAULT = "frankenstein"
#: What is taken in its place where there is no network: every machine has it.
OFFLINE = "python-stdlib"

_NOT_PLAIN = (".jsonl", ".ndjson", ".json", ".csv", ".tsv", ".gz", ".zst", ".xz", ".bz2")


def default(max_mb: float = 2.0) -> tuple[str, str]:
    """The name and the text of `frankenstein`; without a network, of Python's own library, with a warning."""
    try:
        return DEFAULT, read(DEFAULT, max_mb)
    except CorpusError as error:
        message = f"{DEFAULT} cannot be had, so {OFFLINE} is taken in its place: {error}"
        warnings.warn(message, MerganserWarning, stacklevel=2)
        return OFFLINE, read(OFFLINE, max_mb)


def read(name: str, max_mb: float = 2.0) -> str:
    """The first `max_mb` MB of a file, a folder, a glob, standard input (`-`) or a named data set."""
    found = resolve(name, 1000)
    if found.streams or found.counts:
        raise CorpusError(f"{name}: only plain text on this machine can be learnt from here; fetch it first")
    left = int(max_mb * 1e6)
    parts: list[bytes] = []

    def add(data: bytes) -> bool:
        nonlocal left
        parts.append(data[:left])
        left -= len(parts[-1])
        return left > 0

    for file in found.files:
        if not add(_file(file, left)):
            break
    if found.stdin:
        add(sys.stdin.buffer.read(left))
    for batch in found.documents or ():
        if not all(add(part if isinstance(part, bytes) else part.encode()) for part in batch):
            break
    # The last character may be cut in two: what is left of it is dropped.
    text = "\n".join(getincrementaldecoder("utf-8")("replace").decode(part) for part in parts)
    if not text.strip():
        raise CorpusError(f"{name} holds no text")
    return text


def _file(path: Path, size: int) -> bytes:
    if path.suffix in _NOT_PLAIN:
        raise CorpusError(f"{path} is not plain text; extract the text first")
    try:
        with path.open("rb") as file:
            return file.read(size)
    except OSError as error:
        raise CorpusError(f"cannot read {path}: {error.strerror}") from error
