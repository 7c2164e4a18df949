"""Methods of `Tokenizer` that call the layers above it.

This is the only module that imports from higher layers, and only inside its methods: the one exception that
the import contract in pyproject.toml names.
"""

import os
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Literal, cast

from merganser.corpus.defaults import PATTERN
from merganser.tokenizer.lookup import Lookup

if TYPE_CHECKING:
    from pathlib import Path

    import tiktoken
    import tokenizers
    from typing_extensions import Unpack

    from merganser.chat.jinja import JinjaTemplate
    from merganser.chat.template import Template
    from merganser.corpus import Source
    from merganser.corpus.read_options import ReadKeywords
    from merganser.corpus.split_settings import Separator
    from merganser.engines.local import Local, ProgressCallback
    from merganser.engines.ray import Ray
    from merganser.exporting import ExportFormat
    from merganser.formats.vocab_and_merges import Pair
    from merganser.tokenizer.display import TokenDisplay
    from merganser.tokenizer.value import Tokenizer
    from merganser.tokens import Tokens
    from merganser.tokens.writing import Dtype, Format
    from merganser.verification import Pretokens


class Shortcuts(Lookup):
    """The part of `Tokenizer` that uses the rest of the library."""

    __slots__ = ()

    @classmethod
    def from_vocab_and_merges(
        cls,
        vocab: Mapping[int, bytes] | Mapping[bytes, int] | Mapping[str, int],
        merges: "Iterable[Pair]",
        *,
        special_tokens: Iterable[str] | Mapping[str, int] | None = None,
        pattern: str = PATTERN,
    ) -> "Tokenizer":
        """Return the byte-level tokenizer of a vocabulary and its merges.

        All ids are kept, and merges are applied in the order of the list, whatever the ids are. A token that
        no merge produces, and that is neither a byte nor a special token, is decoded, but no text is encoded
        to it.

        Parameters
        ----------
        vocab : mapping
            The bytes of each id, as in the CS336 course, or the id of each token: as bytes, or as str in
            GPT-2's spelling (`Ġ` for a space), as in `vocab.json`. All 256 single bytes must be included.
        merges : iterable of pairs
            The two tokens that each merge joins, spelled as in `vocab`; or lines such as `"Ġ t"`, as in
            `merges.txt`.
        special_tokens : iterable of str, or mapping of str to int, optional
            The special tokens. Those in `vocab` keep their ids; new ones get the given ids, or the next free
            ids in this order.
        pattern : str
            The split pattern: a preset name or a regular expression; "gpt2" for vocabularies of GPT-2's kind.

        Returns
        -------
        Tokenizer

        Raises
        ------
        TokenizerError
            If a byte is missing, an id is repeated, or a merge is listed twice, or joins or produces what is
            not a token.
        PatternError
            If the pattern is invalid.

        Examples
        --------
        >>> import merganser
        >>> vocab = {0: b"<|endoftext|>"} | {1 + byte: bytes([byte]) for byte in range(256)}
        >>> vocab |= {257: b"lo", 258: b"low"}
        >>> merges = [(b"l", b"o"), (b"lo", b"w")]
        >>> build = merganser.Tokenizer.from_vocab_and_merges
        >>> tokenizer = build(vocab, merges, special_tokens=["<|endoftext|>"], pattern="gpt2")
        >>> tokenizer.encode("low<|endoftext|>", allowed_special="all")
        [258, 0]
        """
        from merganser.formats import vocab_and_merges

        return vocab_and_merges.tokenizer(vocab, merges, special_tokens, pattern)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the tokenizer to a file that `merganser.load` reads.

        The file is text, contains only data, and is replaced atomically. See docs/format.md.

        Parameters
        ----------
        path : path-like
            The file to write.

        Raises
        ------
        WriteError
            If the file cannot be written.

        Examples
        --------
        >>> import tempfile, merganser
        >>> tokenizer = merganser.train(["low lower lowest"] * 9, 260)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     tokenizer.save(f"{folder}/a.merganser")
        ...     merganser.load(f"{folder}/a.merganser") == tokenizer
        True
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
        prepend: str | int | Sequence[str | int] | None = None,
        append: str | int | Sequence[str | int] | None = None,
        allowed_special: Literal["all"] | Collection[str] = (),
        shard_tokens: int = 100_000_000,
        overwrite: bool = False,
        engine: "Local | Ray | None" = None,
        progress: "ProgressCallback | None" = None,
        buffer_size: int = 8192,
        **reading: "Unpack[ReadKeywords]",
    ) -> "Tokens":
        """Encode a corpus of any size and write the ids to a folder of shards.

        An interrupted run resumes at the last finished shard when it is repeated with the same arguments, and
        writes identical files.

        Parameters
        ----------
        source : path, URL, iterable or dataset
            The corpus; see `merganser.corpus`.
        out : path-like
            The folder to write, or its URL ("s3://bucket/tokens"). If it exists, it must come from the same
            tokenizer, corpus and settings. With a cluster, all nodes must see it.
        format : {"bin", "npy", "llmc", "megatron"}
            "bin" is flat ids, as nanoGPT reads them; "llmc" has the header of llm.c and modded-nanogpt;
            "megatron" is `.bin` and `.idx`.
        dtype : {"auto", "uint16", "uint32"}
            The integer type of the ids. "auto" is the smaller one that fits every id.
        separator : str or None, optional
            The text between the documents of a file, which is not encoded. "<|endoftext|>" by default; None
            makes each file one document.
        prepend, append : str or int, optional
            A special token, or an id, to add before or after each document; also as a list of one, as in
            `**tokenizer.template`.
        allowed_special : "all" or collection of str
            Special tokens to encode as their ids where they occur in the text. All others are encoded as
            ordinary text.
        shard_tokens : int
            The size of a shard: it ends with the document that reaches this number of tokens.
        overwrite : bool
            Delete the token files in `out` first.
        engine : Local or Ray, optional
            The number of threads, or a cluster; `Local()` by default. The files are the same.
        progress : callable, optional
            Called with the stage ("encode"), the number of bytes done, and the total or 0 if unknown. An
            exception in it stops the run.
        buffer_size : int
            The number of documents to pull from an iterable at a time.
        **reading
            The fields of `merganser.ReadOptions`, such as `text_key` and `on_error`.

        Returns
        -------
        Tokens
            The folder of token files, opened for reading. At a URL only its facts can be read.

        Raises
        ------
        CorpusError
            If the corpus is missing, unreadable or contains counts.
        EncodeError
            If `prepend`, `append` or `allowed_special` names an unknown token.
        TokensError
            If `out` belongs to a different run.
        WriteError
            If `out` cannot be written.

        Examples
        --------
        >>> import tempfile, merganser
        >>> tokenizer = merganser.train(["low lower lowest"] * 9, 260)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     tokens = tokenizer.encode_corpus(["low low", "lowest"], out=folder)
        ...     [ids.tolist() for ids in tokens.documents()]
        [[257, 258], [257, 101, 115, 116]]
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
        chat: "Template | JinjaTemplate | None" = None,
        roles: Mapping[str, str] | None = None,
        progress: "ProgressCallback | None" = None,
    ) -> "list[Path]":
        """Write the tokenizer in the format of another library.

        The export is verified before anything is written: tiktoken or Hugging Face must return the same ids
        for a set of adversarial texts, for up to 20,000 tokens, and for the 20,000 most frequent pre-tokens
        of `on`. Other formats, and those whose library is not installed, are verified with merganser's own
        reader.

        Parameters
        ----------
        path : path-like
            A folder, or a file with one of the suffixes below.
        format : str
            - "huggingface": a folder for `AutoTokenizer.from_pretrained`;
            - "gpt2": `vocab.json` and `merges.txt`;
            - "tiktoken": a plugin folder, which makes `tiktoken.get_encoding` find the tokenizer by the name
              of the folder when it is on `PYTHONPATH`; or a `.tiktoken` file of ranks, without pattern and
              special tokens;
            - "minbpe": a `.model` file and a `.vocab` file; minbpe's `load` ignores the pattern in the file,
              so pass it to the constructor: `RegexTokenizer(pattern)`;
            - "gguf": a `.gguf` file for llama.cpp;
            - "sentencepiece": a `.model` file, for tokenizers of SentencePiece's kind;
            - "token-lengths": the number of bytes of every id, for bits per byte, as `.npy`, or `.pt` with
              torch.
        on : Counts, CountsFile or corpus, optional
            The training data, to verify the export on its pre-tokens too.
        chat : Template or JinjaTemplate, optional
            The chat template, for Hugging Face's `chat_template.jinja`. A tokenizer with nanochat's nine
            special tokens gets nanochat's template by default. The template's `bos` and `assistant_end`
            become bos and eos.
        roles : mapping of str to str, optional
            For Hugging Face, the special tokens to use as "bos", "eos", "unk", "sep", "pad", "cls" and
            "mask", such as `{"pad": "<|endoftext|>"}`. Other roles are assigned by well-known names
            (`<|pad|>`, `[PAD]`, `<unk>`, `<mask>`, …) or stay unset. Padding requires a pad token.
        progress : callable, optional
            Called with the stage ("count" or "verify"), the amount done and the total.

        Returns
        -------
        list of Path
            The files written.

        Raises
        ------
        ExportError
            If the format cannot represent the tokenizer exactly, or the verification finds a difference.
        WriteError
            If the files cannot be written.

        Warns
        -----
        MerganserWarning
            With "gguf", if llama.cpp is known to split some rare texts differently.

        Examples
        --------
        >>> import tempfile, merganser
        >>> tokenizer = merganser.train(["low lower lowest"] * 9, 260, pattern="gpt2")
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     files = tokenizer.export(folder, format="gpt2")
        ...     sorted(file.name for file in files)
        ['merges.txt', 'vocab.json']
        """
        from merganser import exporting

        return exporting.export(cast("Tokenizer", self), path, format, on, chat, roles, progress)

    def show(self, text: str, *, allowed_special: Literal["all"] | Collection[str] = ()) -> "TokenDisplay":
        """Display how a text is tokenized. Print the result, or make it the last line of a notebook cell.

        Parameters
        ----------
        text : str
            The text to tokenize.
        allowed_special : "all" or collection of str
            Special tokens to recognize in the text. All others are ordinary text.

        Returns
        -------
        TokenDisplay
            Renders as plain text, in terminal colors or as HTML, with token counts and compression figures.

        Raises
        ------
        EncodeError
            If the text contains a lone surrogate, or `allowed_special` names an unknown token.

        Examples
        --------
        >>> import merganser
        >>> tokenizer = merganser.train(["play, sing, ring with tokens"] * 9, 275)
        >>> print(tokenizer.show("playing with tokens").plain.split("\\n")[0])
        play|ing|·with|·tokens
        """
        from merganser.tokenizer.display import TokenDisplay

        return TokenDisplay.of(cast("Tokenizer", self), text, allowed_special)

    def to_tiktoken(self, name: str = "merganser") -> "tiktoken.Encoding":
        """Return the tokenizer as a `tiktoken.Encoding` with the same ids.

        Parameters
        ----------
        name : str
            The name of the encoding.

        Returns
        -------
        tiktoken.Encoding

        Raises
        ------
        ExportError
            If tiktoken cannot represent the tokenizer exactly.
        ImportError
            If tiktoken is not installed.

        Examples
        --------
        >>> import merganser
        >>> merganser.train(["low lower lowest"] * 9, 260).to_tiktoken().encode("lowest")
        [257, 101, 115, 116]
        """
        from merganser.formats import tiktoken

        return tiktoken.to_encoding(cast("Tokenizer", self), name)

    def to_huggingface(self) -> "tokenizers.Tokenizer":
        """Return the tokenizer as a `tokenizers.Tokenizer` with the same ids.

        Unlike `encode`, Hugging Face always recognizes special tokens in text.

        Returns
        -------
        tokenizers.Tokenizer

        Raises
        ------
        ExportError
            If Hugging Face tokenizers cannot represent the tokenizer exactly.
        ImportError
            If tokenizers is not installed.

        Examples
        --------
        >>> import merganser
        >>> merganser.train(["low lower lowest"] * 9, 260).to_huggingface().encode("lowest").ids
        [257, 101, 115, 116]
        """
        from merganser.formats import huggingface

        return huggingface.to_huggingface(cast("Tokenizer", self))
