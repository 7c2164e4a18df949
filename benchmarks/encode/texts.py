"""The inputs: two halves of each kind of text, short documents, short strings, adversarial strings.

Generated once, deterministically, and cached as in `corpora.py`. The documents of a corpus are grouped by
source; they are shuffled, so that both halves contain all sources.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from benchmarks import corpora
from benchmarks.patterns import SEPARATOR
from benchmarks.peers import documents

KINDS = ("English", "code", "Chinese")
SOURCES = {"English": "english.txt", "code": "code.txt", "Chinese": "multilingual.txt"}
HAN = re.compile(r"[\u3400-\u4dbf\u4e00-\u9fff]")
KANA = re.compile(r"[\u3040-\u30ff]")

STRING_BYTES = (5, 50, 500)
SHORT_DOCUMENTS = 14_000


@dataclass(frozen=True)
class Text:
    """Two files of documents: `first` is encoded cold, `second` after it."""

    name: str
    first: Path
    second: Path


def halves(kind: str, size: int) -> Text:
    """Return two files of up to `size` bytes each, without common documents."""
    paths = [
        corpora.cached(f"encode-{kind}-{size}-{half}.txt", partial(_write_half, kind, size, half))
        for half in (0, 1)
    ]
    return Text(kind, *paths)


def short_documents(count: int) -> Text:
    """Return two files of `count` excerpts of English text, 200 to 600 bytes each."""
    paths = [
        corpora.cached(f"encode-short-{count}-{half}.txt", partial(_write_short, count, half))
        for half in (0, 1)
    ]
    return Text(f"{count:,} short documents", *paths)


def english(size: int) -> Path:
    """Return whole documents from the start of `english.txt`, in order."""
    return corpora.cached(f"encode-english-{size}.txt", lambda target: _write(target, _up_to(size)))


def strings(size: int, count: int) -> list[str]:
    """Return excerpts of English text with `size` bytes, all ASCII, from random offsets."""
    text = halves("English", 10_000_000).first.read_bytes().replace(SEPARATOR.encode(), b" ")
    chance = random.Random(size)
    found: list[str] = []
    while len(found) < count:
        at = chance.randrange(len(text) - size)
        stretch = text[at : at + size]
        if stretch.isascii():
            found.append(stretch.decode())
    return found


def _source(kind: str) -> Path:
    folder = corpora.shared()
    if folder is None:
        raise SystemExit("no corpora: name the folder of english.txt, multilingual.txt and code.txt "
                         "in MERGANSER_CORPORA")  # fmt: skip
    return folder / SOURCES[kind]


def _documents(kind: str) -> Iterator[str]:
    for text in documents(_source(kind)):
        if kind != "Chinese" or is_chinese(text):
            yield text


def is_chinese(text: str) -> bool:
    """Whether at least a fifth of the characters are Han and almost none are kana: Japanese has both."""
    return len(HAN.findall(text)) >= len(text) / 5 and len(KANA.findall(text)) <= len(text) / 50


def _write_half(kind: str, size: int, half: int, target: Path) -> None:
    texts = list(_documents(kind))
    random.Random(kind).shuffle(texts)
    total = sum(len(text.encode()) for text in texts)
    budget = [min(size, total // 2)] * 2
    kept: list[str] = []
    for text in texts:
        length = len(text.encode())
        place = max((0, 1), key=budget.__getitem__)
        if length <= budget[place]:
            budget[place] -= length
            if place == half:
                kept.append(text)
    _write(target, kept)


def _write_short(count: int, half: int, target: Path) -> None:
    text = halves("English", 10_000_000)
    whole = (text.first, text.second)[half].read_bytes().decode().replace(SEPARATOR, " ")
    chance = random.Random(half)
    lengths = [chance.randrange(200, 601) for _ in range(count)]
    stride = len(whole) // count
    if stride < 601:
        raise SystemExit(f"{count} short documents do not fit into {text.first}")
    _write(target, [whole[i * stride : i * stride + length] for i, length in enumerate(lengths)])


def _up_to(size: int) -> Iterator[str]:
    for text in documents(_source("English")):
        size -= len(text.encode()) + len(SEPARATOR)
        if size < 0:
            return
        yield text


def _write(target: Path, texts: Iterator[str] | list[str]) -> None:
    target.write_bytes(SEPARATOR.encode().join(text.encode() for text in texts))


def _random(letters: str, count: int) -> str:
    return "".join(random.Random(count).choices(letters, k=count))


def _all_code_points(size: int) -> str:
    cycle = "".join(chr(code) for code in range(0x110000) if not 0xD800 <= code < 0xE000)
    times = size // len(cycle.encode()) + 1
    return (cycle * times).encode()[:size].decode(errors="ignore")


# Strings of about `size` bytes that take a careless encoder far too long.
ADVERSARIAL: dict[str, Callable[[int], str]] = {
    "one letter": lambda size: "a" * size,
    "spaces, then a letter": lambda size: " " * (size - 1) + "a",
    "newlines": lambda size: "\n" * size,
    "CJK": lambda size: _random("".join(map(chr, range(0x4E00, 0x9FA6))), size // 3),
    "combining marks": lambda size: "e" + "\u0301" * (size // 2),
    "random letters": lambda size: _random("abcdefghijklmnopqrstuvwxyz", size),
    "all code points": _all_code_points,
}
