"""Loading: a tokenizer from a file of any known format, or from another library's object."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, cast

from merganser._core import preset_names
from merganser.errors import FormatError, MerganserError, SettingsError, TokenizerError
from merganser.formats import BadFile, gpt2, huggingface, native
from merganser.formats import tiktoken as ranks
from merganser.tokenizer import Tokenizer

if TYPE_CHECKING:
    import tiktoken
    import tokenizers


def load(
    source: "str | os.PathLike[str] | tiktoken.Encoding | tokenizers.Tokenizer",
    *,
    pattern: str | None = None,
    special_tokens: Mapping[str, int] | None = None,
) -> Tokenizer:
    """Reads a tokenizer.

    source: a file that `Tokenizer.save` wrote, or the folder that holds it; a `.tiktoken` file of ranks;
        GPT-2's `vocab.json` or `merges.txt`, which stand side by side, or their folder;
        Hugging Face's `tokenizer.json` of the byte-level BPE kind, or its folder; or a live
        `tiktoken.Encoding` or `tokenizers.Tokenizer`. Which format a file has is read from the
        file, not from its name.
    pattern, special_tokens: what a file of ranks does not say. It needs a pattern: a preset's name or a
        regular expression. GPT-2's files need the pattern only. All other sources say both themselves, and
        giving them is an error.

    Everything is checked and nothing is run; a file that is not whole or not right is a `FormatError`.

    >>> import merganser
    >>> trained = merganser.train(["low lower lowest"] * 9, 260)
    >>> load(trained.to_tiktoken()) == trained
    True
    """
    if not isinstance(source, str | os.PathLike):
        _refuse(f"a live {type(source).__name__}", pattern, special_tokens)
        if type(source).__module__.startswith("tokenizers"):
            return _from_huggingface(cast("tokenizers.Tokenizer", source))
        source = cast("tiktoken.Encoding", source)
        return ranks.from_encoding(source)
    file = Path(source)
    if file.is_dir():
        names = (native.FILE_NAME, huggingface.FILE, gpt2.VOCAB)
        file = next((file / name for name in names if (file / name).exists()), file / native.FILE_NAME)
    try:
        data = _read(file)
        if data.startswith(b"{") and isinstance(gpt2.read_json(data).get("model"), dict):
            _refuse(str(file), pattern, special_tokens)
            return huggingface.parse(data)
        if data.startswith((b"{", b"#version")):
            return _from_gpt2(file, data, pattern, special_tokens)
        if ranks.recognised(data):
            return _from_ranks(file, ranks.parse(data), pattern, special_tokens)
        if not data.startswith(native.MAGIC):
            raise BadFile(
                "is neither a merganser tokenizer nor a .tiktoken file of ranks, nor any other known format: "
                "its first line says so"
            )
        _refuse(str(file), pattern, special_tokens)
        return _from_native(file, data)
    except BadFile as bad:
        raise FormatError(f"{file} {bad}") from None


def is_tokenizer(source: str | os.PathLike[str]) -> bool:
    """Whether a file looks like a tokenizer, or a folder holds one; if so, `load` has the last word."""
    file = Path(source)
    if file.is_dir():
        return any((file / name).exists() for name in (native.FILE_NAME, huggingface.FILE, gpt2.VOCAB))
    if not file.is_file():
        return False
    if file.name in (huggingface.FILE, gpt2.VOCAB, gpt2.MERGES):
        return True
    with file.open("rb") as opened:
        start = opened.read(1 << 16)
    return start.startswith(native.MAGIC) or (file.suffix == ".tiktoken" and ranks.recognised(start))


def _read(file: Path) -> bytes:
    try:
        with file.open("rb") as opened:
            data = opened.read(native.MAX_FILE_BYTES + 1)
    except OSError as error:
        raise FormatError(f"cannot read the tokenizer {file}: {error.strerror}; check the path") from error
    if len(data) > native.MAX_FILE_BYTES:
        raise BadFile(f"is larger than {native.MAX_FILE_BYTES >> 20} MiB, which no tokenizer is")
    return data


def _from_native(file: Path, data: bytes) -> Tokenizer:
    try:
        return native.parse(data)
    except MerganserError as error:
        raise FormatError(f"{file} holds no usable tokenizer: {error}") from error


def _from_huggingface(live: "tokenizers.Tokenizer") -> Tokenizer:
    try:
        return huggingface.from_live(live)
    except AttributeError:
        raise TokenizerError(
            f"load takes a path, a tiktoken.Encoding or a tokenizers.Tokenizer, not {type(live).__name__}"
        ) from None
    except BadFile as bad:
        raise TokenizerError(f"this tokenizers.Tokenizer {bad}") from None


def _from_gpt2(
    file: Path, data: bytes, pattern: str | None, special_tokens: Mapping[str, int] | None
) -> Tokenizer:
    if special_tokens is not None:
        raise SettingsError(f"{file} says itself what its special tokens are; load it without them")
    if data.startswith(b"{"):
        vocab, merges = data, _read(file.with_name(gpt2.MERGES))
    else:
        vocab, merges = _read(file.with_name(gpt2.VOCAB)), data
    mergeable_ranks, specials, pairs = gpt2.parse(vocab, merges)
    tokenizer = _from_ranks(file, mergeable_ranks, pattern, specials)
    gpt2.check_merges(tokenizer, pairs)
    return tokenizer


def _from_ranks(
    file: Path, mergeable_ranks: dict[bytes, int], pattern: str | None, specials: Mapping[str, int] | None
) -> Tokenizer:
    if pattern is None:
        raise SettingsError(
            f"{file} holds tokens but not how to split text; pass pattern=, a regular expression or one of "
            f"{', '.join(preset_names())} (GPT-2 has gpt2, cl100k_base has gpt4, o200k_base has o200k, "
            "Qwen has qwen2)"
        )
    try:
        return Tokenizer(mergeable_ranks, pattern=pattern, special_tokens=specials)
    except TokenizerError as error:
        raise FormatError(f"{file} holds no usable tokenizer: {error}") from error


def _refuse(source: str, pattern: str | None, special_tokens: Mapping[str, int] | None) -> None:
    if pattern is not None or special_tokens is not None:
        raise SettingsError(
            f"{source} says itself what its pattern and special tokens are; load it without them, then make "
            "another with Tokenizer(loaded.mergeable_ranks, pattern=…, special_tokens=…)"
        )
