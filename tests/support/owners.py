"""Tokenizers of other libraries, opened by the library that owns the format, and texts to compare ids on.

Real files are read from `../shared/tokenizers` or the folder in MERGANSER_TOKENIZERS; see its README.md.
Tests without them train small tokenizers of each kind.
"""

import os
import random
import sys
import unicodedata
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

import merganser
from corpora import corpus_text

TOKENIZERS = Path(os.environ.get("MERGANSER_TOKENIZERS", Path(__file__).parents[3] / "shared" / "tokenizers"))
#: Files that are tokenizers by themselves.
_NAMES = ("tokenizer.json", "tekken.json", "vocab.json", "vocab.txt")
_SUFFIXES = (".model", ".v3", ".tiktoken", ".gguf", ".spm")


def files() -> list[Path]:
    """Return every tokenizer in the shared folder."""
    found = (file for folder in sorted(TOKENIZERS.glob("*/")) for file in sorted(folder.iterdir()))
    return [file for file in found if file.name in _NAMES or file.suffix in _SUFFIXES or "rwkv" in file.name]


#: Files that are not BPE, with the library that the error names.
OTHER = {
    "t5-small/tokenizer.json": "Unigram model.*tokenizers",
    "t5-small/spiece.model": "Unigram model.*sentencepiece",
    "albert-base/spiece.model": "Unigram model.*sentencepiece",
    "mbart-small/sentencepiece.bpe.model": "Unigram model.*sentencepiece",
    "spm-test-unigram/tokenizer.model": "Unigram model.*sentencepiece",
    "spm-test-unigram-ja/tokenizer.model": "Unigram model.*sentencepiece",
    "spm-test-bytefallback/tokenizer.model": "Unigram model.*sentencepiece",
    "spm-test-char/tokenizer.model": "Char model.*sentencepiece",
    "bert-base-uncased/tokenizer.json": "WordPiece model.*tokenizers",
    "bert-base-uncased/vocab.txt": "WordPiece vocabulary.*tokenizers",
    "bert-base-cased/tokenizer.json": "WordPiece model.*tokenizers",
    "bert-base-cased/vocab.txt": "WordPiece vocabulary.*tokenizers",
    "bert-base-multilingual-cased/vocab.txt": "WordPiece vocabulary.*tokenizers",
    "all-minilm-l6-v2/tokenizer.json": "WordPiece model.*tokenizers",
    "all-minilm-l6-v2/vocab.txt": "WordPiece vocabulary.*tokenizers",
    "chinese-clip/vocab.txt": "WordPiece vocabulary.*tokenizers",
    "rwkv-world/rwkv_vocab_v20230424.txt": "RWKV.*rwkv package",
    "gguf-bert-bge/ggml-vocab-bert-bge.gguf": "WordPiece.*llama.cpp",
    "gguf-nomic-bert-moe/ggml-vocab-nomic-bert-moe.gguf": "Unigram.*llama.cpp",
}


@dataclass(frozen=True)
class Owner:
    """A tokenizer in the library that owns its format."""

    encode: Callable[[str], list[int]]
    decode: Callable[[list[int]], str]
    #: Whether the library finds special tokens in a text.
    finds_special: bool
    #: What `merganser.load` needs besides the path.
    settings: dict[str, str] = field(default_factory=dict)
    #: Character spans, of Hugging Face.
    offsets: Callable[[str], list[tuple[int, int]]] | None = None

    def matches(self, loaded: merganser.Tokenizer, text: str) -> bool:
        return self.ours(loaded, text) == self.encode(text)

    def ours(self, loaded: merganser.Tokenizer, text: str) -> list[int]:
        return (
            loaded.encode(text, allowed_special="all") if self.finds_special else loaded.encode_ordinary(text)
        )


def owner(file: Path) -> Owner | None:
    """Return the owner of a BPE file; None for GGUF, whose library is not a test dependency."""
    if file.name == "tokenizer.json":
        return of_huggingface(file)
    if file.name == "tekken.json":
        return _of_tekken(file)
    if file.suffix == ".tiktoken":
        return _of_ranks(file)
    if file.name == "vocab.json":
        return _of_two_files(file)
    return None if file.suffix == ".gguf" else of_sentencepiece(file)


def of_huggingface(source: Any, **settings: str) -> Owner:
    import tokenizers

    library = source
    if isinstance(source, Path):
        library = tokenizers.Tokenizer.from_file(str(source))
        library.no_truncation()
        library.no_padding()
    return Owner(
        lambda text: library.encode(text, add_special_tokens=False).ids,
        lambda ids: library.decode(ids, skip_special_tokens=False),
        finds_special=True,
        settings=settings,
        offsets=lambda text: library.encode(text, add_special_tokens=False).offsets,
    )


def of_sentencepiece(file: Path) -> Owner:
    import sentencepiece

    library = sentencepiece.SentencePieceProcessor(model_file=str(file))
    return Owner(library.encode, library.decode, finds_special=False)


