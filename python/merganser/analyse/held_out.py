"""Held out: a corpus becomes a part to train on and a part to measure on, which training never sees.

| corpus                                | what is held out                                                  |
|---------------------------------------|-------------------------------------------------------------------|
| one text with chapters                | the final chapter                                                 |
| one text                              | the last tenth, from the beginning of a paragraph, or else a line |
| several documents, up to 19           | the last one                                                      |
| more                                  | every twentieth, or fewer: about 4 MB are enough                  |

Documents are held in memory, as large as they are. Plain files are read as they are; all others are handed
over by the core, which takes a few times as long. Counts cannot be taken apart: name what to measure on
yourself.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from merganser.corpus import Corpus, Source, resolve
from merganser.corpus.documents import hand_over
from merganser.corpus.split_settings import SEPARATOR
from merganser.errors import CorpusError, SettingsError

#: More than that does not make the figures better, only later.
ENOUGH_BYTES = 4_000_000
_STRIDE = 20

#: A heading after an empty line, in any case.
_CHAPTER = re.compile(
    rb"(?<=\n)[ \t]*\r?\n[ \t]*(chapter[ \t]+(?:[0-9]+|[ivxlc]+)\b[^\r\n]{0,60}\r?\n)", re.I
)
_PARAGRAPH = re.compile(rb"\r?\n[ \t]*\r?\n")

#: Files with these ends hold more than plain text.
_NOT_PLAIN = {".jsonl", ".ndjson", ".json", ".csv", ".tsv", ".gz", ".zst", ".xz", ".bz2"}
#: And so do those that begin so: gzip, Zstandard, xz and bzip2.
_PACKED = (b"\x1f\x8b", b"\x28\xb5\x2f\xfd", b"\xfd7zXZ\x00", b"BZh")


@dataclass(frozen=True)
class Parts:
    """A corpus in two parts, and how it was parted."""

    training: Source
    held_out: Source
    rule: str


def parted(source: Source) -> Parts:
    """Holds a part of the corpus back.

    >>> parts = parted_documents([b"a", b"b", b"c"])
    >>> parts.training, parts.held_out, parts.rule
    ([b'a', b'b'], [b'c'], 'the last of 3 documents')
    """
    return parted_documents(_documents(resolve(source, 8192)))


def parted_documents(documents: Sequence[bytes]) -> Parts:
    """The same for documents in memory."""
    documents = [document for document in documents if document.strip()]
    if not documents:
        raise CorpusError("the corpus holds no text; check the path, the glob and the separator")
    if len(documents) == 1:
        return _cut(documents[0])
    if len(documents) < _STRIDE:
        return Parts(documents[:-1], documents[-1:], f"the last of {len(documents)} documents")
    size = sum(map(len, documents))
    stride = min(max(_STRIDE, -(-size // ENOUGH_BYTES)), len(documents))
    held = documents[stride - 1 :: stride]
    kept = [document for nth, document in enumerate(documents, 1) if nth % stride]
    return Parts(kept, held, f"every {stride}th of {len(documents):,} documents")


def _cut(text: bytes) -> Parts:
    chapters = [found.start(1) for found in _CHAPTER.finditer(text)]
    if chapters and len(text) // 2 < chapters[-1]:
        heading = text[chapters[-1] :].split(b"\n", 1)[0].strip().decode("utf-8", "replace")
        return Parts([text[: chapters[-1]]], [text[chapters[-1] :]], f"the final chapter ({heading})")
    place = len(text) * 9 // 10
    paragraph = _PARAGRAPH.search(text, place)
    line = text.find(b"\n", place)
    start = paragraph.end() if paragraph else line + 1
    if not (text[:start].strip() and text[start:].strip()):
        raise CorpusError(
            "the corpus is too short to hold a part of it back; name a text to measure on (held_out)"
        )
    return Parts([text[:start]], [text[start:]], "the last tenth of the text")


def _documents(corpus: Corpus) -> list[bytes]:
    if corpus.counts:
        raise SettingsError(
            f"{corpus.counts[0]} holds counts, which cannot be taken apart; name a text to measure on "
            "(held_out), and all of them are trained on"
        )
    documents: list[bytes] = []
    if corpus.stdin or corpus.streams or not all(map(_is_plain, corpus.files)):
        hand_over(corpus, SEPARATOR, lambda texts: documents.extend(text.encode() for text in texts))
        corpus.skips.skipped.warn()
        return documents
    for file in corpus.files:
        documents += _read(file).split(SEPARATOR.encode())
    for buffer in corpus.documents or ():
        for document in buffer:
            text = document.encode() if isinstance(document, str) else document
            documents += text.split(SEPARATOR.encode())
    return documents


def _is_plain(file: Path) -> bool:
    """Whether a file is text, as far as its name and its first bytes say."""
    if _NOT_PLAIN & {suffix.lower() for suffix in file.suffixes}:
        return False
    return not _read(file, 6).startswith(_PACKED)


def _read(file: Path, size: int = -1) -> bytes:
    try:
        with file.open("rb") as opened:
            return opened.read(size)
    except OSError as error:
        raise CorpusError(f"cannot read {file}: {error.strerror}") from error
