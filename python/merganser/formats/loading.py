"""Load a tokenizer from a file of any supported format, or from another library's live object."""

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from merganser._core import preset_names
from merganser.errors import FormatError, MerganserError, SettingsError, TokenizerError
from merganser.files import open_to_read
from merganser.formats import BadFile, gguf, gpt2, huggingface, minbpe, native, token_lengths
from merganser.formats import tiktoken as ranks
from merganser.tokenizer import Tokenizer

if TYPE_CHECKING:
    import tiktoken
    import tokenizers


#: Files looked for in a folder, in this order; a glob must match only one file.
_IN_FOLDERS = (
    native.FILE_NAME,
    huggingface.FILE,
    gpt2.VOCAB,
    f"{ranks.PLUGIN_FOLDER}/*.json",
    "*.gguf",
    "*.model",
    "*.tiktoken",
)


_CHUNK = 1 << 20


class NeedsPattern(SettingsError):
    """The file does not contain a split pattern, and none was passed."""


class HasPattern(SettingsError):
    """The source already contains a split pattern, and another one was passed."""


def load(
    source: "str | os.PathLike[str] | tiktoken.Encoding | tokenizers.Tokenizer",
    *,
    pattern: str | None = None,
    special_tokens: Mapping[str, int] | None = None,
) -> Tokenizer:
    """Load a tokenizer.

    The contents are validated, and no code in a file is ever executed. Hugging Face recognizes added tokens
    in any text, as `encode(text, allowed_special="all")` does here. The tokens that it adds around a text
    (bos, eos) are not part of the loaded tokenizer; use `prepend` and `append`.

    Parameters
    ----------
    source
        A file in one of these formats, or the folder that contains it: a file written by `Tokenizer.save`; a
        `.tiktoken` rank file or an exported tiktoken plugin; GPT-2's `vocab.json` and `merges.txt`; a Hugging
        Face byte-level BPE `tokenizer.json`; a minbpe `.model`; a llama.cpp GGUF file. Or a live
        `tiktoken.Encoding`, `tokenizers.Tokenizer` or fast transformers tokenizer. The format is determined
        by the contents of a file, not by its name.
    pattern
        The split pattern, a preset's name or a regular expression. Required for rank files and GPT-2's files,
        an error for all other sources, which contain their pattern.
    special_tokens
        Special tokens with their ids. Optional for rank files, an error for all other sources.

    Returns
    -------
    Tokenizer
        A tokenizer that encodes all text exactly as the source does.

    Raises
    ------
    FormatError
        If a file cannot be read, is corrupt, or describes a tokenizer that merganser cannot reproduce
        exactly.
    TokenizerError
        If a live object cannot be reproduced exactly.
    SettingsError
        If `pattern` is required and missing, or if `pattern` or `special_tokens` is not accepted.

    Examples
    --------
    >>> import merganser
    >>> trained = merganser.train(["low lower lowest"] * 9, 260)
    >>> load(trained.to_tiktoken()) == trained
    True
    """
    if not isinstance(source, str | os.PathLike):
        _refuse_overrides(f"a live {type(source).__name__}", pattern, special_tokens)
        if any(kind.__module__.startswith(("tokenizers", "transformers")) for kind in type(source).__mro__):
            return _from_huggingface(cast("tokenizers.Tokenizer", source))
        source = cast("tiktoken.Encoding", source)
        return ranks.from_encoding(source)
    file = Path(source)
    if file.is_dir():
        file = _find_in(file)
    try:
        data = _read(file)
        if ranks.looks_like_ranks(data):
            return _from_ranks(file, ranks.parse(data), pattern, special_tokens)
        json = gpt2.parse_json(data) if data.startswith(b"{") else {}
        is_gpt2 = data.startswith(b"#version") or (json and ranks.PLUGIN_KEY not in json)
        if is_gpt2 and not isinstance(json.get("model"), dict):
            return _from_gpt2(file, data, pattern, special_tokens)
        parse = _parser(file, data, json)
        _refuse_overrides(str(file), pattern, special_tokens)
        return parse()
    except BadFile as bad:
        raise FormatError(f"{file} {bad}") from None


