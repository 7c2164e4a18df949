"""Exporting: a tokenizer as the files of another library.

What is to be written is made in memory and read back first: only if that is the same tokenizer, and gives the
same ids in the library that will read it (`merganser.verification`), do files appear, each whole or not at
all. A format that cannot hold the tokenizer exactly refuses it with an `ExportError`.
"""

import os
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Literal, NamedTuple, TypeAlias, get_args

from merganser.chat.render import Chat
from merganser.chat.template import SPECIAL_TOKENS, Template
from merganser.engines.local import ProgressCallback
from merganser.errors import ChatError, ExportError, MerganserWarning, SettingsError
from merganser.files import check_folder, make_folder, written_whole
from merganser.formats import BadFile, gguf, gpt2, huggingface, minbpe, tiktoken, token_lengths
from merganser.tokenizer import Tokenizer
from merganser.verification import Pretokens, verify_export
from merganser.verification.readers import readers

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
    on: Pretokens | None = None,
    chat: Template | None = None,
    roles: Mapping[str, str] | None = None,
    progress: ProgressCallback | None = None,
) -> list[Path]:
    """Writes the files of a format; gives their paths."""
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
        files = _huggingface(tokenizer, chat, roles or {})
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


def _huggingface(tokenizer: Tokenizer, chat: Template | None, roles: Mapping[str, str]) -> Files:
    """Return Hugging Face's files, with a chat template if one is given or implied by nanochat's tokens.

    The token that ends an answer becomes `eos_token`, because that is where generation must stop.
    `apply_chat_template` gives the ids and the mask of `Chat.render`, with one exception: if text directly
    precedes a tool's output, transformers masks all but the first token of the text's last character.
    """
    if chat is None and tokenizer.special_tokens.keys() >= set(SPECIAL_TOKENS):
        chat = Template()
    if chat is None:
        return huggingface.contents(tokenizer, roles)
    template = Chat(tokenizer, chat).template  # refuses one whose tokens the tokenizer lacks
    try:
        jinja = template.to_jinja(tokenizer.special_tokens)
    except ChatError as error:
        raise ExportError(f"the chat template cannot be exported: {error}") from None
    return huggingface.contents(
        tokenizer, {"bos": template.bos, "eos": template.assistant_end, **roles}, jinja
    )


def _write(folder: Path, files: Files) -> list[Path]:
    for file in (folder / name for name in files):
        make_folder(file.parent, "choose another place")
    for name, data in files.items():
        with written_whole(folder / name) as opened:
            opened.write(data)
    return [folder / name for name in files]
