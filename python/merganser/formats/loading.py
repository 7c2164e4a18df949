"""Load a tokenizer from a file of any supported format, or from another library's live object."""

import os
import zlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from merganser._core import preset_names
from merganser.errors import FormatError, MerganserError, SettingsError, TokenizerError
from merganser.files import open_to_read
from merganser.formats import (
    BadFile,
    char_bpe,
    gguf,
    gpt2,
    huggingface,
    minbpe,
    names,
    native,
    sentencepiece,
    tekken,
    two_files,
)
from merganser.formats import tiktoken as ranks
from merganser.formats.refusing import refusal
from merganser.tokenizer import Tokenizer

if TYPE_CHECKING:
    import tiktoken
    import tokenizers


#: Files looked for in a folder, in this order; a glob must match only one file.
_IN_FOLDERS = (
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


_CHUNK = 1 << 20
_GZIP = b"\x1f\x8b"
#: Far above any list of ranks.
_MAX_UNZIPPED = 1 << 27


class NeedsPattern(SettingsError):
    """The file does not contain a split pattern, and none was passed."""


class HasPattern(SettingsError):
    """The source already contains a split pattern, and another one was passed."""


def load(
    source: "str | os.PathLike[str] | tiktoken.Encoding | tokenizers.Tokenizer",
    *,
    pattern: str | None = None,
    special_tokens: Mapping[str, int] | None = None,
    revision: str | None = None,
) -> Tokenizer:
    """Load a tokenizer.

    The contents are validated, and no code in a file is ever executed. Every BPE tokenizer is read exactly;
    Unigram and WordPiece models are not BPE, and the error names the library that reads them.
    docs/what-loads.md lists what loads, and what is left out with a `MerganserWarning`.

    Parameters
    ----------
    source
        A file, or the folder that contains it: a file written by `Tokenizer.save`; a Hugging Face
        `tokenizer.json`; a SentencePiece `tokenizer.model`; Mistral's `tekken.json`; a `.tiktoken` rank file,
        also gzipped, or an exported tiktoken plugin; `vocab.json` and `merges.txt`, or OpenAI's
        `encoder.json` and `vocab.bpe`; a minbpe `.model`; a llama.cpp GGUF file. The format is determined by
        the contents of a file, not by its name. Or a name: an encoding or a model of an installed tiktoken
        (`cl100k_base`, `gpt-4o`), or a repository of the Hugging Face hub (`Qwen/Qwen3-8B`) through an
        installed huggingface_hub, from its cache if it is there. `tiktoken:`, `hf:` and `transformers:`
        before a name say which library is meant. Or a live `tiktoken.Encoding`, `tokenizers.Tokenizer` or
        fast transformers tokenizer.
    pattern
        The split pattern, a preset's name or a regular expression. Required for rank files and GPT-2's files,
        an error for all other sources, which contain their pattern.
    special_tokens
        Special tokens with their ids. Optional for rank files, an error for all other sources.
    revision
        The branch, tag or commit of a repository on the hub; its main branch by default.

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
        If `pattern` is required and missing, or if `pattern`, `special_tokens` or `revision` is not accepted.
    ImportError
        If a name needs a library that is not installed.

    Examples
    --------
    >>> import merganser
    >>> trained = merganser.train(["low lower lowest"] * 9, 260)
    >>> load(trained.to_tiktoken()) == trained
    True
    """
    named = isinstance(source, str) and not _exists(source) and names.is_name(source)
    if revision is not None and not named:
        raise SettingsError(f"revision is for repositories of the hub, and {source} is none; leave it out")
    if named:
        _refuse_overrides(str(source), pattern, special_tokens)
        source = names.resolve(str(source), revision)
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
        if data.startswith(b"#version") or _is_vocabulary(json):
            return _from_gpt2(file, data, pattern, special_tokens)
        parse = _parser(file, data, json)
        _refuse_overrides(str(file), pattern, special_tokens)
        return parse()
    except BadFile as bad:
        raise FormatError(f"{file} {bad}") from None


def _exists(name: str) -> bool:
    try:
        return Path(name).exists()
    except (OSError, ValueError):  # too long, or with a NUL
        return True


def _is_vocabulary(json: dict[str, Any]) -> bool:
    """Return whether a JSON object maps tokens to ids, and is not one of the other formats."""
    others = ranks.PLUGIN_KEY in json or isinstance(json.get("model"), dict)
    return bool(json) and not (others or tekken.is_tekken(json) or char_bpe.is_char_bpe(json))


def is_tokenizer(source: str | os.PathLike[str]) -> bool:
    """Return whether a file looks like a tokenizer or a folder seems to hold one; `load` may refuse it."""
    file = Path(source)
    if file.is_dir():
        return any(any(file.glob(name)) for name in _IN_FOLDERS)
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


def _parser(file: Path, data: bytes, json: dict[str, Any]) -> Callable[[], Tokenizer]:
    """Return the parser of a file that needs no settings, recognized by how it begins."""
    if ranks.PLUGIN_KEY in json:
        return lambda: _checked(file, lambda: ranks.parse_plugin(json, _read(file.with_suffix(".tiktoken"))))
    if data.startswith(native.MAGIC):
        return lambda: _checked(file, lambda: native.parse(data))
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
        near = names.nearest_encoding(str(file)) if isinstance(error, FileNotFoundError) else ""
        raise FormatError(
            f"cannot read the tokenizer {file}: {error.strerror}; check the path{near}"
        ) from error
    except ValueError as error:  # a path with a NUL
        raise FormatError(f"cannot read the tokenizer {str(file)!r}: {error}; check the path") from error
    if size > limit and not is_gguf:
        raise _too_large(native.MAX_FILE_BYTES)
    data = b"".join(chunks)
    return _unzipped(data) if data.startswith(_GZIP) else data


def _unzipped(data: bytes) -> bytes:
    """Return gzipped data; a small file that would become large is refused before it does."""
    inflater = zlib.decompressobj(wbits=31)
    try:
        unzipped = inflater.decompress(data, _MAX_UNZIPPED)
    except zlib.error as error:
        raise BadFile(f"is corrupt: it is gzipped, but {error}; get a fresh copy") from None
    if inflater.unconsumed_tail:
        raise _too_large(_MAX_UNZIPPED)
    if not inflater.eof:
        raise BadFile("is corrupt: it is gzipped and truncated; get a fresh copy")
    return unzipped


def _too_large(limit: int) -> BadFile:
    return BadFile(f"is larger than {limit >> 20} MiB and cannot be a tokenizer; check the path")


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
        vocab, merges = data, _read(file.with_name(names[1]))
    else:
        vocab, merges = _read(file.with_name(names[0])), data
    listed, pairs = two_files.checked(vocab, merges)
    if two_files.ends_words(listed):
        _refuse_overrides(str(file), pattern, None)
        return two_files.word_ending(listed, pairs).tokenizer()
    config = file.with_name(huggingface.CONFIG)
    known = "gpt2" if openai else two_files.pattern_of(_read(config) if config.is_file() else None)
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


def _refuse_overrides(source: str, pattern: str | None, special_tokens: Mapping[str, int] | None) -> None:
    if pattern is not None or special_tokens is not None:
        raise HasPattern(
            f"{source} already contains its pattern and special tokens; load it without them, then create a "
            "variant with Tokenizer(loaded.mergeable_ranks, pattern=…, special_tokens=…)"
        )
