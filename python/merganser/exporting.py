"""Exporting: a tokenizer as the files of another library.

What is to be written is made in memory and read back first: only if that is the same tokenizer do files
appear, each whole or not at all. A format that cannot hold the tokenizer exactly refuses it with an
`ExportError`.
"""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias, get_args

from merganser.errors import ExportError, SettingsError, WriteError
from merganser.files import written_whole
from merganser.formats import BadFile

if TYPE_CHECKING:
    from merganser.chat.template import Template
    from merganser.tokenizer import Tokenizer

ExportFormat: TypeAlias = Literal["tiktoken", "huggingface", "gpt2"]
FORMATS: tuple[str, ...] = get_args(ExportFormat)


def export(
    tokenizer: "Tokenizer",
    path: str | os.PathLike[str],
    format: ExportFormat,
    chat: "Template | None" = None,
) -> list[Path]:
    """Writes the files of a format; gives their paths."""
    if format not in FORMATS:
        raise SettingsError(f"no export format is called {format!r}; there are {', '.join(FORMATS)}")
    if chat is not None and format != "huggingface":
        raise SettingsError(f"{format} has no chat templates; leave chat out, or export to huggingface")
    if format == "tiktoken":
        return [_write(Path(path), _tiktoken(tokenizer))]
    files = _huggingface(tokenizer, chat) if format == "huggingface" else _gpt2(tokenizer)
    return _write_folder(Path(path), files)


def _tiktoken(tokenizer: "Tokenizer") -> bytes:
    from merganser.formats import tiktoken

    data = tiktoken.contents(tokenizer)
    _check("tiktoken", tiktoken.parse(data) == tokenizer.mergeable_ranks)
    return data


def _gpt2(tokenizer: "Tokenizer") -> dict[str, bytes]:
    from merganser.formats import gpt2

    files = gpt2.contents(tokenizer)
    try:
        ranks, specials, _ = gpt2.parse(files[gpt2.VOCAB], files[gpt2.MERGES])
    except BadFile as bad:
        raise ExportError(f"the export {bad}") from None
    _check("gpt2", (ranks, specials) == (tokenizer.mergeable_ranks, tokenizer.special_tokens))
    return files


def _huggingface(tokenizer: "Tokenizer", chat: "Template | None") -> dict[str, bytes]:
    from merganser.formats import huggingface

    files = huggingface.contents(tokenizer, chat)
    try:
        back = huggingface.parse(files[huggingface.FILE])
    except BadFile as bad:
        raise ExportError(f"the export {bad}") from None
    _check("huggingface", back == tokenizer)
    return files


def _check(format: str, same: bool) -> None:
    if not same:
        raise ExportError(f"{format} cannot hold this tokenizer: what would be read back is not the same")


def _write_folder(folder: Path, files: dict[str, bytes]) -> list[Path]:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise WriteError(
            f"cannot make the folder {folder}: {error.strerror}; choose another place"
        ) from error
    return [_write(folder / name, data) for name, data in files.items()]


def _write(file: Path, data: bytes) -> Path:
    with written_whole(file) as opened:
        opened.write(data)
    return file
