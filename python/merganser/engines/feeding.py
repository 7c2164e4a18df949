"""Feed a corpus to the core, input by input."""

from merganser import _core
from merganser.corpus import STDIN, Corpus
from merganser.corpus.binary import judged, text_of
from merganser.corpus.standard_input import stdin_chunks


def feed(worker: _core.Counter | _core.TokenWriter, corpus: Corpus, max_record: int) -> None:
    """Pass all text of a corpus to a counter or writer. `max_record` is the limit if the user set none."""
    reading = corpus.reading._native()
    worker.limit_records(corpus.reading.record_limit(max_record))
    if corpus.files:
        worker.add_files(list(corpus.files), reading)
    if corpus.stdin:
        stdin = judged(stdin_chunks(), STDIN, corpus.reading, corpus.skips, may_skip=False)
        worker.add_stream(*stdin, reading)
    for stream in corpus.streams:
        worker.add_stream(*text_of(stream, corpus.reading, corpus.skips), reading)
    for buffer in corpus.documents or ():
        worker.add_documents(buffer)
    corpus.skips.add(*worker.skipped())
