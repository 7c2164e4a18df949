"""Methods of `Tokenizer` that are shortcuts to the layers above it.

This is the only module that imports upward, and only when a method is called: the import contract in
pyproject.toml names it as its one exception.
"""

import os
from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Literal, cast

from merganser import _core

if TYPE_CHECKING:
    from pathlib import Path

    import tiktoken
    import tokenizers
    from typing_extensions import Unpack

    from merganser.chat.template import Template
    from merganser.corpus import Source
    from merganser.corpus.read_options import ReadKeywords
    from merganser.corpus.split_settings import Separator
    from merganser.engines.local import Local, ProgressCallback
    from merganser.exporting import ExportFormat
    from merganser.tokenizer.display import Shown
    from merganser.tokenizer.value import Tokenizer
    from merganser.tokens import Tokens
    from merganser.tokens.writing import Dtype, Format
    from merganser.verification import Pretokens


class Shortcuts(_core.Tokenizer):
    """What a tokenizer can do with the help of the rest of the library."""

    __slots__ = ()

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the tokenizer to a file, whole or not at all; `merganser.load` reads it.

        The format is text and holds only data: see docs/format.md.
        """
        from merganser.formats import native

        native.save(cast("Tokenizer", self), path)

    def encode_corpus(
        self,
        source: "Source",
        *,
        out: str | os.PathLike[str],
        format: "Format" = "bin",
        dtype: "Dtype" = "auto",
        separator: "Separator" = ...,
        prepend: str | int | None = None,
        append: str | int | None = None,
        allowed_special: Literal["all"] | Collection[str] = (),
        shard_tokens: int = 100_000_000,
        overwrite: bool = False,
        engine: "Local | None" = None,
        progress: "ProgressCallback | None" = None,
        buffer_size: int = 8192,
        **reading: "Unpack[ReadKeywords]",
    ) -> "Tokens":
        """Encodes a corpus of any size and writes the ids to the folder `out`; see `merganser.corpus` for
        what a corpus can be, and `merganser.Tokens` for what comes of it.

        format: "bin" (flat ids, as nanoGPT reads them), "npy", "llmc" (the header of llm.c and
            modded-nanogpt) or "megatron" (`.bin` and `.idx`).
        dtype: "uint16" or "uint32"; "auto" is the smaller one that holds all ids.
        separator: what stands between the documents of a file; "<|endoftext|>" if not given, None for none.
            It is no part of the documents, and becomes no token.
        prepend, append: put before and behind every document: the name of a special token, or an id.
        allowed_special: special tokens, or "all", that become their ids where the text holds them. All others
            are encoded as the text they are.
        shard_tokens: a file ends with the document that brings it to so many tokens.
        overwrite: empties the folder of tokens first.
        text_key, on_error, max_ratio, max_size, max_window, allow_binary: see `merganser.ReadOptions`.

        A run that was interrupted goes on at the last finished shard when it is started again in the same
        way, and the files come out the same. A folder that was made of anything else is refused.
        """
        from merganser.tokens import writing

        return writing.encode_corpus(
            cast("Tokenizer", self),
            source,
            out=out,
            format=format,
            dtype=dtype,
            separator=separator,
            prepend=prepend,
            append=append,
            allowed_special=allowed_special,
            shard_tokens=shard_tokens,
            overwrite=overwrite,
            engine=engine,
            progress=progress,
            buffer_size=buffer_size,
            **reading,
        ).tokens

    def export(
        self,
        path: str | os.PathLike[str],
        *,
        format: "ExportFormat",
        on: "Pretokens | None" = None,
        chat: "Template | None" = None,
        roles: Mapping[str, str] | None = None,
        progress: "ProgressCallback | None" = None,
    ) -> "list[Path]":
        """Writes the tokenizer as the files of another library, and gives their paths.

        path: a folder, or a file if it ends as named below.
        format: "huggingface" (a folder for `AutoTokenizer.from_pretrained`); "gpt2" (`vocab.json` and
            `merges.txt`); "tiktoken" (a plug-in: with the folder on `PYTHONPATH`, `tiktoken.get_encoding`
            knows the tokenizer by the folder's name; or a file of ranks, `.tiktoken`, without the pattern and
            the special tokens); "minbpe" (`.model`, and `.vocab` beside it); "gguf" (`.gguf`, for llama.cpp);
            "token-lengths" (`.npy`, or `.pt` with torch: the bytes of every id, for bits per byte).
        on: the training, as `Counts`, a `CountsFile` or a corpus, to verify the export on as well.
        chat: the template of conversations, for Hugging Face's `chat_template.jinja`. Where the tokenizer has
            nanochat's nine special tokens, theirs is written even if none is given. With a template, bos and
            eos are its `bos` and `assistant_end`.
        roles: for Hugging Face, the special tokens to use as "bos", "eos", "unk", "sep", "pad", "cls" and
            "mask", such as `{"pad": "<|endoftext|>"}`. Roles that are not given go by well-known names
            (`<|pad|>`, `[PAD]`, `<unk>`, `<mask>` and so on) or stay unset. Padding needs a pad token.
        progress: called with the stage ("count", "verify"), what is done and the total.

        Before anything is written, tiktoken or Hugging Face is asked for the ids of a set of adversarial
        texts, of up to 20,000 tokens and of the 20,000 most frequent pre-tokens of `on`; for the other
        formats, and where the library is not installed, our own reader is. A difference is an `ExportError`.

        A format that cannot hold the tokenizer exactly refuses it with an `ExportError` that says why. With
        "gguf" a `MerganserWarning` says which rare texts llama.cpp is known to split in another way.
        """
        from merganser import exporting

        return exporting.export(cast("Tokenizer", self), path, format, on, chat, roles, progress)

    def show(self, text: str, *, allowed_special: Literal["all"] | Collection[str] = ()) -> "Shown":
        """The text cut into its tokens, to be looked at: printed, or as the last line of a notebook's cell.

        allowed_special: special tokens, or "all", that are shown as such where the text holds them. All
            others are the text they are.

        >>> import merganser
        >>> tokenizer = merganser.train(["play, sing, ring with tokens"] * 9, 275)
        >>> print(tokenizer.show("playing with tokens").plain.split("\\n")[0])
        play|ing|·with|·tokens
        """
        from merganser.tokenizer.display import Shown

        return Shown.of(cast("Tokenizer", self), text, allowed_special)

    def to_tiktoken(self, name: str = "merganser") -> "tiktoken.Encoding":
        """The same tokenizer as a `tiktoken.Encoding`."""
        from merganser.formats import tiktoken

        return tiktoken.to_encoding(cast("Tokenizer", self), name)

    def to_huggingface(self) -> "tokenizers.Tokenizer":
        """The same tokenizer as a `tokenizers.Tokenizer`. Special tokens in text are always special there."""
        from merganser.formats import huggingface

        return huggingface.to_huggingface(cast("Tokenizer", self))
