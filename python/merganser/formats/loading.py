"""Loading: a tokenizer from a file of any known format, or from another library's object."""

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from merganser._core import preset_names
from merganser.errors import FormatError, MerganserError, SettingsError, TokenizerError
from merganser.formats import BadFile, gguf, gpt2, huggingface, minbpe, native, token_lengths
from merganser.formats import tiktoken as ranks
from merganser.tokenizer import Tokenizer

if TYPE_CHECKING:
    import tiktoken
    import tokenizers


#: What is looked for in a folder, in this order; of those with a star there must be one only.
_IN_FOLDERS = (
    native.FILE_NAME,
    huggingface.FILE,
    gpt2.VOCAB,
    f"{ranks.FOLDER}/*.json",
    "*.gguf",
    "*.model",
    "*.tiktoken",
)


_PART = 1 << 20


class NeedsPattern(SettingsError):
    """The file does not say how to split text."""


class HasPattern(SettingsError):
    """The source says itself how to split text."""


def load(
    source: "str | os.PathLike[str] | tiktoken.Encoding | tokenizers.Tokenizer",
    *,
    pattern: str | None = None,
    special_tokens: Mapping[str, int] | None = None,
) -> Tokenizer:
    """Reads a tokenizer.

    source: a file that `Tokenizer.save` wrote; a `.tiktoken` file of ranks, or the folder of a plug-in that
        `export` wrote; GPT-2's `vocab.json` or `merges.txt`, which stand side by side; Hugging Face's
        `tokenizer.json` of the byte-level BPE kind; minbpe's `.model`; llama.cpp's GGUF; or the folder that
        holds one of them; or a live `tiktoken.Encoding`, `tokenizers.Tokenizer` or fast tokenizer of
        transformers. Which format a file has is read from the file, not from its name.
    pattern, special_tokens: what a file of ranks does not say. It needs a pattern: a preset's name or a
        regular expression. GPT-2's files need the pattern only. All other sources say both themselves, and
        giving them is an error.

    Everything is checked and nothing is run; a file that is not whole or not right is a `FormatError`.
    Hugging Face finds its added tokens in any text, as `encode(text, allowed_special="all")` does here; what
    it puts before and behind a text (bos, eos) is no part of the tokenizer here: see `prepend` and `append`.

    >>> import merganser
    >>> trained = merganser.train(["low lower lowest"] * 9, 260)
    >>> load(trained.to_tiktoken()) == trained
    True
    """
    if not isinstance(source, str | os.PathLike):
        _refuse(f"a live {type(source).__name__}", pattern, special_tokens)
        if any(kind.__module__.startswith(("tokenizers", "transformers")) for kind in type(source).__mro__):
            return _from_huggingface(cast("tokenizers.Tokenizer", source))
        source = cast("tiktoken.Encoding", source)
        return ranks.from_encoding(source)
    file = Path(source)
    if file.is_dir():
        file = _found_in(file)
    try:
        data = _read(file)
        if ranks.recognised(data):
            return _from_ranks(file, ranks.parse(data), pattern, special_tokens)
        whole = gpt2.read_json(data) if data.startswith(b"{") else {}
        is_pair = data.startswith(b"#version") or (whole and ranks.MARK not in whole)
        if is_pair and not isinstance(whole.get("model"), dict):
            return _from_gpt2(file, data, pattern, special_tokens)
        parse = _parser(file, data, whole)
        _refuse(str(file), pattern, special_tokens)
        return parse()
    except BadFile as bad:
        raise FormatError(f"{file} {bad}") from None


def is_tokenizer(source: str | os.PathLike[str]) -> bool:
    """Whether a file looks like a tokenizer, or a folder holds one; if so, `load` has the last word."""
    file = Path(source)
    if file.is_dir():
        return any(any(file.glob(name)) for name in _IN_FOLDERS)
    if not file.is_file():
        return False
    if file.name in (huggingface.FILE, gpt2.VOCAB, gpt2.MERGES) or ranks.FOLDER in file.parts:
        return True
    with file.open("rb") as opened:
        start = opened.read(1 << 16)
    known = (native.MAGIC, gguf.MAGIC, minbpe.MAGIC.partition(b" ")[0])
    return start.startswith(known) or (file.suffix == ".tiktoken" and ranks.recognised(start))


