"""Every shared corpus at full size: ids equal tiktoken's, in batches and as one text, and round-trip.

Run by `make test-long`; it takes a few minutes, nearly all of it in tiktoken.
"""

from itertools import accumulate

import pytest
import vocabs
from corpora import NAMES, corpus_text

END = "<|endoftext|>"


@pytest.mark.parametrize("corpus", NAMES)
@pytest.mark.parametrize("name", vocabs.ALL)
def test_ids_equal_those_of_tiktoken(corpus: str, name: str) -> None:
    ours, theirs = vocabs.ours(name), vocabs.theirs(name)
    text = corpus_text(corpus)
    documents = text.split(END)
    expected = theirs.encode_ordinary_batch(documents, num_threads=2)
    for threads in (1, 2):
        assert ours.encode_batch(documents, threads=threads) == expected
    ids, offsets = ours.encode_flat(documents)
    assert ids.tolist() == [id for document in expected for id in document]
    assert offsets[1:].tolist() == list(accumulate(map(len, expected)))
    assert ours.count_tokens(documents) == [len(document) for document in expected]
    assert [ours.decode(document) for document in expected] == documents
    whole = ours.encode_ordinary(text)
    assert ours.decode(whole) == text
    assert whole == theirs.encode_ordinary(text)
