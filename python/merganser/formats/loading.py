"""Load a tokenizer from a file of any supported format, or from another library's live object.

Files that `Tokenizer.save` wrote, and rank files like tiktoken's, are read here, with few imports;
`recognizing` reads all others.
"""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from merganser import _core
from merganser.errors import FormatError, MerganserError, SettingsError
from merganser.formats import BadFile, native
from merganser.formats.overrides import refuse_overrides
from merganser.formats.reading import read
from merganser.tokenizer import Tokenizer

if TYPE_CHECKING:
    import tiktoken
    import tokenizers


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
    if isinstance(source, str) and not _exists(source):
        from merganser.formats import names

        if names.is_name(source):
            refuse_overrides(source, pattern, special_tokens)
            source, revision = names.resolve(source, revision), None
    if revision is not None:
        raise SettingsError(f"revision is for repositories of the hub, and {source} is none; leave it out")
    if not isinstance(source, str | os.PathLike):
        from merganser.formats import recognizing

        refuse_overrides(f"a live {type(source).__name__}", pattern, special_tokens)
        return recognizing.from_live(source)
    file = Path(source)
    if file.is_dir():
        file = _find_in(file)
    try:
        data = read(file)
        if data.startswith(native.MAGIC):
            refuse_overrides(str(file), pattern, special_tokens)
            return _parse(file, data)
        if pattern is not None and (found := _from_ranks(data, pattern, special_tokens or {})):
            return found
        from merganser.formats import recognizing

        return recognizing.parse(file, data, pattern, special_tokens)
    except BadFile as bad:
        raise FormatError(f"{file} {bad}") from None


def _exists(name: str) -> bool:
    try:
        return Path(name).exists()
    except (OSError, ValueError):  # too long, or with a NUL
        return True


def _parse(file: Path, data: bytes) -> Tokenizer:
    try:
        return native.parse(data)
    except MerganserError as error:
        raise FormatError(f"{file} holds no usable tokenizer: {error}") from error


def _from_ranks(data: bytes, pattern: str, special_tokens: Mapping[str, int]) -> Tokenizer | None:
    """Return the tokenizer in a rank file like tiktoken's own, without a Python object for each token.

    Returns None for other files, such as one that is not in order of ids. `recognizing` reads them, or says
    what is wrong.
    """
    if native.has_too_many_lines(data, 0, len(data)):
        return None
    specials = dict(special_tokens)
    try:
        model, _, _ = _core.Model.from_lines(data, 0, len(data), 0, native.MAX_TOKEN_BYTES, pattern, specials)
    except (MerganserError, TypeError, UnicodeEncodeError):
        return None
    return Tokenizer._of(model, {}, {})


def _find_in(folder: Path) -> Path:
    if (file := folder / native.FILE_NAME).is_file():
        return file
    from merganser.formats import recognizing

    return recognizing.find_in(folder)
