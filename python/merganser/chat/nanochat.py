"""A drop-in replacement for nanochat's tokenizer module; docs/nanochat.md shows which imports to change.

Merges, ids and masks are nanochat's. Programs may notice two differences: a tokenizer is read from a file
that contains data, never from a pickle; and an invalid conversation raises a `ChatError`.
"""

import os
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload
from warnings import warn

from merganser.chat.nanochat_huggingface import HuggingFaceTokenizer
from merganser.chat.render import Chat, Conversation
from merganser.chat.rustbpe import Ranks
from merganser.chat.template import NANOCHAT, SPECIAL_TOKENS
from merganser.errors import ChatError, EncodeError, FormatError, MerganserWarning, SettingsError
from merganser.extras import imported
from merganser.files import make_folder, written_whole
from merganser.formats import BadFile, token_lengths
from merganser.formats.loading import load
from merganser.formats.native import FILE_NAME
from merganser.tokenizer import Tokenizer
from merganser.tokenizer.surrogates import without_surrogates
from merganser.training import train

if TYPE_CHECKING:
    import numpy as np
    import tiktoken
    from numpy.typing import NDArray

FOLDER = "tokenizer"
PICKLE = "tokenizer.pkl"
TOKEN_BYTES = "token_bytes"
#: The environment variable with the folder for all of nanochat's files, and that folder without it.
BASE_DIR = "NANOCHAT_BASE_DIR"
DEFAULT_BASE_DIR = "~/.cache/nanochat"
#: nanochat cuts conversations and prompts after this number of tokens.
MAX_TOKENS = 2048

_GREEN, _RED, _GRAY, _END = "\033[92m", "\033[91m", "\033[90m", "\033[0m"

__all__ = [
    "SPECIAL_TOKENS",
    "SPLIT_PATTERN",
    "HuggingFaceTokenizer",
    "RustBPETokenizer",
    "get_token_bytes",
    "get_tokenizer",
    "get_tokenizer_dir",
    "tokenizer_id",
]

#: nanochat's split pattern.
SPLIT_PATTERN = Tokenizer({bytes([byte]): byte for byte in range(256)}, pattern="nanochat").pattern


