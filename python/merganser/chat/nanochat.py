"""nanochat's own names, for programs that were written for its tokenizer.

Differences that a program may notice: files hold data, not a pickle; `get_token_bytes` counts the bytes of a
token as they are, not of its text, and gives a numpy array; parts of text side by side are one text; a prompt
is never cut off; and bad conversations are a `ChatError`.
"""

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, overload

from merganser.chat.render import Chat, Conversation
from merganser.chat.template import SPECIAL_TOKENS
from merganser.errors import ChatError, EncodeError
from merganser.files import make_folder
from merganser.formats.loading import load
from merganser.formats.native import FILE_NAME
from merganser.formats.token_lengths import lengths
from merganser.tokenizer import Tokenizer
from merganser.training import train

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

FOLDER = "tokenizer"

__all__ = ["SPECIAL_TOKENS", "RustBPETokenizer", "get_token_bytes", "get_tokenizer"]


class RustBPETokenizer:
    """A tokenizer with the nine special tokens of a chat.

    >>> tokenizer = RustBPETokenizer.train_from_iterator(iter(["low lower lowest"] * 9), 269)
    >>> tokenizer.encode(["low", "lower"], prepend="<|bos|>")
    [[260, 257], [260, 257, 101, 114]]
    """

    def __init__(self, tokenizer: Tokenizer) -> None:
        self.chat = Chat(tokenizer)

    @property
    def tokenizer(self) -> Tokenizer:
        """The tokenizer as merganser knows it."""
        return self.chat.tokenizer

    @classmethod
    def train_from_iterator(cls, text_iterator: Iterable[str], vocab_size: int) -> "RustBPETokenizer":
        """Trains with the pattern `nanochat`; the special tokens are part of the size."""
        return cls(
            train(
                text_iterator, vocab_size, pattern="nanochat", special_tokens=SPECIAL_TOKENS, separator=None
            )
        )

    @classmethod
    def from_directory(cls, tokenizer_dir: str | os.PathLike[str]) -> "RustBPETokenizer":
        return cls(load(tokenizer_dir))

    def save(self, tokenizer_dir: str | os.PathLike[str] = FOLDER) -> None:
        """Writes the tokenizer to a folder, which is made if need be."""
        folder = Path(tokenizer_dir)
        make_folder(folder, "choose another place")
        self.tokenizer.save(folder / FILE_NAME)

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
        """The ids of a text, or of each text of a list; special tokens in it are ordinary text."""
        if isinstance(text, str):
            return self.tokenizer.encode(text, disallowed_special=(), prepend=prepend, append=append)
        return self.tokenizer.encode_batch(
            text, disallowed_special=(), prepend=prepend, append=append, threads=num_threads
        )

    __call__ = encode

    def encode_special(self, text: str) -> int:
        """The id of a special token."""
        try:
            return self.tokenizer.special_tokens[text]
        except KeyError:
            known = ", ".join(self.tokenizer.special_tokens)
            raise EncodeError(f"{text!r} is no special token; this tokenizer has {known}") from None

    def get_bos_token_id(self) -> int:
        return self.encode_special("<|bos|>")

    def decode(self, ids: Iterable[int]) -> str:
        """The text; U+FFFD stands where the ids begin or end inside a character."""
        return self.tokenizer.decode(ids, errors="replace")

    def id_to_token(self, id: int) -> str:
        return self.decode([id])

    def get_vocab_size(self) -> int:
        return self.tokenizer.vocab_size

    def get_special_tokens(self) -> set[str]:
        return set(self.tokenizer.special_tokens)

    def get_token_bytes(self) -> "NDArray[np.int32]":
        """How many bytes each token has, by its id; special tokens have 0, for bits per byte."""
        return lengths(self.tokenizer)

    def render_conversation(
        self, conversation: Conversation, max_tokens: int | None = 2048
    ) -> tuple[list[int], list[int]]:
        return self.chat.render(conversation, max_tokens)

    def render_for_completion(self, conversation: Conversation) -> list[int]:
        """The prompt for the last message, which is the assistant's and is left out."""
        self.chat.render(conversation, max_tokens=1)  # says what is wrong, if anything is
        messages = conversation["messages"] if isinstance(conversation, Mapping) else conversation
        if messages[-1]["role"] != "assistant":
            raise ChatError(
                "the last message must be an answer, to be left out; else call chat.render_prompt"
            )
        return self.chat.render_prompt(messages[:-1])

    def visualize_tokenization(
        self, ids: Sequence[int], mask: Sequence[int], with_token_id: bool = False
    ) -> str:
        """The tokens in the colours of a terminal: green where they are learnt, red where not."""
        return self.chat.show(ids, mask, with_token_id).ansi


def get_tokenizer(tokenizer_dir: str | os.PathLike[str] = FOLDER) -> RustBPETokenizer:
    """The tokenizer that `save` wrote."""
    return RustBPETokenizer.from_directory(tokenizer_dir)


def get_token_bytes(tokenizer_dir: str | os.PathLike[str] = FOLDER) -> "NDArray[np.int32]":
    """How many bytes each token of the tokenizer has that `save` wrote; special tokens have 0."""
    return get_tokenizer(tokenizer_dir).get_token_bytes()
