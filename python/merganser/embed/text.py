"""A corpus encoded as one flat array of ids, with the end of every document; no pair spans two documents.

`encode_corpus` does the reading, so everything that it accepts is accepted here. The ids of the whole corpus
are kept in memory, four bytes each.
"""

import hashlib
import os
import tempfile
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from merganser import _core
from merganser.corpus import Source, is_read_once
from merganser.corpus.read_options import ReadKeywords
from merganser.engines.local import Local, ProgressCallback
from merganser.errors import CorpusError, EmbeddingsError, MerganserWarning
from merganser.tokenizer import Tokenizer
from merganser.tokens import Tokens
from merganser.training import train as train_tokenizer

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from typing_extensions import Unpack

#: The vocabulary size if no tokenizer is given: large enough that most words are one token, and in a small
#: corpus all words that occur twice.
VOCAB_SIZE = 32_768


@dataclass(frozen=True, eq=False)
class Text:
    """The ids of a corpus, and the end of each document in them."""

    ids: "NDArray[np.uint32]"
    ends: "NDArray[np.int64]"

    def __post_init__(self) -> None:
        if not len(self.ids):
            raise CorpusError(
                "the corpus contains no text to learn from; check the path, the glob and the separator"
            )

    def digest(self) -> str:
        """Return a checksum of the ids and the ends."""
        digest = hashlib.sha256(self.ids.astype("<u4").tobytes())
        digest.update(self.ends.astype("<i8").tobytes())
        return digest.hexdigest()

    def first(self, tokens: int) -> "Text":
        """Return the first tokens of the text; the last document may be truncated."""
        if len(self.ids) <= tokens:
            return self
        ends = self.ends[self.ends < tokens]
        return Text(self.ids[:tokens], np.append(ends, np.int64(tokens)))

    def documents(self) -> "Iterator[NDArray[np.uint32]]":
        """Yield the ids of each document."""
        start = 0
        for end in self.ends.tolist():
            yield self.ids[start:end]
            start = end


def tokenizer_for(
    source: Source,
    vocab_size: int,
    threads: int | None,
    progress: ProgressCallback | None,
    **reading: "Unpack[ReadKeywords]",
) -> Tokenizer:
    """Train a tokenizer on the corpus."""
    if is_read_once(source):  # `train` has already read iterators into memory
        raise CorpusError(
            "standard input can be read only once, but a tokenizer must be trained on it first; "
            "pass a tokenizer, or write the text to a file"
        )
    with warnings.catch_warnings():
        # A small corpus may yield a smaller vocabulary, which is harmless here.
        warnings.filterwarnings("ignore", "the vocabulary has", MerganserWarning)
        return train_tokenizer(
            source, vocab_size, engine=Local(threads=threads), progress=progress, **reading
        )


def read(
    source: "Source | Tokens",
    tokenizer: Tokenizer,
    threads: int | None,
    progress: ProgressCallback | None,
    **reading: "Unpack[ReadKeywords]",
) -> Text:
    """Encode a corpus; `Tokens` written by `encode_corpus` are used directly."""
    if isinstance(source, Tokens):
        return _from_tokens(source, tokenizer)
    with tempfile.TemporaryDirectory(prefix="merganser-embed-") as folder:
        out = os.path.join(folder, "tokens")  # noqa: PTH118  # a name to hand on
        engine = Local(threads=threads)
        tokens = tokenizer.encode_corpus(source, out=out, engine=engine, progress=progress, **reading)
        return _from_tokens(tokens, tokenizer)


def _from_tokens(tokens: Tokens, tokenizer: Tokenizer) -> Text:
    fingerprint = tokens.facts.get("tokenizer")
    if fingerprint is not None and fingerprint != _core.fingerprint(tokenizer):
        raise EmbeddingsError(
            f"{tokens.path} was encoded with another tokenizer; pass the tokenizer that encoded it"
        )
    documents: list[NDArray[np.uint32]] = []
    for shard in tokens.shards:
        # A file of another program does not contain the ends of documents; it is treated as one document.
        parts = [shard.ids()] if shard.documents is None else shard.each_document()
        documents += [np.array(part, np.uint32) for part in parts]
    lengths = [len(document) for document in documents]
    ids = np.concatenate(documents) if documents else np.zeros(0, np.uint32)
    check_ids(ids, tokenizer, str(tokens.path))
    return Text(ids, np.cumsum(lengths, dtype=np.int64))


def check_ids(ids: "NDArray[np.uint32]", tokenizer: Tokenizer, where: str) -> None:
    """Raise an `EmbeddingsError` for ids that the tokenizer does not have."""
    highest = int(ids.max(initial=0))
    if highest >= tokenizer.next_id:
        raise EmbeddingsError(
            f"{where} contains the id {highest:,}, but the highest id of the tokenizer is "
            f"{tokenizer.next_id - 1:,}; pass the tokenizer that produced the ids"
        )