class RustBPETokenizer:
    """A tokenizer with nanochat's methods.

    Parameters
    ----------
    tokenizer
        A merganser tokenizer or a `tiktoken.Encoding`.
    bos_token
        The special token that begins a document.

    Examples
    --------
    >>> tokenizer = RustBPETokenizer.train_from_iterator(iter(["low lower lowest"] * 9), 269)
    >>> tokenizer.encode(["low", "lower"], prepend="<|bos|>")
    [[260, 257], [260, 257, 101, 114]]
    >>> tokenizer.merges
    {(108, 111): 256, (256, 119): 257, (32, 257): 258, (258, 101): 259}
    """

    def __init__(self, tokenizer: "Tokenizer | tiktoken.Encoding", bos_token: str = "<|bos|>") -> None:
        self.tokenizer = tokenizer if isinstance(tokenizer, Tokenizer) else load(tokenizer)
        self.bos_token = bos_token
        self.bos_token_id = self.encode_special(bos_token)

    @property
    def enc(self) -> Tokenizer:
        """The tokenizer, under nanochat's name for its `tiktoken.Encoding`."""
        return self.tokenizer

    @cached_property
    def chat(self) -> Chat:
        """The renderer of conversations, which needs nanochat's nine special tokens."""
        return Chat(self.tokenizer, replace(NANOCHAT, bos=self.bos_token), join_text_parts=False)

    @classmethod
    def train_from_iterator(
        cls,
        text_iterator: Iterable[str],
        vocab_size: int,
        buffer_size: int = 8192,
        *,
        special_tokens_extra: bool = False,
    ) -> "RustBPETokenizer":
        """Train with the pattern `nanochat` and nanochat's nine special tokens.

        The name of a special token in a text counts as ordinary text, as in nanochat.

        Parameters
        ----------
        text_iterator
            The texts. They are never in memory all at once.
        vocab_size
            The number of tokens, special tokens included.
        buffer_size
            The number of texts to pull from the iterator at a time, to be counted in parallel.
        special_tokens_extra
            Whether the special tokens come on top of `vocab_size`: the id of `<|bos|>` is then `vocab_size`.

        Examples
        --------
        >>> texts = ["low lower lowest"] * 9
        >>> RustBPETokenizer.train_from_iterator(texts, 260, special_tokens_extra=True).get_bos_token_id()
        260
        """
        specials = 0 if special_tokens_extra else len(SPECIAL_TOKENS)
        if vocab_size < 256 + specials:
            raise SettingsError(
                f"vocab_size must be at least {256 + specials} (256 bytes + {specials} special tokens), "
                f"got {vocab_size}"
            )
        trained = train(
            text_iterator,
            vocab_size - specials,
            pattern="nanochat",
            special_tokens=(),
            separator=None,
            buffer_size=buffer_size,
        )
        return cls(
            Tokenizer(
                trained.mergeable_ranks,
                pattern="nanochat",
                special_tokens={token: trained.next_id + nth for nth, token in enumerate(SPECIAL_TOKENS)},
                merge_counts=trained.merge_counts,
                training={**trained.training, "vocab_size": trained.vocab_size + len(SPECIAL_TOKENS)},
            )
        )

    @classmethod
    def from_directory(cls, tokenizer_dir: str | os.PathLike[str]) -> "RustBPETokenizer":
        """Load the tokenizer in a folder; raises a `FormatError` if that holds only a pickle."""
        return cls(load(tokenizer_dir))

    @classmethod
    def from_pretrained(cls, tiktoken_name: str) -> "RustBPETokenizer":
        """Load an encoding of tiktoken, such as "gpt2"; needs `[tiktoken]`, which may download it."""
        tiktoken = imported("tiktoken", "tiktoken", "from_pretrained")
        return cls(tiktoken.get_encoding(tiktoken_name), "<|endoftext|>")

    def save(self, tokenizer_dir: str | os.PathLike[str] | None = None, *, pickle: bool = False) -> None:
        """Write the tokenizer and the number of bytes of each token to a folder.

        The files are `tokenizer.merganser` and `token_bytes.pt`, or `token_bytes.npy` if torch is not
        installed.

        Parameters
        ----------
        tokenizer_dir
            The folder, created if needed. By default, `tokenizer` in `$NANOCHAT_BASE_DIR` if that is set,
            else in `~/.cache/nanochat`.
        pickle
            Whether to write `tokenizer.pkl` as well, the pickled `tiktoken.Encoding` that nanochat itself
            reads; needs `[tiktoken]`. Reading a pickle executes code from the file, so load only files that
            you trust; merganser never reads one.

        Examples
        --------
        >>> import tempfile
        >>> tokenizer = RustBPETokenizer.train_from_iterator(["low lower lowest"] * 9, 269)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     tokenizer.save(folder)
        ...     get_tokenizer(folder).encode("low")
        [257]
        """
        folder = _folder(tokenizer_dir)
        files = _token_bytes(self.tokenizer)
        if pickle:
            files[PICKLE] = _pickled(self.tokenizer)
        make_folder(folder, "choose another path")
        self.tokenizer.save(folder / FILE_NAME)
        for name, data in files.items():
            with written_whole(folder / name) as out:
                out.write(data)
        for other in {f"{TOKEN_BYTES}.pt", f"{TOKEN_BYTES}.npy"} - files.keys():
            (folder / other).unlink(missing_ok=True)  # of an earlier tokenizer
        if PICKLE not in files and (folder / PICKLE).exists():
            warn(
                f"{folder / PICKLE} was not replaced and may hold another tokenizer; delete it, or save with "
                "pickle=True",
                MerganserWarning,
                stacklevel=2,
            )

    def get_pattern(self) -> str:
        """Return the split pattern, a regular expression."""
        return self.tokenizer.pattern

    def get_mergeable_ranks(self) -> Ranks:
        """Return the rank of every token that is not special, for `tiktoken.Encoding(mergeable_ranks=…)`.

        The result is a dict, but iterating over it yields `(token, rank)` pairs, as rustbpe's list does.
        """
        return Ranks(self.tokenizer.mergeable_ranks)

    @property
    def merges(self) -> Mapping[tuple[int, int], int]:
        """The id of each merged token by the ids of its two parts, in the order of the merges."""
        return self.tokenizer.merges_as_ids

    @overload
    def encode(
        self,
        text: str,
        prepend: str | int | None = None,
        append: str | int | None = None,
        num_threads: int | None = None,
    ) -> list[int]: ...
    @overload
    def encode(
        self,
        text: list[str],
        prepend: str | int | None = None,
        append: str | int | None = None,
        num_threads: int | None = None,
    ) -> list[list[int]]: ...
    def encode(
        self,
        text: str | list[str],
        prepend: str | int | None = None,
        append: str | int | None = None,
        num_threads: int | None = None,
    ) -> list[int] | list[list[int]]:
        """Return the ids of a text, or of each text in a list; special tokens in them are ordinary text.

        Parameters
        ----------
        text
            A text, or a list of texts.
        prepend, append
            A token, by name or id, to put before or after each text.
        num_threads
            The number of threads for a list; by default, one per core.
        """
        first = self.encode_special(prepend) if isinstance(prepend, str) else prepend
        last = self.encode_special(append) if isinstance(append, str) else append
        if isinstance(text, str):
            try:
                return self.tokenizer.encode(text, disallowed_special=(), prepend=first, append=last)
            except EncodeError:
                if (repaired := without_surrogates(text)) == text:
                    raise
                return self.tokenizer.encode(repaired, disallowed_special=(), prepend=first, append=last)
        if not isinstance(text, list | tuple):
            raise EncodeError(f"encode takes a str or a list of str, got {type(text).__name__}")
        try:
            return self._encode_list(text, first, last, num_threads)
        except EncodeError:
            repaired_texts = [without_surrogates(each) if isinstance(each, str) else each for each in text]
            return self._encode_list(repaired_texts, first, last, num_threads)

    def _encode_list(
        self, texts: Sequence[str], first: int | None, last: int | None, num_threads: int | None
    ) -> list[list[int]]:
        return self.tokenizer.encode_batch(
            texts, disallowed_special=(), prepend=first, append=last, threads=num_threads
        )

    __call__ = encode

    def encode_special(self, text: str) -> int:
        """Return the id of a special token, or of any other token that `text` is exactly."""
        try:
            return self.tokenizer.token_id(text)
        except EncodeError as error:
            known = ", ".join(self.tokenizer.special_tokens) or "none"
            raise type(error)(f"{text!r} is not a special token; this tokenizer has {known}") from None

    def get_bos_token_id(self) -> int:
        """Return the id of the token that begins a document, usually `<|bos|>`."""
        return self.bos_token_id

    def decode(self, ids: Iterable[int]) -> str:
        """Return the text of ids, with U+FFFD where they begin or end inside a character."""
        return self.tokenizer.decode(ids, errors="replace")

    def decode_single_token_bytes(self, token_id: int) -> bytes:
        """Return the bytes of one token; for a special token, the UTF-8 of its name."""
        return self.tokenizer.token_bytes(token_id)

    def id_to_token(self, id: int) -> str:
        """Return the text of one token."""
        return self.decode([id])

    def get_vocab_size(self) -> int:
        """Return the highest id plus one: the number of rows that an embedding needs."""
        return self.tokenizer.next_id

    def get_special_tokens(self) -> set[str]:
        """Return the names of the special tokens."""
        return set(self.tokenizer.special_tokens)

    def get_token_bytes(self) -> "NDArray[np.int32]":
        """Return the number of bytes of each token by id, 0 for special tokens, to compute bits per byte."""
        return token_lengths.lengths(self.tokenizer)

    def render_conversation(
        self, conversation: Conversation, max_tokens: int | None = MAX_TOKENS
    ) -> tuple[list[int], list[int]]:
        """Return the ids and the loss mask of a conversation.

        A leading system message is joined to the first user message with a blank line. Every part of a
        message is encoded by itself, also a text that follows a text.

        Parameters
        ----------
        conversation
            `{"messages": [...]}`, or the list of messages; see `Chat.render`.
        max_tokens
            Truncate to this number of tokens; None for no limit.

        Returns
        -------
        tuple[list[int], list[int]]
            The ids, and a mask of the same length: 1 for tokens that the assistant must learn, else 0.

        Raises
        ------
        ChatError
            If the conversation is invalid.

        Examples
        --------
        >>> tokenizer = RustBPETokenizer.train_from_iterator(["hi"], 265)
        >>> tokenizer.render_conversation({"messages": [{"role": "user", "content": "hi"}]})
        ([256, 257, 104, 105, 258], [0, 0, 0, 0, 0])
        """
        if max_tokens is not None and max_tokens > 0:
            return self.chat.render(conversation, max_tokens)
        ids, mask = self.chat.render(conversation, None)
        return ids[:max_tokens], mask[:max_tokens]

    def render_for_completion(self, conversation: Conversation) -> list[int]:
        """Return the prompt for the last message, which must be the assistant's and is removed.

        Everything before it is cut after 2048 tokens, as in nanochat; `<|assistant_start|>` follows.
        """
        self.chat.render(conversation, max_tokens=1)  # raises if the conversation is invalid
        messages = conversation["messages"] if isinstance(conversation, Mapping) else conversation
        if messages[-1]["role"] != "assistant":
            raise ChatError(
                "the last message must be the assistant's; for a prompt without an answer, call "
                "chat.render_prompt"
            )
        ids, _ = self.render_conversation(messages[:-1])
        return [*ids, self.encode_special(NANOCHAT.assistant_start)]

    def visualize_tokenization(
        self, ids: Sequence[int], mask: Sequence[int], with_token_id: bool = False
    ) -> str:
        """Return the tokens in terminal colors, separated by `|`: green if learned, red if not.

        Parameters
        ----------
        ids, mask
            The ids and the mask, as returned by `render_conversation`.
        with_token_id
            Whether the id of each token follows it, in gray brackets.

        Examples
        --------
        >>> tokenizer = RustBPETokenizer.train_from_iterator(["hi"], 265)
        >>> tokenizer.visualize_tokenization([104, 105], [0, 1])
        '\\x1b[91mh\\x1b[0m|\\x1b[92mi\\x1b[0m'

        As in nanochat, control characters in a token reach the terminal. `tokenizer.chat.show` escapes them.
        """
        shown: list[str] = []
        for id, learned in zip(ids, mask, strict=False):
            shown.append(f"{_GREEN if learned == 1 else _RED}{self.decode([id])}{_END}")
            if with_token_id:
                shown.append(f"{_GRAY}({id}){_END}")
        return "|".join(shown)


