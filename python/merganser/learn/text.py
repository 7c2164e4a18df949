"""A corpus as plain text for the teaching programs: its lines, or its start as one string.

Accepts data sets, files, folders and globs of plain text, and standard input. Invalid UTF-8 becomes U+FFFD,
so that the core and the programs here read the same text.
"""

import sys
from collections.abc import Iterator
from pathlib import Path

from merganser.corpus import resolve
from merganser.corpus.addresses import Address
from merganser.errors import CorpusError

_NOT_PLAIN = {
    ".gz",
    ".zst",
    ".xz",
    ".bz2",
    ".json",
    ".jsonl",
    ".ndjson",
    ".csv",
    ".tsv",
    ".parquet",
    ".counts",
}


def plain_lines(corpus: str) -> Iterator[bytes]:
    """Yield the lines of a corpus as UTF-8; the last line of each file or document is terminated."""
    sources = resolve(Address(corpus), buffer_size=64)
    if sources.streams or sources.counts:
        raise CorpusError(f"{corpus} is not plain text on this machine; download or convert it first")
    for path in sources.files:
        yield from _terminated(_lines(path))
    if sources.stdin:
        if sys.stdin is None:
            raise CorpusError("standard input is closed; pass a file, or connect it")
        yield from _terminated(iter(sys.stdin.buffer))
    for documents in sources.documents or ():
        for document in documents:
            data = document.encode() if isinstance(document, str) else bytes(document)
            yield from _terminated(iter(data.splitlines(keepends=True)))


def read(corpus: str, max_mb: float = 2.0) -> str:
    """Return the first `max_mb` MB of a corpus, cut at a whole character."""
    size = int(max_mb * 1e6)
    data = bytearray()
    for line in plain_lines(corpus):
        data += line
        if len(data) >= size:
            break
    text = data[:size].decode(errors="ignore")
    if not text.strip():
        raise CorpusError(f"{corpus} contains no text; check the path")
    return text


def _lines(path: Path) -> Iterator[bytes]:
    if path.suffix.lower() in _NOT_PLAIN:
        raise CorpusError(f"{path} is not a plain text file; decompress or convert it first")
    try:
        with path.open("rb") as file:
            yield from file
    except OSError as error:
        raise CorpusError(f"cannot read {path}: {error.strerror}; check the path") from error


def _terminated(lines: Iterator[bytes]) -> Iterator[bytes]:
    line = b"\n"
    for line in lines:
        yield line.decode(errors="replace").encode()
    if not line.endswith(b"\n"):
        yield b"\n"
