"""Text: a corpus becomes one flat array of ids, with the end of every document; no pair spans two of them.

Everything that `encode_corpus` reads can be read here, because it does the reading; the ids of the whole
corpus are then held in memory, four bytes each.
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
from merganser.engines.local import Local, ProgressCallback
from merganser.errors import CorpusError, EmbeddingsError, MerganserWarning
from merganser.tokenizer import Tokenizer
from merganser.tokens import Tokens
from merganser.training import train as train_tokenizer

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: How many tokens the tokenizer has that is trained where none is given: so many that most words are one
#: token each. A small corpus has fewer pairs to merge, and then it has all words that are seen twice.
VOCAB_SIZE = 32_768


@dataclass(frozen=True, eq=False)
class Text:
    """The ids of a corpus, and where in them each document ends."""

    ids: "NDArray[np.uint32]"
    ends: "NDArray[np.int64]"

    def __post_init__(self) -> None:
        if not len(self.ids):
            raise CorpusError(
                "the corpus holds no text to learn from; check the path, the glob and the separator"
            )

    def digest(self) -> str:
        digest = hashlib.sha256(self.ids.astype("<u4").tobytes())
        digest.update(self.ends.astype("<i8").tobytes())
        return digest.hexdigest()

    def first(self, tokens: int) -> "Text":
        """The beginning of the text, cut inside a document where that is what it takes."""
        if len(self.ids) <= tokens:
            return self
        ends = self.ends[self.ends < tokens]
        return Text(self.ids[:tokens], np.append(ends, np.int64(tokens)))

    def documents(self) -> "Iterator[NDArray[np.uint32]]":
        start = 0
        for end in self.ends.tolist():
            yield self.ids[start:end]
            start = end


def tokenizer_for(
    source: Source, vocab_size: int, threads: int | None, progress: ProgressCallback | None
) -> Tokenizer:
    """A tokenizer of the corpus itself."""
    if is_read_once(source):  # an iterator is in memory by now, see `train`
        raise CorpusError(
            "standard input can be read only once, and a tokenizer would have to be trained first: "
            "name a tokenizer, or write the text to a file"
        )
    with warnings.catch_warnings():
        # A small corpus has fewer pairs than were asked for, which is no harm here.
        warnings.filterwarnings("ignore", "the vocabulary has", MerganserWarning)
        return train_tokenizer(source, vocab_size, engine=Local(threads=threads), progress=progress)


def read(
    source: "Source | Tokens", tokenizer: Tokenizer, threads: int | None, progress: ProgressCallback | None
) -> Text:
    """The ids of a corpus; a folder of tokens that `encode_corpus` wrote is taken as it is."""
    if isinstance(source, Tokens):
        return _of_tokens(source, tokenizer)
    with tempfile.TemporaryDirectory(prefix="merganser-embed-") as folder:
        out = os.path.join(folder, "tokens")  # noqa: PTH118  # a name to hand on
        tokens = tokenizer.encode_corpus(source, out=out, engine=Local(threads=threads), progress=progress)
        return _of_tokens(tokens, tokenizer)


def _of_tokens(tokens: Tokens, tokenizer: Tokenizer) -> Text:
    made_with = tokens.facts.get("tokenizer")
    if made_with is not None and made_with != _core.fingerprint(tokenizer):
        raise EmbeddingsError(
            f"{tokens.path} was made with another tokenizer, so its ids mean other tokens; give that one"
        )
    documents: list[NDArray[np.uint32]] = []
    for shard in tokens.shards:
        # A file of another program does not say where documents end: it is taken as one.
        parts = [shard.ids()] if shard.documents is None else shard.each_document()
        documents += [np.array(part, np.uint32) for part in parts]
    lengths = [len(document) for document in documents]
    ids = np.concatenate(documents) if documents else np.zeros(0, np.uint32)
    check_ids(ids, tokenizer, str(tokens.path))
    return Text(ids, np.cumsum(lengths, dtype=np.int64))


def check_ids(ids: "NDArray[np.uint32]", tokenizer: Tokenizer, where: str) -> None:
    """Refuses ids that the tokenizer does not have."""
    highest = int(ids.max(initial=0))
    if highest >= tokenizer.next_id:
        raise EmbeddingsError(
            f"{where} holds the id {highest:,}, and the tokenizer ends with {tokenizer.next_id - 1:,}: "
            "they do not belong together; give the tokenizer that made the ids"
        )
