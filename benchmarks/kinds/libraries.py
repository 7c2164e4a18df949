"""A tokenizer file opened by merganser, by the library that owns its format, and by the fastest peers.

Each loader returns a function from texts to lists of ids. Special tokens are found where the owner finds
them, so that ids can be compared. Threads are set by RAYON_NUM_THREADS, or passed.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

ToLists: TypeAlias = Callable[[list[str]], Any]


class Refused(Exception):
    """The library does not open this file and says so."""


def merganser(file: Path) -> ToLists:
    import merganser

    tokenizer = merganser.load(file)
    if owner_of(file) == "sentencepiece":  # it never finds control tokens in a text
        return lambda texts: tokenizer.encode_batch(texts, disallowed_special=(), threads=1)
    return lambda texts: tokenizer.encode_batch(texts, allowed_special="all", threads=1)


def tokenizers(file: Path) -> ToLists:
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(file))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return lambda texts: [
        encoding.ids for encoding in tokenizer.encode_batch_fast(texts, add_special_tokens=False)
    ]


def sentencepiece(file: Path) -> ToLists:
    import sentencepiece

    processor = sentencepiece.SentencePieceProcessor(model_file=str(file))
    return lambda texts: processor.encode(texts, num_threads=1)


def gigatoken(file: Path) -> ToLists:
    import gigatoken

    try:
        tokenizer = gigatoken.Tokenizer.from_json(file.read_text("utf-8"))
        tokenizer.encode_batch_list(["a"])
    except BaseException as error:
        raise Refused(str(error)) from error
    return tokenizer.encode_batch_list


def fastokens(file: Path) -> ToLists:
    import fastokens

    try:
        tokenizer = fastokens.Tokenizer.from_file(str(file))
        tokenizer.encode_batch(["a"])
    except BaseException as error:
        raise Refused(str(error)) from error
    return lambda texts: [
        encoding.ids for encoding in tokenizer.encode_batch(texts, add_special_tokens=False)
    ]


LOADERS = {
    "merganser": merganser,
    "tokenizers": tokenizers,
    "sentencepiece": sentencepiece,
    "gigatoken": gigatoken,
    "fastokens": fastokens,
}


def owner_of(file: Path) -> str:
    """Return the library that decides what the file means."""
    return "tokenizers" if file.name == "tokenizer.json" else "sentencepiece"


def peers_of(file: Path) -> tuple[str, ...]:
    """Return the libraries to compare with: the fast peers read only tokenizer.json."""
    return ("gigatoken", "fastokens") if file.name == "tokenizer.json" else ()
