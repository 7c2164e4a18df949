"""Documents: the texts of a corpus, handed to Python one batch after the other.

The core finds the documents, as it does for every other use of a corpus. It writes their bytes to files of a
few MB in a temporary folder, and these are read and removed between the chunks that it is fed: so a corpus
of any size takes little memory and little disk. It costs about as much as copying the text, and only what
reads text in Python needs it; encoding and counting never do.

Bytes that are not UTF-8 become U+FFFD here, as other libraries take nothing but text.
"""

import tempfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from merganser import _core
from merganser.corpus import STDIN, Corpus
from merganser.corpus.binary import judged, text_of
from merganser.corpus.tables import Document
from merganser.engines.local import stdin_chunks
from merganser.errors import CorpusError
from merganser.tokens.reading import Tokens

#: About how many bytes of text are handed over at a time, and how many wait on disk.
BATCH, SHARD = 1 << 20, 1 << 24
#: What is read from a file at a time: little, as it may be compressed.
_CHUNK = 1 << 18

Take = Callable[[list[str]], object]
Reached = Callable[[int | None], object]


def hand_over(corpus: Corpus, separator: str | None, take: Take, reached: Reached | None = None) -> None:
    """Calls `take` with the documents in order, about `BATCH` bytes at a time; an exception in it ends it.

    reached: called after each `take` with how many bytes of files and streams were handed over, as they are
        stored, or None past these.

    >>> from merganser.corpus import resolve
    >>> hand_over(resolve(["one<|endoftext|>two", "three"], 8192), "<|endoftext|>", print)
    ['one', 'two', 'three']
    """
    if corpus.counts:
        raise CorpusError(f"{corpus.counts[0]} holds counts and no text; name the text itself")
    if corpus.files or corpus.stdin or corpus.streams:
        with tempfile.TemporaryDirectory(prefix="merganser-") as folder:
            _hand_over_files(corpus, separator, Path(folder), take, reached)

    def take_document(texts: list[str]) -> None:
        take(texts)
        if reached:
            reached(None)

    for buffer in corpus.documents or ():
        _in_batches((text for document in buffer for text in _texts(document, separator)), take_document)


def _hand_over_files(
    corpus: Corpus, separator: str | None, folder: Path, take: Take, reached: Reached | None
) -> None:
    shards = _Shards(folder, take, reached)
    writer = _core.TokenWriter(
        _core.Tokenizer(_core.Model.from_ranks({bytes([byte]): byte for byte in range(256)}, "gpt2", {})),
        folder,
        format="bin",
        dtype="uint16",
        separator=separator,
        prepend=None,
        append=None,
        allowed_special=[],
        shard_tokens=SHARD,
        threads=0,
        progress=None,
    )
    reading = corpus.reading._native()
    try:
        for file in corpus.files:
            try:
                opened = file.open("rb")
            except OSError as error:
                message = f"cannot read {file}: {error.strerror}"
                if corpus.reading.on_error != "skip":
                    raise CorpusError(f'{message}; on_error="skip" goes on without it') from error
                corpus.skips.add(0, 1, [message])
                continue
            with opened:
                chunks = iter(lambda: opened.read(_CHUNK), b"")  # noqa: B023  # used up before the next
                writer.add_stream(shards.between(chunks), str(file), reading)
        if corpus.stdin:
            chunks, name = judged(stdin_chunks(), STDIN, corpus.reading, corpus.skips, may_skip=False)
            writer.add_stream(shards.between(chunks), name, reading)
        for stream in corpus.streams:
            chunks, name = text_of(stream, corpus.reading, corpus.skips)
            writer.add_stream(shards.between(chunks), name, reading)
        corpus.skips.add(*writer.skipped())
        writer.finish()
        shards.drain()
    finally:
        writer.abandon()


class _Shards:
    """Reads the shards as they are finished, and removes them."""

    def __init__(self, folder: Path, take: Take, reached: Reached | None) -> None:
        self._folder = folder
        self._take = take
        self._reached = reached
        self._number = 0
        #: Bytes that were fed, as they are stored, and how many of them were handed over.
        self._fed = self._done = 0

    def between(self, chunks: Iterable[bytes]) -> Iterator[bytes]:
        """The same chunks; before each of them, all that is finished is handed over."""
        for chunk in chunks:
            self.drain()
            self._fed += len(chunk)
            yield chunk

    def drain(self) -> None:
        while (sidecar := self._folder / f"shard-{self._number:05}.json").exists():
            (shard,) = Tokens.open(sidecar.with_suffix(".bin")).shards
            _in_batches(
                (ids.astype("uint8").tobytes().decode("utf-8", "replace") for ids in shard.each_document()),
                self._reporting(shard.tokens),
            )
            self._done = self._fed
            for file in self._folder.glob(f"shard-{self._number:05}.*"):
                file.unlink()
            self._number += 1

    def _reporting(self, size: int) -> Take:
        """Take the texts of a shard of `size` bytes, and report their share of the bytes fed for it."""
        taken = 0

        def take(texts: list[str]) -> None:
            nonlocal taken
            self._take(texts)
            if self._reached:
                taken += sum(len(text.encode()) for text in texts)
                share = min(taken / max(size, 1), 1)
                self._reached(self._done + int((self._fed - self._done) * share))

        return take


def _texts(document: Document, separator: str | None) -> list[str]:
    """The documents in a text: as many as the separator makes of it."""
    if not isinstance(document, str | bytes):
        raise CorpusError(f"a document is str or bytes, not {type(document).__name__}")
    text = document if isinstance(document, str) else document.decode("utf-8", "replace")
    if not text.isascii():
        _refuse_surrogates(text)
    parts = text.split(separator) if separator else [text]
    return [part for part in parts if part]


def _refuse_surrogates(text: str) -> None:
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise CorpusError(
            f"a document has a lone surrogate at position {error.start}: it is not text"
        ) from None


def _in_batches(texts: Iterable[str], take: Take) -> None:
    batch: list[str] = []
    size = 0
    for text in texts:
        batch.append(text)
        size += len(text)
        if size >= BATCH:
            take(batch)
            batch, size = [], 0
    if batch:
        take(batch)
