"""A corpus as plain text, for the programs in Python: its lines one by one, or its beginning as one string.

Any name, file, folder or glob of text, or standard input; files follow one another. Bytes that are not UTF-8
become U+FFFD, so that the core and the programs here read the same.
"""

import sys
from collections.abc import Iterator
from pathlib import Path

from merganser.corpus import resolve
from merganser.corpus.addresses import Address
from merganser.errors import CorpusError

_PACKED = {".gz", ".zst", ".xz", ".bz2", ".json", ".jsonl", ".ndjson", ".csv", ".tsv", ".parquet", ".counts"}


def plain_lines(corpus: str) -> Iterator[bytes]:
    """The lines of a corpus, as UTF-8; every file or document ends its last line."""
    found = resolve(Address(corpus), buffer_size=64)
    if found.streams or found.counts:
        raise CorpusError(f"{corpus}: learning reads plain text from this machine; fetch or convert it first")
    for path in found.files:
        yield from _ended(_lines(path))
    if found.stdin:
        yield from _ended(iter(sys.stdin.buffer))
    for documents in found.documents or ():
        for document in documents:
            data = document.encode() if isinstance(document, str) else bytes(document)
            yield from _ended(iter(data.splitlines(keepends=True)))


def read(corpus: str, max_mb: float = 2.0) -> str:
    """The first `max_mb` MB of a corpus; a character that is cut in two is dropped."""
    size = int(max_mb * 1e6)
    data = bytearray()
    for line in plain_lines(corpus):
        data += line
        if len(data) >= size:
            break
    text = data[:size].decode(errors="ignore")
    if not text.strip():
        raise CorpusError(f"{corpus} holds no text")
    return text


def _lines(path: Path) -> Iterator[bytes]:
    if path.suffix.lower() in _PACKED:
        raise CorpusError(f"{path}: learning reads plain text; unpack or convert the file first")
    try:
        with path.open("rb") as file:
            yield from file
    except OSError as error:
        raise CorpusError(f"cannot read {path}: {error.strerror}") from error


def _ended(lines: Iterator[bytes]) -> Iterator[bytes]:
    line = b"\n"
    for line in lines:
        yield line.decode(errors="replace").encode()
    if not line.endswith(b"\n"):
        yield b"\n"
