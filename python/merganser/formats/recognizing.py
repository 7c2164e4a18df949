"""Recognize the file formats of other libraries by how files begin, and read them.

`loading` reads merganser's own files and imports this module only for others: it imports every format, which
takes longer than reading a saved tokenizer.
"""

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from merganser._core import preset_names
from merganser.errors import FormatError, MerganserError, SettingsError, TokenizerError
from merganser.formats import (
    BadFile,
    char_bpe,
    gguf,
    gpt2,
    huggingface,
    minbpe,
    native,
    sentencepiece,
    tekken,
    two_files,
)
from merganser.formats import tiktoken as ranks
from merganser.formats.overrides import NeedsPattern, refuse_overrides
from merganser.formats.reading import read
from merganser.formats.refusing import refusal
from merganser.tokenizer import Tokenizer

if TYPE_CHECKING:
    import tiktoken
    import tokenizers


#: Files looked for in a folder, in this order; a glob must match only one file.
IN_FOLDERS = (
    native.FILE_NAME,
    huggingface.FILE,
    tekken.FILE,
    gpt2.VOCAB,
    gpt2.OPENAI_VOCAB,
    f"{ranks.PLUGIN_FOLDER}/*.json",
    "*.gguf",
    "tokenizer.model",
    "*.model",
    "*.model.v*",
    "*.spm",
    "*.tiktoken",
    "*.tiktoken.gz",
    "vocab.txt",
    "rwkv_vocab*.txt",
)


def parse(
    file: Path, data: bytes, pattern: str | None, special_tokens: Mapping[str, int] | None
) -> Tokenizer:
    """Return the tokenizer in a file that `Tokenizer.save` did not write."""
    if ranks.looks_like_ranks(data):
        return _from_ranks(file, ranks.parse(data), pattern, special_tokens)
    json = gpt2.parse_json(data) if data.startswith(b"{") else {}
    if data.startswith(b"#version") or _is_vocabulary(json):
        return _from_gpt2(file, data, pattern, special_tokens)
    parse = _parser(file, data, json)
    refuse_overrides(str(file), pattern, special_tokens)
    return parse()


def from_live(source: object) -> Tokenizer:
    """Return the tokenizer in a live object of another library."""
    if any(kind.__module__.startswith(("tokenizers", "transformers")) for kind in type(source).__mro__):
        return _from_huggingface(cast("tokenizers.Tokenizer", source))
    return ranks.from_encoding(cast("tiktoken.Encoding", source))


def is_tokenizer(source: str | os.PathLike[str]) -> bool:
    """Return whether a file looks like a tokenizer or a folder seems to hold one; `load` may refuse it."""
    file = Path(source)
    if file.is_dir():
        return any(any(file.glob(name)) for name in IN_FOLDERS)
    if not file.is_file():
        return False
    if (
        file.name in (huggingface.FILE, gpt2.VOCAB, gpt2.MERGES, tekken.FILE)
        or ranks.PLUGIN_FOLDER in file.parts
    ):
        return True
    with file.open("rb") as opened:
        start = opened.read(1 << 16)
    known = (native.MAGIC, gguf.MAGIC, minbpe.MAGIC.partition(b" ")[0])
    if start.startswith(known) or (
        file.suffix in (".model", ".spm") and sentencepiece.looks_like_model(start)
    ):
        return True
    return file.suffix == ".tiktoken" and ranks.looks_like_ranks(start)


def _is_vocabulary(json: dict[str, Any]) -> bool:
    """Return whether a JSON object maps tokens to ids, and is not one of the other formats."""
    others = ranks.PLUGIN_KEY in json or isinstance(json.get("model"), dict)
    return bool(json) and not (others or tekken.is_tekken(json) or char_bpe.is_char_bpe(json))