def get_tokenizer_dir() -> str:
    """Return nanochat's folder for the tokenizer: below `$NANOCHAT_BASE_DIR`, or `~/.cache/nanochat`."""
    return str(_folder(None))


def tokenizer_id(tokenizer_dir: str | os.PathLike[str]) -> int:
    """Return a checksum of the tokenizer saved in a folder, which fits in 31 bits."""
    return zlib.crc32(Path(tokenizer_dir, FILE_NAME).read_bytes()) & 0x7FFFFFFF


def get_tokenizer(tokenizer_dir: str | os.PathLike[str] | None = None) -> RustBPETokenizer:
    """Load the tokenizer in a folder; the default is that of `RustBPETokenizer.save`."""
    return RustBPETokenizer.from_directory(_folder(tokenizer_dir))


def get_token_bytes(device: Any = "cpu", tokenizer_dir: str | os.PathLike[str] | None = None) -> Any:
    """Return the number of bytes of each token of the tokenizer in a folder, 0 for special tokens.

    They are read from `token_bytes.pt`, which nanochat's `tok_train` and `RustBPETokenizer.save` write, or
    computed if there is no such file.

    Parameters
    ----------
    device
        The torch device of the result.
    tokenizer_dir
        The folder; the default is that of `RustBPETokenizer.save`.

    Returns
    -------
    torch.Tensor
        32-bit integers. `RustBPETokenizer.get_token_bytes` returns a numpy array, and needs no torch.
    """
    torch = imported("torch", "torch", "get_token_bytes")
    folder = _folder(tokenizer_dir)
    return torch.from_numpy(_saved_token_bytes(folder)).to(device)


