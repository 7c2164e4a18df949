"""A tokenizer and its exports, which must all produce the same ids."""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import merganser
import oracle
import regex
import tiktoken
import tokenizers
from cuts import with_rest
from strategies import CUSTOM_PATTERNS, PRESETS
from transformers import AutoTokenizer

PATTERNS = (*PRESETS, CUSTOM_PATTERNS[5])
SPECIAL_TOKENS = ("<|bos|>", "<|end|>", "<|endoftext|>", "|end|")
_BATCH = 2_000_000


@dataclass(frozen=True)
class Everywhere:
    ours: merganser.Tokenizer
    tiktoken: tiktoken.Encoding
    tokenizers: tokenizers.Tokenizer
    transformers: Any

    @classmethod
    def of(cls, tokenizer: merganser.Tokenizer, folder: Path) -> "Everywhere":
        tokenizer.export(folder, format="huggingface")
        auto = AutoTokenizer.from_pretrained(folder)
        live = tokenizer.to_huggingface()
        # Both produce the same ids, so that `check_long` may use only one of them.
        assert _all_that_makes_ids(auto.backend_tokenizer) == _all_that_makes_ids(live)
        return cls(tokenizer, tokenizer.to_tiktoken(), live, auto)

    def check(self, documents: Iterable[str]) -> int:
        """Check that every document has the same ids everywhere; return the number of bytes compared."""
        size = 0
        for batch in _batches(documents):
            ids = self.ours.encode_batch(batch)
            assert self.transformers(batch)["input_ids"] == ids
            size += self._check(batch, ids, self.tokenizers)
        return size

    def check_long(self, documents: Iterable[str]) -> int:
        """Like `check`, at half the cost: encode with Hugging Face once, by the backend of AutoTokenizer."""
        return sum(
            self._check(batch, self.ours.encode_batch(batch), self.transformers.backend_tokenizer)
            for batch in _batches(documents)
        )

    def _check(self, batch: list[str], ids: list[list[int]], hugging_face: tokenizers.Tokenizer) -> int:
        assert self.tiktoken.encode_ordinary_batch(batch, num_threads=2) == ids
        assert [encoding.ids for encoding in hugging_face.encode_batch_fast(batch)] == ids
        assert self.ours.decode_batch(ids) == batch
        return sum(len(document.encode()) for document in batch)

    def check_by_hand(self, text: str) -> None:
        """Check the ids against minbpe's algorithm, with the pre-tokens of another regex engine."""
        merges = {pair: rank for rank, pair in enumerate(self.ours.merges)}
        pretokens = [match[0] for match in regex.finditer(with_rest(self.ours.pattern), text)]
        tokens = [
            token for pretoken in pretokens for token in oracle.encode_with_merges(pretoken.encode(), merges)
        ]
        ranks = self.ours.mergeable_ranks
        assert [ranks[token] for token in tokens] == self.ours.encode_ordinary(text)


def _all_that_makes_ids(live: tokenizers.Tokenizer) -> dict[str, Any]:
    """Return all settings but the post-processor: transformers writes an empty one."""
    return {key: value for key, value in json.loads(live.to_str()).items() if key != "post_processor"}


def _batches(documents: Iterable[str]) -> Iterator[list[str]]:
    batch: list[str] = []
    size = 0
    for document in documents:
        batch.append(document)
        size += len(document)
        if size >= _BATCH:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch
