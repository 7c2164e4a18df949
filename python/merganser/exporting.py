"""Export a tokenizer to the files of another library.

The files are built in memory and read back first. They are written, each atomically, only if they hold the
same tokenizer and produce the same ids in the library that will read them (`merganser.verification`). A
format that cannot hold the tokenizer exactly raises an `ExportError`.
"""

import os
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Literal, NamedTuple, TypeAlias, get_args

from merganser.chat.jinja import JinjaTemplate
from merganser.chat.render import Chat
from merganser.chat.template import SPECIAL_TOKENS, Template
from merganser.engines.local import ProgressCallback
from merganser.errors import ChatError, ExportError, MerganserWarning, SettingsError, did_you_mean
from merganser.files import check_folder, make_folder, written_whole
from merganser.formats import (
    BadFile,
    check_plain,
    gguf,
    gpt2,
    huggingface,
    minbpe,
    sentencepiece,
    tiktoken,
    token_lengths,
)
from merganser.tokenizer import Tokenizer
from merganser.verification import Pretokens, verify_export
from merganser.verification.readers import readers

ExportFormat: TypeAlias = Literal[
    "tiktoken", "huggingface", "gpt2", "minbpe", "gguf", "sentencepiece", "token-lengths"
]
FORMATS: tuple[str, ...] = get_args(ExportFormat)
Files: TypeAlias = dict[str, bytes]


class _Format(NamedTuple):
    #: Builds the files by relative path; the second argument is the name of the target folder or file.
    contents: Callable[[Tokenizer, str], Files]
    #: Reads the files back and returns whether they hold the tokenizer.
    matches: Callable[[Files, Tokenizer], bool]
    #: A path with one of these suffixes is a file; any other path is a folder.
    suffixes: tuple[str, ...] = ()
    #: A warning about known differences in the library that reads the files.
    caution: str | None = None


_FORMATS: dict[str, _Format] = {
    "tiktoken": _Format(tiktoken.contents, tiktoken.matches, (".tiktoken",)),
    "huggingface": _Format(
        lambda tokenizer, _: huggingface.contents(tokenizer),
        # One with stages may be read back as other stages with the same ids, which verification compares.
        lambda files, tokenizer: (
            tokenizer.has_stages or huggingface.parse(files[huggingface.FILE]) == tokenizer
        ),
    ),
    "gpt2": _Format(gpt2.contents, gpt2.matches),
    "minbpe": _Format(minbpe.contents, minbpe.matches, (".model",)),
    "gguf": _Format(gguf.contents, gguf.matches, (".gguf",), gguf.CAUTION),
    "sentencepiece": _Format(sentencepiece.contents, sentencepiece.matches, (".model",)),
    "token-lengths": _Format(token_lengths.contents, token_lengths.matches, (".npy", ".pt")),
}


def export(
    tokenizer: Tokenizer,
    path: str | os.PathLike[str],
    format: ExportFormat,
    on: Pretokens | None = None,
    chat: Template | JinjaTemplate | None = None,
    roles: Mapping[str, str] | None = None,
    progress: ProgressCallback | None = None,
) -> list[Path]:
    """Write a tokenizer to the files of a format and return their paths; see `Tokenizer.export`."""
    if format not in _FORMATS:
        known = f"{', '.join(FORMATS)}{did_you_mean(format, FORMATS)}"
        raise SettingsError(f"unknown export format {format!r}; use one of {known}")
    if chat is not None and format != "huggingface":
        raise SettingsError(f"{format} does not support chat templates; omit chat=, or export to huggingface")
    if roles and format != "huggingface":
        raise SettingsError(f"{format} does not support roles; omit roles=, or export to huggingface")
    if format not in ("huggingface", "sentencepiece", "token-lengths"):
        check_plain(tokenizer, format)
    contents, matches, suffixes, caution = _FORMATS[format]
    target = Path(path)
    folder = target.parent if target.suffix in suffixes else target
    check_folder(folder, "choose another path")
    if format == "huggingface":
        files = _huggingface(tokenizer, chat, roles or {})
    else:
        files = contents(tokenizer, target.name or target.resolve().name)
    try:
        if not matches(files, tokenizer):
            raise BadFile(f"differs from the tokenizer when read back; {format} cannot hold this tokenizer")
    except BadFile as bad:
        raise ExportError(f"the export {bad}") from None
    verify_export(tokenizer, readers(tokenizer, format, files), on, progress)
    written = _write(folder, files)
    if caution:
        warnings.warn(caution, MerganserWarning, stacklevel=3)
    return written


def _huggingface(
    tokenizer: Tokenizer, chat: Template | JinjaTemplate | None, roles: Mapping[str, str]
) -> Files:
    """Return Hugging Face's files, with a chat template if one is given or implied by nanochat's tokens.

    The token that ends an assistant message becomes `eos_token`, because generation must stop there.
    `apply_chat_template` returns the ids and the mask of `Chat.render`, with one exception: if text directly
    precedes a tool's output, transformers masks all but the first token of the text's last character.
    """
    if chat is None and tokenizer.special_tokens.keys() >= set(SPECIAL_TOKENS):
        chat = Template()
    if chat is None:
        return huggingface.contents(tokenizer, roles)
    if isinstance(chat, JinjaTemplate):
        named = {name.removesuffix("_token"): token for name, token in chat.special_tokens.items()}
        known = {role: token for role, token in named.items() if token in tokenizer.special_tokens}
        return huggingface.contents(tokenizer, {**known, **roles}, chat.source)
    Chat(tokenizer, chat)  # raises if the tokenizer lacks a token of the template
    try:
        jinja = chat.to_jinja(tokenizer.special_tokens)
    except ChatError as error:
        raise ExportError(f"the chat template cannot be exported: {error}") from None
    return huggingface.contents(tokenizer, {"bos": chat.bos, "eos": chat.assistant_end, **roles}, jinja)


def _write(folder: Path, files: Files) -> list[Path]:
    for file in (folder / name for name in files):
        make_folder(file.parent, "choose another path")
    for name, data in files.items():
        with written_whole(folder / name) as opened:
            opened.write(data)
    return [folder / name for name in files]