def is_tokenizer(source: str | os.PathLike[str]) -> bool:
    """Return whether a file looks like a tokenizer or a folder seems to hold one; `load` may refuse it."""
    file = Path(source)
    if file.is_dir():
        return any(any(file.glob(name)) for name in _IN_FOLDERS)
    if not file.is_file():
        return False
    if file.name in (huggingface.FILE, gpt2.VOCAB, gpt2.MERGES) or ranks.PLUGIN_FOLDER in file.parts:
        return True
    with file.open("rb") as opened:
        start = opened.read(1 << 16)
    known = (native.MAGIC, gguf.MAGIC, minbpe.MAGIC.partition(b" ")[0])
    return start.startswith(known) or (file.suffix == ".tiktoken" and ranks.looks_like_ranks(start))


def _parser(file: Path, data: bytes, json: dict[str, Any]) -> Callable[[], Tokenizer]:
    """Return the parser of a file that needs no settings, recognized by how it begins."""
    if ranks.PLUGIN_KEY in json:
        return lambda: _checked(file, lambda: ranks.parse_plugin(json, _read(file.with_suffix(".tiktoken"))))
    if isinstance(json.get("model"), dict):
        return lambda: huggingface.parse(data)
    if data.startswith(native.MAGIC):
        return lambda: _checked(file, lambda: native.parse(data))
    if data.startswith(minbpe.MAGIC.partition(b" ")[0]):
        return lambda: minbpe.parse(data)
    if data.startswith(gguf.MAGIC):
        return lambda: gguf.parse(data)
    if data.startswith(token_lengths.MAGIC):
        raise token_lengths.not_a_tokenizer()
    if data.startswith(b"\x80"):
        raise BadFile(
            "is a pickle; reading it would execute the code in it, which merganser never does; if you trust "
            "the file, unpickle it yourself: merganser.load(pickle.load(file)) accepts a tiktoken.Encoding"
        )
    if data.startswith(b"PK\x03\x04"):
        raise BadFile(
            "is a zip file, as written by torch.save; reading it would execute the code in it, which "
            "merganser never does; pass the file of the tokenizer, or export it with the program that wrote "
            "this one"
        )
    raise BadFile(
        "is not in a known tokenizer format, judging by its first bytes; pass a file of merganser, tiktoken, "
        "Hugging Face, GPT-2, minbpe or llama.cpp (GGUF)"
    )


def _find_in(folder: Path) -> Path:
    for name in _IN_FOLDERS:
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
        f"the folder {folder} holds no known tokenizer file; looked for {', '.join(_IN_FOLDERS)}"
    )


def _read(file: Path) -> bytes:
    """Read a file; of GGUF, which may also contain the tensors of a model, only the start."""
    try:
        with open_to_read(file) as opened:
            # In chunks: reading up to the limit in one call would allocate that much memory.
            chunks = [opened.read(_CHUNK)]
            is_gguf = chunks[0].startswith(gguf.MAGIC)
            limit = gguf.MAX_HEADER_BYTES if is_gguf else native.MAX_FILE_BYTES
            size = len(chunks[0])
            while size <= limit and (chunk := opened.read(_CHUNK)):
                chunks.append(chunk)
                size += len(chunk)
    except OSError as error:
        raise FormatError(f"cannot read the tokenizer {file}: {error.strerror}; check the path") from error
    except ValueError as error:  # a path with a NUL
        raise FormatError(f"cannot read the tokenizer {str(file)!r}: {error}; check the path") from error
    if size > limit and not is_gguf:
        raise BadFile(
            f"is larger than {native.MAX_FILE_BYTES >> 20} MiB and cannot be a tokenizer; check the path"
        )
    return b"".join(chunks)


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
            f"{file} does not contain a split pattern; pass pattern=, a regular expression or one of "
            f"{', '.join(preset_names())} (GPT-2 uses gpt2, cl100k_base gpt4, o200k_base o200k, Qwen qwen2)"
        )
    try:
        return Tokenizer(mergeable_ranks, pattern=pattern, special_tokens=specials)
    except TokenizerError as error:
        raise FormatError(f"{file} holds no usable tokenizer: {error}") from error


def _refuse_overrides(source: str, pattern: str | None, special_tokens: Mapping[str, int] | None) -> None:
    if pattern is not None or special_tokens is not None:
        raise HasPattern(
            f"{source} already contains its pattern and special tokens; load it without them, then create a "
            "variant with Tokenizer(loaded.mergeable_ranks, pattern=…, special_tokens=…)"
        )
