"""Documents: the texts of a corpus, handed to Python one batch after the other.

The core finds the documents, as it does for every other use of a corpus, a block at a time: a corpus of any
size takes little memory. It costs about as much as copying the text, and only what reads text in Python needs
it; encoding and counting never do.

Bytes that are not UTF-8 become U+FFFD here, as other libraries take nothing but text.
"""

from collections.abc import Callable, Iterable, Iterator

from merganser import _core
from merganser.corpus.binary import judged, text_of
from merganser.corpus.sources import STDIN, Corpus
from merganser.corpus.standard_input import stdin_chunks
from merganser.errors import CorpusError

#: About how many bytes of documents in memory are handed over at a time.
_BATCH = 1 << 20

Take = Callable[[list[str]], object]
Reached = Callable[[int | None], object]


def hand_over(corpus: Corpus, separator: str | None, take: Take, reached: Reached | None = None) -> None:
    """Call `take` with the documents of a corpus in order, a batch at a time.

    Parameters
    ----------
    corpus
        What to read.
    separator
        A string that separates the documents of a text, or None.
    take
        Called with each batch, about 1 MB of text; an exception in it ends the reading.
    reached
        Called after each `take` with how many bytes of files and streams were read so far, as they are
        stored, or with None once these are exhausted.

    Raises
    ------
    CorpusError
        If the corpus is counts, cannot be read, or consists of files or streams that hold no text.

    Examples
    --------
    >>> from merganser.corpus import resolve
    >>> hand_over(resolve(["one<|endoftext|>two", "three"], 8192), "<|endoftext|>", print)
    ['one', 'two', 'three']
    """
    if corpus.counts:
        raise CorpusError(f"{corpus.counts[0]} holds counts and no text; name the text itself")
    documents = _core.Documents(separator)
    if corpus.files or corpus.stdin or corpus.streams:
        empty = True
        try:
            for batch in _stored(corpus, documents):
                empty = False
                take(_texts(batch))
                if reached:
                    reached(documents.bytes_read)
        finally:
            corpus.skips.add(*documents.skipped())
        if empty:
            raise CorpusError("the corpus holds no text; check the path, the glob and the separator")
    for buffer in corpus.documents or ():
        for batch in _batches(documents.split(buffer)):
            take(_texts(batch))
            if reached:
                reached(None)


def _stored(corpus: Corpus, documents: _core.Documents) -> Iterator[list[bytes]]:
    """Yield the documents of files, of standard input and of streams."""
    reading = corpus.reading._native()
    yield from documents.read_files(list(corpus.files), reading)
    if corpus.stdin:
        stdin = judged(stdin_chunks(), STDIN, corpus.reading, corpus.skips, may_skip=False)
        yield from documents.read_stream(*stdin, reading)
    for stream in corpus.streams:
        yield from documents.read_stream(*text_of(stream, corpus.reading, corpus.skips), reading)


def _batches(documents: Iterable[bytes]) -> Iterator[list[bytes]]:
    batch: list[bytes] = []
    size = 0
    for document in documents:
        batch.append(document)
        size += len(document)
        if size >= _BATCH:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def _texts(documents: list[bytes]) -> list[str]:
    return [document.decode("utf-8", "replace") for document in documents]
