"""Exporting: a tokenizer as the files of another library.

What is to be written is made in memory and read back first: only if that is the same tokenizer, and gives the
same ids in the library that will read it (`merganser.verification`), do files appear, each whole or not at
all. A format that cannot hold the tokenizer exactly refuses it with an `ExportError`.
"""

import os
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias, get_args

from merganser.errors import ExportError, MerganserWarning, SettingsError
from merganser.files import check_folder, make_folder, written_whole
from merganser.formats import BadFile, gguf, gpt2, huggingface, minbpe, tiktoken, token_lengths
from merganser.tokenizer import Tokenizer

if TYPE_CHECKING:
    from merganser.chat.template import Template
    from merganser.engines.local import ProgressCallback
    from merganser.verification import Pretokens

ExportFormat: TypeAlias = Literal["tiktoken", "huggingface", "gpt2", "minbpe", "gguf", "token-lengths"]
FORMATS: tuple[str, ...] = get_args(ExportFormat)
Files: TypeAlias = dict[str, bytes]


class _Format(NamedTuple):
    #: The files by their paths below the folder; the second argument is the folder's name, or the file's.
    contents: Callable[[Tokenizer, str], Files]
    #: Reads them back: whether all that they say of the tokenizer is so.
    same: Callable[[Files, Tokenizer], bool]
    #: A path that ends so is a file; any other is a folder.
    suffixes: tuple[str, ...] = ()
    #: Where those who read it may still depart from us, if that is known: a warning says so.
    caution: str | None = None


_TABLE: dict[str, _Format] = {
    "tiktoken": _Format(tiktoken.contents, tiktoken.same, (".tiktoken",)),
    "huggingface": _Format(
        lambda tokenizer, _: huggingface.contents(tokenizer),
        lambda files, tokenizer: huggingface.parse(files[huggingface.FILE]) == tokenizer,
    ),
    "gpt2": _Format(gpt2.contents, gpt2.same),
    "minbpe": _Format(minbpe.contents, minbpe.same, (".model",)),
    "gguf": _Format(gguf.contents, gguf.same, (".gguf",), gguf.CAUTION),
    "token-lengths": _Format(token_lengths.contents, token_lengths.same, (".npy", ".pt")),
}


def export(
    tokenizer: Tokenizer,
    path: str | os.PathLike[str],
    format: ExportFormat,
    on: "Pretokens | None" = None,
    chat: "Template | None" = None,
    roles: Mapping[str, str] | None = None,
    progress: "ProgressCallback | None" = None,
) -> list[Path]:
    """Writes the files of a format; gives their paths."""
    from merganser.verification import verify_export
    from merganser.verification.readers import readers

    if format not in _TABLE:
        raise SettingsError(f"no export format is called {format!r}; there are {', '.join(FORMATS)}")
    if chat is not None and format != "huggingface":
        raise SettingsError(f"{format} has no chat templates; leave out chat=, or export to huggingface")
    if roles and format != "huggingface":
        raise SettingsError(f"{format} has no roles to set; leave out roles=, or export to huggingface")
    contents, same, suffixes, caution = _TABLE[format]
    target = Path(path)
    folder = target.parent if target.suffix in suffixes else target
    check_folder(folder, "choose another place")
    if format == "huggingface":
        files = huggingface.contents(tokenizer, chat, roles)
    else:
        files = contents(tokenizer, target.name or target.resolve().name)
    try:
        if not same(files, tokenizer):
            raise BadFile(f"is not the same tokenizer when it is read back; {format} cannot hold this one")
    except BadFile as bad:
        raise ExportError(f"the export {bad}") from None
    verify_export(tokenizer, readers(tokenizer, format, files), on, progress)
    written = _write(folder, files)
    if caution:
        warnings.warn(caution, MerganserWarning, stacklevel=3)
    return written


def _write(folder: Path, files: Files) -> list[Path]:
    for file in (folder / name for name in files):
        make_folder(file.parent, "choose another place")
    for name, data in files.items():
        with written_whole(folder / name) as opened:
            opened.write(data)
    return [folder / name for name in files]
