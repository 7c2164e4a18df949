"""The libraries, each with the fastest exact calls that it has.

A library that cannot represent the tokenizer exactly raises an exception when it is loaded. The number of
threads is an argument where there is one; elsewhere it is RAYON_NUM_THREADS, which the parent process sets.
"""

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from merganser.formats import huggingface, tiktoken
from merganser.tokenizer import Tokenizer

#: The ids of all texts, and where each text begins and ends.
Flat: TypeAlias = tuple[NDArray[Any], NDArray[Any]]

PEERS = ("tiktoken", "tokenizers", "gigatoken", "fastokens")
#: The outputs that are measured: the fields of `Encoder`.
MODES = ("lists", "arrays")
#: The name of the file from which a process loads the tokenizer.
TOKENIZER = "tokenizer.merganser"


@dataclass(frozen=True)
class Encoder:
    """The batch calls of a library. Special tokens in a text are ordinary text."""

    #: One list of ids for each text.
    lists: Callable[[list[str]], list[list[int]]]
    #: One array for all texts; None if the library returns only lists.
    arrays: Callable[[list[str]], Flat] | None = None


def load(library: str, tokenizer: Tokenizer, folder: Path, threads: int) -> Encoder:
    """Load a tokenizer into a library; files that it reads are written to `folder`."""
    return _LOADERS[library](tokenizer, folder, threads)


def joined(parts: Iterable[NDArray[Any]]) -> Flat:
    """Concatenate the ids of all texts."""
    arrays = list(parts)
    offsets = np.zeros(len(arrays) + 1, np.int64)
    np.cumsum([len(array) for array in arrays], out=offsets[1:])
    return np.concatenate(arrays), offsets


def _merganser(tokenizer: Tokenizer, _: Path, threads: int) -> Encoder:
    return Encoder(
        lists=lambda texts: tokenizer.encode_batch(texts, disallowed_special=(), threads=threads),
        arrays=lambda texts: tokenizer.encode_flat(texts, disallowed_special=(), threads=threads),
    )


def _tiktoken(tokenizer: Tokenizer, _: Path, threads: int) -> Encoder:
    """Its own pool of threads costs more than it gains for one thread. It has no call for a flat array."""
    encoding = tokenizer.to_tiktoken()

    def lists(texts: list[str]) -> list[list[int]]:
        if threads == 1:
            return [encoding.encode_ordinary(text) for text in texts]
        return encoding.encode_ordinary_batch(texts, num_threads=threads)

    def array(text: str) -> NDArray[Any]:
        return encoding.encode_to_numpy(text, disallowed_special=())

    def arrays(texts: list[str]) -> Flat:
        if threads == 1:
            return joined(map(array, texts))
        with ThreadPoolExecutor(threads) as pool:
            return joined(pool.map(array, texts))

    return Encoder(lists, arrays)


def _tokenizers(tokenizer: Tokenizer, _: Path, __: int) -> Encoder:
    live = tokenizer.to_huggingface()
    return Encoder(lambda texts: [one.ids for one in live.encode_batch_fast(texts, add_special_tokens=False)])


def _gigatoken(tokenizer: Tokenizer, folder: Path, threads: int) -> Encoder:
    """It has scanners for a few patterns, by name, and refuses all others."""
    library = import_module("gigatoken").Tokenizer
    if tokenizer.pattern_name in ("gpt2", "gpt4", "o200k", "qwen2") and not tokenizer.has_stages:
        live = library.from_tiktoken(_rank_file(tokenizer, folder), pretokenizer=tokenizer.pattern_name)
    else:
        live = library.from_json(_json(tokenizer))
    parallel = threads > 1

    def arrays(texts: list[str]) -> Flat:
        layout = live.encode_batch(texts, parallel=parallel).layout
        return layout.content.data, layout.offsets.data

    return Encoder(lambda texts: live.encode_batch_list(texts, parallel=parallel), arrays)


def _fastokens(tokenizer: Tokenizer, folder: Path, _: int) -> Encoder:
    """It has scanners for OpenAI's patterns, by name, and PCRE2 for all others."""
    library = import_module("fastokens").Tokenizer
    known = {"gpt4": "cl100k_base", "o200k": "o200k_base"}.get(tokenizer.pattern_name or "")
    if tokenizer.has_stages:
        live = library.from_json_str(_json(tokenizer))
    elif known:
        live = library.from_tiktoken(_rank_file(tokenizer, folder), encoding=known, special_tokens={})
    else:
        ranks = _rank_file(tokenizer, folder)
        live = library.from_tiktoken(ranks, pattern=tokenizer.pattern, special_tokens={})

    def arrays(texts: list[str]) -> Flat:
        ids, offsets = live.encode_batch_flat(texts)
        return np.frombuffer(ids, np.uint32), np.frombuffer(offsets, np.uint64)

    return Encoder(lambda texts: [one.ids for one in live.encode_batch(texts)], arrays)


def _json(tokenizer: Tokenizer) -> str:
    return huggingface.contents(tokenizer)[huggingface.FILE].decode()


def _rank_file(tokenizer: Tokenizer, folder: Path) -> str:
    path = folder / "ranks.tiktoken"
    path.write_bytes(tiktoken.contents(tokenizer, path.name)[path.name])
    return str(path)


_LOADERS: dict[str, Callable[[Tokenizer, Path, int], Encoder]] = {
    "merganser": _merganser,
    "tiktoken": _tiktoken,
    "tokenizers": _tokenizers,
    "gigatoken": _gigatoken,
    "fastokens": _fastokens,
}