def _parser(file: Path, data: bytes, whole: dict[str, Any]) -> Callable[[], Tokenizer]:
    """What reads a file that says everything itself, by how it begins."""
    if ranks.MARK in whole:
        return lambda: _usable(file, lambda: ranks.parse_plugin(whole, _read(file.with_suffix(".tiktoken"))))
    if isinstance(whole.get("model"), dict):
        return lambda: huggingface.parse(data)
    if data.startswith(native.MAGIC):
        return lambda: _usable(file, lambda: native.parse(data))
    if data.startswith(minbpe.MAGIC.partition(b" ")[0]):
        return lambda: minbpe.parse(data)
    if data.startswith(gguf.MAGIC):
        return lambda: gguf.parse(data)
    if data.startswith(token_lengths.MAGIC):
        raise token_lengths.refused()
    if data.startswith((b"\x80", b"PK\x03\x04")):
        raise BadFile(
            "is a pickle or a zip file, as torch.save and pickle.dump write them: to load one is to run the "
            "code in it, which is never done here; export the tokenizer to another format where it was made"
        )
    raise BadFile(
        "is neither a merganser tokenizer nor a .tiktoken file of ranks, nor any other known format: "
        "its first line says so"
    )


def _found_in(folder: Path) -> Path:
    for name in _IN_FOLDERS:
        found = sorted(file for file in folder.glob(name) if not file.name.startswith("."))
        if len(found) == 1:
            return found[0]
        if found:
            raise FormatError(
                f"the folder {folder} holds several tokenizers, {found[0].name} and {found[1].name} among "
                "them; name one"
            )
    raise FormatError(
        f"the folder {folder} holds no tokenizer that is known: looked for {', '.join(_IN_FOLDERS)}"
    )


def _read(file: Path) -> bytes:
    """A file, or of GGUF's, which may have the tensors of a model as well, the beginning."""
    try:
        with file.open("rb") as opened:
            # In parts: to ask for as much as a file may have would take that much memory.
            parts = [opened.read(_PART)]
            is_gguf = parts[0].startswith(gguf.MAGIC)
            limit = gguf.MAX_HEADER_BYTES if is_gguf else native.MAX_FILE_BYTES
            size = len(parts[0])
            while size <= limit and (part := opened.read(_PART)):
                parts.append(part)
                size += len(part)
    except OSError as error:
        raise FormatError(f"cannot read the tokenizer {file}: {error.strerror}; check the path") from error
    except ValueError as error:  # a path with a NUL
        raise FormatError(f"cannot read the tokenizer {str(file)!r}: {error}; check the path") from error
    if size > limit and not is_gguf:
        raise BadFile(f"is larger than {native.MAX_FILE_BYTES >> 20} MiB, which no tokenizer is")
    return b"".join(parts)


def _usable(file: Path, parse: Callable[[], Tokenizer]) -> Tokenizer:
    try:
        return parse()
    except MerganserError as error:
        raise FormatError(f"{file} holds no usable tokenizer: {error}") from error


def _from_huggingface(live: "tokenizers.Tokenizer") -> Tokenizer:
    try:
        return huggingface.from_live(live)
    except AttributeError:
        raise TokenizerError(
            "load takes a path, a tiktoken.Encoding, a tokenizers.Tokenizer or a fast tokenizer of "
            f"transformers, not {type(live).__name__}"
        ) from None
    except BadFile as bad:
        raise TokenizerError(f"this {type(live).__name__} {bad}") from None


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
        raise NeedsPattern(
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
        raise HasPattern(
            f"{source} says itself what its pattern and special tokens are; load it without them, then make "
            "another with Tokenizer(loaded.mergeable_ranks, pattern=…, special_tokens=…)"
        )
