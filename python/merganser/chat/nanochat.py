"""A drop-in replacement for nanochat's tokenizer module; docs/nanochat.md shows which imports to change.

Programs may notice these differences: a tokenizer is read from a file that contains data, never from a
pickle; `get_token_bytes` counts the bytes of a token, not of its decoded text, and returns a numpy array
unless a device is given; special tokens in the training text are not counted; consecutive text parts are
joined; a prompt is never truncated; and invalid conversations raise a `ChatError`.
"""

import os
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload
from warnings import warn

from merganser.chat.render import Chat, Conversation
from merganser.chat.rustbpe import Ranks
from merganser.chat.template import SPECIAL_TOKENS
from merganser.errors import ChatError, EncodeError, MerganserWarning
from merganser.extras import imported
from merganser.files import make_folder, written_whole
from merganser.formats import token_lengths
from merganser.formats.loading import load
from merganser.formats.native import FILE_NAME
from merganser.tokenizer import Tokenizer
from merganser.training import train

if TYPE_CHECKING:
    import numpy as np
    import tiktoken
    from numpy.typing import NDArray

FOLDER = "tokenizer"
PICKLE = "tokenizer.pkl"
TOKEN_BYTES = "token_bytes"
#: The environment variable in which nanochat has the folder for all its files.
BASE_DIR = "NANOCHAT_BASE_DIR"

__all__ = ["SPECIAL_TOKENS", "RustBPETokenizer", "get_token_bytes", "get_tokenizer"]


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
        self.bos_token_id = self.encode_special(bos_token)

    @cached_property
    def chat(self) -> Chat:
        """The renderer of conversations, which needs nanochat's nine special tokens."""
        return Chat(self.tokenizer)

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
        return cls(
            train(
                text_iterator,
                vocab_size,
                pattern="nanochat",
                special_tokens=SPECIAL_TOKENS,
                separator=None,
                special_tokens_extra=special_tokens_extra,
                buffer_size=buffer_size,
            )
        )

    @classmethod
    def from_directory(cls, tokenizer_dir: str | os.PathLike[str]) -> "RustBPETokenizer":
        """Load the tokenizer in a folder."""
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
            else in the current folder.
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
        """Return the ids of a text, or of each text in a list; special tokens in them are ordinary text."""
        if isinstance(text, str):
            return self.tokenizer.encode(text, disallowed_special=(), prepend=prepend, append=append)
        return self.tokenizer.encode_batch(
            text, disallowed_special=(), prepend=prepend, append=append, threads=num_threads
        )

    __call__ = encode

    def encode_special(self, text: str) -> int:
        """Return the id of a special token."""
        try:
            return self.tokenizer.special_tokens[text]
        except KeyError:
            known = ", ".join(self.tokenizer.special_tokens) or "none"
            raise EncodeError(f"{text!r} is not a special token; this tokenizer has {known}") from None

    def get_bos_token_id(self) -> int:
        """Return the id of the token that begins a document, usually `<|bos|>`."""
        return self.bos_token_id

    def decode(self, ids: Iterable[int]) -> str:
        """Return the text of ids, with U+FFFD where they begin or end inside a character."""
        return self.tokenizer.decode(ids, errors="replace")

    def id_to_token(self, id: int) -> str:
        """Return the text of one token."""
        return self.decode([id])

    def get_vocab_size(self) -> int:
        """Return the number of ids, special tokens included."""
        return self.tokenizer.next_id

    def get_special_tokens(self) -> set[str]:
        """Return the names of the special tokens."""
        return set(self.tokenizer.special_tokens)

    def get_token_bytes(self) -> "NDArray[np.int32]":
        """Return the number of bytes of each token by id, 0 for special tokens, to compute bits per byte."""
        return token_lengths.lengths(self.tokenizer)

    def render_conversation(
        self, conversation: Conversation, max_tokens: int | None = 2048
    ) -> tuple[list[int], list[int]]:
        """Return the ids and the loss mask of a conversation; see `Chat.render`."""
        return self.chat.render(conversation, max_tokens)

    def render_for_completion(self, conversation: Conversation) -> list[int]:
        """Return the prompt for the last message, which must be the assistant's and is removed."""
        self.chat.render(conversation, max_tokens=1)  # raises if the conversation is invalid
        messages = conversation["messages"] if isinstance(conversation, Mapping) else conversation
        if messages[-1]["role"] != "assistant":
            raise ChatError(
                "the last message must be the assistant's; for a prompt without an answer, call "
                "chat.render_prompt"
            )
        return self.chat.render_prompt(messages[:-1])

    def visualize_tokenization(
        self, ids: Sequence[int], mask: Sequence[int], with_token_id: bool = False
    ) -> str:
        """Return the tokens in terminal colors: green if learned, red if not."""
        return self.chat.show(ids, mask, with_token_id).ansi


def get_tokenizer(tokenizer_dir: str | os.PathLike[str] | None = None) -> RustBPETokenizer:
    """Load the tokenizer in a folder; the default is that of `RustBPETokenizer.save`."""
    return RustBPETokenizer.from_directory(_folder(tokenizer_dir))


def get_token_bytes(tokenizer_dir: str | os.PathLike[str] | None = None, device: Any = None) -> Any:
    """Return the number of bytes of each token of the tokenizer in a folder, 0 for special tokens.

    Parameters
    ----------
    tokenizer_dir
        The folder; the default is that of `RustBPETokenizer.save`.
    device
        The torch device of the result.

    Returns
    -------
    numpy.ndarray or torch.Tensor
        A torch tensor if a device is given, as in nanochat; else a numpy array.
    """
    sizes = get_tokenizer(tokenizer_dir).get_token_bytes()
    if device is None:
        return sizes
    return imported("torch", "torch", "get_token_bytes(device=…)").from_numpy(sizes).to(device)


def _folder(tokenizer_dir: str | os.PathLike[str] | None) -> Path:
    if tokenizer_dir is not None:
        return Path(tokenizer_dir)
    return Path(os.environ.get(BASE_DIR, ""), FOLDER)


def _token_bytes(tokenizer: Tokenizer) -> dict[str, bytes]:
    try:
        return token_lengths.contents(tokenizer, f"{TOKEN_BYTES}.pt")
    except ImportError:  # without torch
        return token_lengths.contents(tokenizer, f"{TOKEN_BYTES}.npy")


def _pickled(tokenizer: Tokenizer) -> bytes:
    imported("tiktoken", "tiktoken", "pickle=True")
    import pickle

    return pickle.dumps(tokenizer.to_tiktoken("rustbpe"))