def _folder(tokenizer_dir: str | os.PathLike[str] | None) -> Path:
    if tokenizer_dir is not None:
        return Path(tokenizer_dir)
    return Path(os.environ.get(BASE_DIR) or DEFAULT_BASE_DIR).expanduser() / FOLDER


def _saved_token_bytes(folder: Path) -> "NDArray[np.int32]":
    """Return the lengths in `token_bytes.pt`, or those of the tokenizer if there is no such file."""
    tokenizer = get_tokenizer(folder)
    file = folder / f"{TOKEN_BYTES}.pt"
    if not file.is_file():
        return tokenizer.get_token_bytes()
    try:
        return token_lengths.read_pt(file.read_bytes(), tokenizer.get_vocab_size())
    except BadFile as bad:
        raise FormatError(f"{file} {bad}") from None


def _token_bytes(tokenizer: Tokenizer) -> dict[str, bytes]:
    try:
        return token_lengths.contents(tokenizer, f"{TOKEN_BYTES}.pt")
    except ImportError:  # without torch
        return token_lengths.contents(tokenizer, f"{TOKEN_BYTES}.npy")


def _pickled(tokenizer: Tokenizer) -> bytes:
    imported("tiktoken", "tiktoken", "pickle=True")
    import pickle

    return pickle.dumps(tokenizer.to_tiktoken("rustbpe"))