def _parser(file: Path, data: bytes, json: dict[str, Any]) -> Callable[[], Tokenizer]:
    """Return the parser of a file that needs no settings, recognized by how it begins."""
    if ranks.PLUGIN_KEY in json:
        return lambda: _checked(file, lambda: ranks.parse_plugin(json, read(file.with_suffix(".tiktoken"))))
    for recognized, parse in (
        (isinstance(json.get("model"), dict), lambda: huggingface.parse(data)),
        (tekken.is_tekken(json), lambda: tekken.parse(json)),
        (char_bpe.is_char_bpe(json), lambda: char_bpe.parse(json).tokenizer()),
        (data.startswith(minbpe.MAGIC.partition(b" ")[0]), lambda: minbpe.parse(data)),
        (data.startswith(gguf.MAGIC), lambda: gguf.parse(data)),
        (sentencepiece.looks_like_model(data), lambda: sentencepiece.parse(data).tokenizer()),
    ):
        if recognized:
            return parse
    raise refusal(data)


def find_in(folder: Path) -> Path:
    """Return the tokenizer file in a folder."""
    for name in IN_FOLDERS:
        matches = sorted(file for file in folder.glob(name) if not file.name.startswith("."))
        if len(matches) == 1:
            return matches[0]
        if matches:
            raise FormatError(
                f"the folder {folder} holds several tokenizers, such as {matches[0].name} and "
                f"{matches[1].name}; pass the path of one"
            )
    if pickles := sorted(folder.glob("*.pkl")):
        return pickles[0]  # such as nanochat's tokenizer.pkl: the error says how to load it
    raise FormatError(
        f"the folder {folder} holds no known tokenizer file; looked for {', '.join(IN_FOLDERS)}"
    )


def _checked(file: Path, parse: Callable[[], Tokenizer]) -> Tokenizer:
    try:
        return parse()
    except MerganserError as error:
        raise FormatError(f"{file} holds no usable tokenizer: {error}") from error


def _from_huggingface(live: "tokenizers.Tokenizer") -> Tokenizer:
    try:
        return huggingface.from_live(live)
    except AttributeError:
        raise TokenizerError(
            "load takes a path, a tiktoken.Encoding, a tokenizers.Tokenizer or a fast transformers "
            f"tokenizer, got {type(live).__name__}"
        ) from None
    except BadFile as bad:
        raise TokenizerError(f"this {type(live).__name__} {bad}") from None


def _from_gpt2(
    file: Path, data: bytes, pattern: str | None, special_tokens: Mapping[str, int] | None
) -> Tokenizer:
    if special_tokens is not None:
        raise SettingsError(f"{file} already contains its special tokens; load it without special_tokens=")
    openai = file.name in (gpt2.OPENAI_VOCAB, gpt2.OPENAI_MERGES)
    names = (gpt2.OPENAI_VOCAB, gpt2.OPENAI_MERGES) if openai else (gpt2.VOCAB, gpt2.MERGES)
    if data.startswith(b"{"):
        vocab, merges = data, read(file.with_name(names[1]))
    else:
        vocab, merges = read(file.with_name(names[0])), data
    listed, pairs = two_files.checked(vocab, merges)
    if two_files.ends_words(listed):
        refuse_overrides(str(file), pattern, None)
        return two_files.word_ending(listed, pairs).tokenizer()
    config = file.with_name(huggingface.CONFIG)
    known = "gpt2" if openai else two_files.pattern_of(read(config) if config.is_file() else None)
    pattern = pattern or known
    try:
        mergeable_ranks, specials, merged = gpt2.parse(vocab, merges)
        tokenizer = _from_ranks(file, mergeable_ranks, pattern, specials)
        gpt2.check_merges(tokenizer, merged)
        return tokenizer
    except (BadFile, FormatError):
        return two_files.byte_level(listed, pairs, pattern or "gpt2").tokenizer()


def _from_ranks(
    file: Path, mergeable_ranks: dict[bytes, int], pattern: str | None, specials: Mapping[str, int] | None
) -> Tokenizer:
    if pattern is None:
        raise NeedsPattern(
            f"{file} does not contain a split pattern; pass pattern=, a regular expression or one of "
            f"{', '.join(preset_names())} (GPT-2 uses gpt2, cl100k_base gpt4, o200k_base o200k, Qwen qwen2)"
        )
    try:
        return ranks.tokenizer(mergeable_ranks, pattern, specials or {})
    except TokenizerError as error:
        raise FormatError(f"{file} holds no usable tokenizer: {error}") from error
