"""A drop-in replacement for nanochat's tokenizer module.

Programs may notice these differences: files contain data, not a pickle; `get_token_bytes` counts the bytes of
a token, not of its decoded text, and returns a numpy array; consecutive text parts are joined; a prompt is
never truncated; and invalid conversations raise a `ChatError`.
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
    """A tokenizer with nanochat's nine special tokens.

    Examples
    --------
    >>> tokenizer = RustBPETokenizer.train_from_iterator(iter(["low lower lowest"] * 9), 269)
    >>> tokenizer.encode(["low", "lower"], prepend="<|bos|>")
    [[260, 257], [260, 257, 101, 114]]
    """

    def __init__(self, tokenizer: Tokenizer) -> None:
        self.chat = Chat(tokenizer)

    @property
    def tokenizer(self) -> Tokenizer:
        """The underlying merganser tokenizer."""
        return self.chat.tokenizer

    @classmethod
    def train_from_iterator(cls, text_iterator: Iterable[str], vocab_size: int) -> "RustBPETokenizer":
        """Train with the pattern `nanochat`; `vocab_size` includes the special tokens."""
        return cls(
            train(
                text_iterator, vocab_size, pattern="nanochat", special_tokens=SPECIAL_TOKENS, separator=None
            )
        )

    @classmethod
    def from_directory(cls, tokenizer_dir: str | os.PathLike[str]) -> "RustBPETokenizer":
        """Load the tokenizer in a folder."""
        return cls(load(tokenizer_dir))

    def save(self, tokenizer_dir: str | os.PathLike[str] = FOLDER) -> None:
        """Write the tokenizer to a folder, which is created if needed."""
        folder = Path(tokenizer_dir)
        make_folder(folder, "choose another path")
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
            known = ", ".join(self.tokenizer.special_tokens)
            raise EncodeError(f"{text!r} is not a special token; this tokenizer has {known}") from None

    def get_bos_token_id(self) -> int:
        """Return the id of `<|bos|>`."""
        return self.encode_special("<|bos|>")

    def decode(self, ids: Iterable[int]) -> str:
        """Return the text of ids, with U+FFFD where they begin or end inside a character."""
        return self.tokenizer.decode(ids, errors="replace")

    def id_to_token(self, id: int) -> str:
        """Return the text of one token."""
        return self.decode([id])

    def get_vocab_size(self) -> int:
        """Return the number of tokens, special tokens included."""
        return self.tokenizer.vocab_size

    def get_special_tokens(self) -> set[str]:
        """Return the names of the special tokens."""
        return set(self.tokenizer.special_tokens)

    def get_token_bytes(self) -> "NDArray[np.int32]":
        """Return the number of bytes of each token by id, 0 for special tokens, to compute bits per byte."""
        return lengths(self.tokenizer)

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


def get_tokenizer(tokenizer_dir: str | os.PathLike[str] = FOLDER) -> RustBPETokenizer:
    """Load the tokenizer in a folder."""
    return RustBPETokenizer.from_directory(tokenizer_dir)


def get_token_bytes(tokenizer_dir: str | os.PathLike[str] = FOLDER) -> "NDArray[np.int32]":
    """Return the number of bytes of each token of the tokenizer in a folder, 0 for special tokens."""
    return get_tokenizer(tokenizer_dir).get_token_bytes()
