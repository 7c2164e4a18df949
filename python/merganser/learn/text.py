"""A corpus as lines of plain text, for the trainers in Python.

Any name, file, folder or glob of text; files follow one another. Bytes that are not UTF-8 become U+FFFD,
so that the core and the trainers read the same.
"""

from collections.abc import Iterator

from merganser.corpus import resolve
from merganser.errors import CorpusError

_NOT_PLAIN = (
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
)


def plain_lines(corpus: str) -> Iterator[bytes]:
    """The lines of a corpus, as UTF-8; every file or document ends its last line."""
    found = resolve(corpus, buffer_size=64)
    if found.stdin or found.streams or found.counts:
        raise CorpusError(f"{corpus}: learning reads plain text from files of this machine")
    for path in found.files:
        if path.suffix.lower() in _NOT_PLAIN:
            raise CorpusError(f"{path}: learning reads plain text; unpack or convert the file first")
        with path.open("rb") as file:
            for line in file:
                yield line.decode(errors="replace").encode()
        yield from _break(line if path.stat().st_size else b"\n")
    for documents in found.documents or ():
        for document in documents:
            data = document.encode() if isinstance(document, str) else bytes(document)
            yield from data.decode(errors="replace").encode().splitlines(keepends=True)
            yield from _break(data or b"\n")


def _break(last: bytes) -> Iterator[bytes]:
    if not last.endswith(b"\n"):
        yield b"\n"