def _of_tekken(file: Path) -> Owner:
    """mistral-common encodes with tiktoken, and adds the number of special tokens to each id."""
    import base64
    import json

    import tiktoken

    content = json.loads(file.read_text("utf-8"))
    config = content["config"]
    specials = config["default_num_special_tokens"]
    ranks = {
        base64.b64decode(token["token_bytes"]): token["rank"]
        for token in content["vocab"][: config["default_vocab_size"] - specials]
    }
    library = tiktoken.Encoding("tekken", pat_str=config["pattern"], mergeable_ranks=ranks, special_tokens={})
    return Owner(
        lambda text: [id + specials for id in library.encode_ordinary(text)],
        lambda ids: library.decode([id - specials for id in ids]),
        finds_special=False,
    )


def _of_ranks(file: Path) -> Owner:
    import tiktoken
    import tiktoken.load

    pattern = r"""'(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s++$|\s+(?!\S)|\s"""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        ranks = tiktoken.load.load_tiktoken_bpe(str(file))
    library = tiktoken.Encoding("ranks", pat_str=pattern, mergeable_ranks=ranks, special_tokens={})
    return Owner(library.encode_ordinary, library.decode, finds_special=False, settings={"pattern": "gpt2"})


def _of_two_files(file: Path) -> Owner:
    import tokenizers
    import transformers

    merges = str(file.with_name("merges.txt"))
    if "</w>" in file.read_text("utf-8"):
        return of_huggingface(
            transformers.OpenAIGPTTokenizer(vocab=str(file), merges=merges).backend_tokenizer
        )
    plain = of_huggingface(tokenizers.ByteLevelBPETokenizer(str(file), merges), pattern="gpt2")
    return replace(plain, finds_special=False)


# ── texts ─────────────────────────────────────────────────────────────────────

AWKWARD = [
    "",
    " ",
    "  ",
    "\n",
    " \n\n \t a",
    "a",
    " a",
    "a ",
    "  a  b   c    ",
    "Hello, world! It's 2024; they'll've DON'T.",
    "▁",
    "▁▁ a▁b ▁",
    "a ▁ b",
    "\u00e9 e\u0301 \u1e9b\u0323 \u212b A\u030a ﬁ ½ ① Ⅻ ｶﾞ ㌔",
    "naïve café ÅÅ straße ẞ İstanbul ǅ",
    "你好，世界。 こんにちは 안녕하세요 สวัสดี नमस्ते مرحبا שלום",
    "👍🏽 👨‍👩‍👧‍👦 🇩🇪 e\u200db\u200c \ufeffx",
    "\0\1\x7f\x80\x9f\u00ad\u200b\u2028\u3000\ufffd\U0010ffff",
    "0 12 123 1234 12345 1234567890 ١٢٣ ௧௨ 3.14",
    "<s> </s> <unk> <0x0A> <|endoftext|> [INST] <mask> <pad>",
    "def f(x):\n    return x**2  # comment\n\tif x:\r\n        pass\n",
    "http://example.com/a?b=c&d=%20#e  ~/.config/../x.tar.gz",
    "a" * 1000,
    " " * 777,
    "ab" * 500,
    "\n" * 300,
    "é" * 300 + "\u0301" * 300,
    "中" * 300,
    "▁" * 300,
    "!?" * 200,
    "</w> ab</w>c ##x Ġ Ċ ÿ þ",
    "THE QUICK BROWN FOX; the Quick bRown fOX",
]


@cache
def samples(pieces: int = 20, size: int = 1500) -> list[str]:
    """Return pieces of the corpora."""
    chance = random.Random(20)
    texts = []
    for name in ("english.txt", "multilingual.txt", "code.txt"):
        text = corpus_text(name, 2_000_000)
        starts = [chance.randrange(max(len(text) - size, 1)) for _ in range(pieces)]
        texts += [text[start : start + size] for start in starts]
    return texts


@cache
def code_points(every: int = 1, per_text: int = 3000) -> list[str]:
    """Return every assigned code point, or every n-th, alone and between letters, many to a text."""
    codes = (code for code in range(sys.maxunicode + 1) if not 0xD800 <= code < 0xE000)
    found = [
        chr(code) for code in codes if code % 997 == 0 or unicodedata.category(chr(code)) not in ("Cn", "Co")
    ][::every]
    groups = (found[start : start + per_text] for start in range(0, len(found), per_text))
    return ["".join(f" {c} a{c}b\n" for c in group) for group in groups]


def with_added(texts: list[str], tokens: list[str]) -> Iterator[str]:
    """Yield texts with added tokens inside, with and without spaces around them."""
    chance = random.Random(21)
    for text in texts if tokens else []:
        at = chance.randrange(len(text) + 1)
        between = [chance.choice(tokens) for _ in range(3)]
        yield text[:at] + between[0] + text[at:] + f" {between[1]} x{between[2]}"


def first_difference(ours: list[int], theirs: list[int]) -> str:
    """Describe where two lists of ids differ."""
    at = next(
        (at for at, (a, b) in enumerate(zip(ours, theirs, strict=False)) if a != b),
        min(len(ours), len(theirs)),
    )
    return f"from id {at}: ours {ours[at - 2 : at + 5]}, theirs {theirs[at - 2 : at + 5]}"
