"""Split a corpus into a training set and a held-out set to measure on.

| corpus                      | held-out set                                                   |
|-----------------------------|----------------------------------------------------------------|
| one text with chapters      | the final chapter                                              |
| one text                    | the last tenth, from the start of a paragraph, or else a line  |
| several documents, up to 19 | the last one                                                   |
| more                        | every twentieth, or fewer: about 4 MB are enough               |

All documents are kept in memory. Plain files are read directly; all others are read by the core, which takes
a few times as long. Counts cannot be split: pass a text to measure on instead.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from merganser.corpus import Corpus, Source, resolve
from merganser.corpus.defaults import SEPARATOR
from merganser.corpus.documents import hand_over
from merganser.corpus.read_options import ReadKeywords, ReadOptions
from merganser.errors import CorpusError, SettingsError

if TYPE_CHECKING:
    from typing_extensions import Unpack

#: A larger held-out set takes longer without improving the figures.
ENOUGH_BYTES = 4_000_000
_STRIDE = 20

#: A chapter heading after an empty line, case-insensitive.
_CHAPTER = re.compile(
    rb"(?<=\n)[ \t]*\r?\n[ \t]*(chapter[ \t]+(?:[0-9]+|[ivxlc]+)\b[^\r\n]{0,60}\r?\n)", re.I
)
_PARAGRAPH = re.compile(rb"\r?\n[ \t]*\r?\n")

#: Suffixes of files that are not plain text.
_NOT_PLAIN = {".jsonl", ".ndjson", ".json", ".csv", ".tsv", ".gz", ".zst", ".xz", ".bz2"}
#: Magic numbers of compressed files: gzip, Zstandard, xz and bzip2.
_COMPRESSED = (b"\x1f\x8b", b"\x28\xb5\x2f\xfd", b"\xfd7zXZ\x00", b"BZh")


@dataclass(frozen=True)
class HeldOutSplit:
    """A training set, a held-out set, and the rule that separates them."""

    training: Source
    held_out: Source
    rule: str


def hold_out(source: Source, **reading: "Unpack[ReadKeywords]") -> HeldOutSplit:
    """Split a corpus into a training set and a held-out set."""
    return hold_out_documents(_documents(resolve(source, 8192, ReadOptions(**reading))))


def hold_out_documents(documents: Sequence[bytes]) -> HeldOutSplit:
    """Split documents in memory into a training set and a held-out set.

    >>> split = hold_out_documents([b"a", b"b", b"c"])
    >>> split.training, split.held_out, split.rule
    ([b'a', b'b'], [b'c'], 'the last of 3 documents')
    """
    documents = [document for document in documents if document.strip()]
    if not documents:
        raise CorpusError("the corpus contains no text; check the path, the glob and the separator")
    if len(documents) == 1:
        return _split_text(documents[0])
    if len(documents) < _STRIDE:
        return HeldOutSplit(documents[:-1], documents[-1:], f"the last of {len(documents)} documents")
    size = sum(map(len, documents))
    stride = min(max(_STRIDE, -(-size // ENOUGH_BYTES)), len(documents))
    held_out = documents[stride - 1 :: stride]
    training = [document for nth, document in enumerate(documents, 1) if nth % stride]
    return HeldOutSplit(training, held_out, f"every {stride}th of {len(documents):,} documents")


def _split_text(text: bytes) -> HeldOutSplit:
    chapters = [heading.start(1) for heading in _CHAPTER.finditer(text)]
    if chapters and len(text) // 2 < chapters[-1]:
        heading = text[chapters[-1] :].split(b"\n", 1)[0].strip().decode("utf-8", "replace")
        return HeldOutSplit([text[: chapters[-1]]], [text[chapters[-1] :]], f"the final chapter ({heading})")
    earliest = len(text) * 9 // 10
    paragraph = _PARAGRAPH.search(text, earliest)
    line = text.find(b"\n", earliest)
    start = paragraph.end() if paragraph else line + 1
    if not (text[:start].strip() and text[start:].strip()):
        raise CorpusError(
            "the corpus is too short for a held-out split; pass a text to measure on (held_out)"
        )
    return HeldOutSplit([text[:start]], [text[start:]], "the last tenth of the text")


def _documents(corpus: Corpus) -> list[bytes]:
    if corpus.counts:
        raise SettingsError(
            f"{corpus.counts[0]} holds counts, which cannot be split; pass a text to measure on (held_out), "
            "and all counts are used for training"
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
    """Return whether a file is plain text, judging by its name and first bytes."""
    if _NOT_PLAIN & {suffix.lower() for suffix in file.suffixes}:
        return False
    return not _read(file, 6).startswith(_COMPRESSED)


def _read(file: Path, size: int = -1) -> bytes:
    try:
        with file.open("rb") as opened:
            return opened.read(size)
    except OSError as error:
        raise CorpusError(
            f"cannot read {file}: {error.strerror}; check the path and its permissions"
        ) from error
